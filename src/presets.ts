import * as fs from 'node:fs';
import * as path from 'node:path';
import { typedOf } from './batch/rows.ts';
import type { AnyCommand, CommandInput } from './command.ts';
import type { Profile } from './config/config-file.ts';
import { configDir } from './config/dirs.ts';
import { GwError, usage } from './errors.ts';
import { type Flag, type FlagSet, flagName } from './flags/flag.ts';
import { nearest } from './flags/nearest.ts';
import type { Host } from './host.ts';
import { parsePattern } from './placeholders.ts';

// Flags that were not typed: of --preset NAME, and one's own defaults (the contract, sections 2 and "Small print").

type Input = CommandInput<FlagSet>;
/** A command and the words that call it. */
export interface Called {
  readonly path: readonly string[];
  readonly command: AnyCommand;
}

/** The input with the flags of a preset laid under what was typed. Throws `usage` naming the file. */
export async function withPreset(input: Input, called: Called, host: Host): Promise<Input> {
  const name = input.globals.preset;
  if (name === undefined) return input;
  const file = presetFile(name, host);
  const said = await readPreset(file);
  return laidUnder(input, said, called, `${file}: `);
}

/** The input with the defaults that the profile has for the command laid under it. Throws `usage` naming the setting. */
export function withDefaults(input: Input, called: Called, defaults: Profile | undefined): Input {
  const prefix = defaultsName(called.path);
  if (defaults === undefined || prefix === undefined) return input;
  let said: Profile | string | number | undefined = defaults;
  for (const word of prefix) said = typeof said === 'object' ? said[word] : undefined;
  if (typeof said !== 'object') return input;
  return laidUnder(input, said, called, `defaults.${prefix.join('.')}: `);
}

/** `video alpha create` -> `video`, `alpha`: what stands between `defaults.` and the flag; undefined where none can. */
export function defaultsName(words: readonly string[]): readonly string[] | undefined {
  if (words[0] !== 'video') return words;
  return words.at(-1) === 'create' ? words.slice(0, -1) : undefined;
}

/** Checks one default as it is set. Throws `usage` for an unknown flag or value. */
export function checkDefault(name: string, text: string, called: Called): void {
  const flag = name.split('.').at(-1) ?? '';
  const { key, flag: found } = flagOf(flag, called, '');
  if (['prompt', 'events', 'once', 'body', 'set'].includes(key))
    throw usage(`--${flag} belongs to one run and has no default`, 'type it where it is needed');
  typedOf(found, flag, text, false);
  if (key === 'out') parsePattern(text, name);
  if (found.choices && !found.choices.includes(text))
    throw usage(`${name} ${text}: one of ${found.choices.join(', ')}`);
}

function laidUnder(
  input: Input,
  said: Record<string, unknown> | Profile,
  called: Called,
  where: string,
): Input {
  const flags: Record<string, unknown> = { ...input.flags };
  for (const [written, value] of Object.entries(said)) {
    const name = written.replaceAll('_', '-');
    const { key, flag, negated } = flagOf(name, called, where);
    const isTyped = key in input.flags || (key === 'prompt' && input.args.length > 0);
    if (isTyped) continue;
    try {
      const parsed = typedOf(flag, name, value, negated);
      if (parsed !== undefined) flags[key] = parsed;
    } catch (error) {
      throw error instanceof GwError ? usage(`${where}${error.message}`, error.facts.hint) : error;
    }
  }
  return { ...input, flags };
}

/** The flag of a name. Throws `usage` with the nearest; an address, a key and a gateway are no flags of a command. */
function flagOf(name: string, { path: words, command }: Called, where: string) {
  const known = new Map(
    Object.entries<Flag>(command.flags).map(([key, flag]) => [flagName(key).slice(2), { key, flag }]),
  );
  const found = known.get(name);
  if (found && !found.flag.negativeOnly) return { ...found, negated: false };
  const opposite = name.startsWith('no-') ? known.get(name.slice(3)) : undefined;
  if (opposite && (opposite.flag.negatable || opposite.flag.negativeOnly))
    return { ...opposite, negated: true };
  const [near] = nearest(name, [...known.keys()], 1);
  throw usage(
    `${where}${name.slice(0, 60)} is no flag of gw ${words.join(' ')}`,
    near ? `did you mean ${near}?` : `only the flags that gw ${words.join(' ')} --help lists can stand there`,
  );
}

const endings = ['json', 'yaml', 'yml'] as const;

function presetFile(name: string, host: Host): string {
  if (!/^[\w][\w.-]{0,99}$/.test(name))
    throw usage(`--preset ${name.slice(0, 60)}: not a name`, 'write letters, digits, - and _ only');
  const dirs = [path.resolve(host.cwd, '.gw', 'presets'), path.join(configDir(host), 'presets')];
  const found = dirs
    .flatMap((dir) => endings.map((ending) => path.join(dir, `${name}.${ending}`)))
    .find((file) => fs.existsSync(file));
  if (found !== undefined) return found;
  const names = dirs.flatMap(namesIn);
  const [near] = nearest(name, names, 1);
  throw usage(
    `--preset ${name}: no such preset in ${dirs.join(' or ')}`,
    near ? `did you mean ${near}?` : `write its flags into ${path.join(dirs[1] ?? '', `${name}.yaml`)}`,
  );
}

function namesIn(dir: string): string[] {
  try {
    return fs.readdirSync(dir).flatMap((file) => {
      const { name, ext } = path.parse(file);
      return (endings as readonly string[]).includes(ext.slice(1)) ? [name] : [];
    });
  } catch {
    return [];
  }
}

async function readPreset(file: string): Promise<Record<string, unknown>> {
  const hint = 'write flags and values, such as resolution: 720p';
  const { readObject } = await import('./media/read-data.ts');
  const flags = await readObject(file, `the preset ${file}`, hint);
  if (flags !== undefined) return flags;
  throw usage(`the preset ${file} is no list of flags`, hint);
}
