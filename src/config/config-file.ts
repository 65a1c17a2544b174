import * as path from 'node:path';
import * as z from 'zod';
import { usage } from '../errors.ts';
import { accountTypes } from '../gateway/limits.ts';
import type { Clock } from '../host.ts';
import { once } from '../once.ts';
import { configDir, type DirHost } from './dirs.ts';
import { readJsonFile, withWriterLock, writeJsonFile } from './json-file.ts';
import { isProfileName, sandboxProfile } from './profile-name.ts';

/** The newest format of the configuration file that this build reads and writes. */
export const CONFIG_VERSION = 1;

/** The schema of the file, made when there is a file to read: most runs in CI have none. */
const configSchema = once(() => {
  const text = z.string().min(1).optional();
  /** Texts are as typed, their meaning is checked where they are used. */
  const profile = z.strictObject({
    base_url: z.string().optional(),
    account: z.enum(accountTypes).optional(),
    provider_version: text,
    out: text,
    timeout: z.string().optional(),
    retries: z.int().min(0).optional(),
    models: z.strictObject({ chat: text, image: text, alpha: text, gamma: text }).optional(),
  });
  return z.strictObject({
    version: z.literal(CONFIG_VERSION),
    current: z.string().refine(isProfileName, 'not a profile name').optional(),
    profiles: z.record(
      z.string().refine((name) => isProfileName(name) && name !== sandboxProfile, 'not a profile name'),
      profile,
    ),
  });
});

export type ConfigFile = z.infer<ReturnType<typeof configSchema>>;
/** What a profile may hold. */
export type Profile = ConfigFile['profiles'][string];

/** The path of the configuration file. */
export function configFilePath(host: DirHost): string {
  return path.join(configDir(host), 'config.json');
}

/**
 * Reads the configuration file; a missing one is an empty configuration. Throws GwError `usage` with its path where it is
 * damaged, empty, a directory, newer, or holds a field that gw does not know. It is never cleared by itself.
 */
export function readConfig(host: DirHost): ConfigFile {
  const file = configFilePath(host);
  const value = readJsonFile(file, 'configuration file');
  if (value === undefined) return { version: CONFIG_VERSION, profiles: {} };
  return parseConfig(value, file);
}

/**
 * Changes the configuration under the writer lock: reads it, passes it to `change` and writes what comes back.
 * Throws GwError `usage` where it cannot be read or written, or where `change` made it invalid.
 */
export async function updateConfig(
  host: DirHost & { readonly clock: Clock },
  change: (config: ConfigFile) => ConfigFile,
): Promise<ConfigFile> {
  return withWriterLock(configDir(host), host.clock, async () => {
    const file = configFilePath(host);
    const next = parseConfig(change(readConfig(host)), file);
    await writeJsonFile(file, next);
    return next;
  });
}

/** A profile by name; undefined where there is none. */
export function profileOf(config: ConfigFile, name: string): Profile | undefined {
  return Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
}

function parseConfig(value: unknown, file: string): ConfigFile {
  const { version } = (typeof value === 'object' && value !== null ? value : {}) as { version?: unknown };
  if (typeof version === 'number' && version > CONFIG_VERSION) {
    throw usage(
      `the configuration file ${file} was written by a newer gw (format ${version}, this gw reads format ${CONFIG_VERSION})`,
      'Upgrade gw, or set GW_CONFIG_DIR to another directory.',
    );
  }
  const parsed = configSchema().safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join('.') || 'the top level';
  throw usage(
    `the configuration file ${file} is not valid at ${where}: ${issue?.message ?? 'unknown problem'}`,
    'Correct that entry or move the file away; gw never clears it by itself.',
  );
}
