import * as fs from 'node:fs';
import * as path from 'node:path';
import { cacheDir, configDir, type DirHost, stateDir } from '../config/dirs.ts';
import { isProfileName } from '../config/profile-name.ts';
import { recentJobs } from './recent-jobs.ts';
import { isSafeWord } from './safe-text.ts';
import type { Sources } from './values.ts';

/** More lists than anybody has gateways. */
const MAX_LISTS = 16;
const MAX_FILE_BYTES = 1_048_576;

/** What this machine knows: the configuration, the lists of models that were kept, the ledger. Reads, never writes. */
export const sourcesOf = (host: DirHost): Sources => ({
  profiles: () => orNone(() => profileNames(path.join(configDir(host), 'config.json'))),
  sessions: () => orNone(() => sessionNames(path.join(stateDir(host), 'chat', 'sessions'))),
  models: () => orNone(() => listedModels(path.join(cacheDir(host), 'models'))),
  jobs: () => orNone(() => recentJobs(path.join(stateDir(host), 'ledger'))),
});

/** What cannot be read offers nothing: an error has no place in a command line that is still being typed. */
function orNone<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function profileNames(file: string): string[] {
  const { profiles } = readFields(file);
  return Object.keys(fieldsOf(profiles)).filter(isProfileName);
}

function sessionNames(dir: string): string[] {
  const files = fs.readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
  return files.map((name) => path.basename(name, '.jsonl')).filter(isSafeWord);
}

function listedModels(dir: string): string[] {
  const files = fs.readdirSync(dir).filter((name) => name.endsWith('.json'));
  return files.slice(0, MAX_LISTS).flatMap((name) => {
    const ids = orNone(() => {
      const { ids } = readFields(path.join(dir, name));
      return Array.isArray(ids) ? (ids as unknown[]) : [];
    });
    return ids.filter((id) => typeof id === 'string').filter(isSafeWord);
  });
}

function readFields(file: string): Readonly<Record<string, unknown>> {
  const stats = fs.statSync(file);
  if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return {};
  return fieldsOf(JSON.parse(fs.readFileSync(file, 'utf8')));
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
