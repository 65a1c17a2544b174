import * as fs from 'node:fs';
import * as path from 'node:path';
import { typedOf } from './batch/rows.ts';
import type { AnyCommand, CommandInput, Node } from './command.ts';
import type { Profile } from './config/config-file.ts';
import { configDir } from './config/dirs.ts';
import { confinedPaths, refuseTarget } from './disk/confined-path.ts';
import { refuseUntrusted } from './disk/trust.ts';
import { GwError, usage } from './errors.ts';
import { confineFiles } from './flags/body-flags.ts';
import { type Flag, type FlagSet, flagName, mayStandIn } from './flags/flag.ts';
import { nearest } from './flags/nearest.ts';
import { type Host, quietly } from './host.ts';
import type { Io } from './io/io.ts';
import { parsePattern } from './placeholders.ts';
import { strangersDoor } from './shots/outputs.ts';

// Flags from --preset NAME and from the profile's defaults (the contract, sections 2 and "Small print").

type Input = CommandInput<FlagSet>;
/** A command and its path in the tree. */
export interface Called {
  readonly path: readonly string[];
  readonly command: AnyCommand;
}

/** Merges a preset's flags under the typed input. Throws `usage` naming the file. */
export async function withPreset(
  input: Input,
  called: Called,
  host: Host,
  io: Pick<Io, 'note'>,
  program: Node,
): Promise<Input> {
  const name = input.globals.preset;
  if (name === undefined) return input;
  const { file, isOwn } = presetFile(name, host);
  if (!isOwn) {
    io.note(`--preset ${name} is the one of the working directory: ${file}`);
    refuseForeign(file, `--preset ${name}`, host);
  }
  const said = await readPreset(file);
  for (const written of Object.keys(said)) {
    const flag = written.replaceAll('_', '-');
    if (flag !== written && flag in said) throw usage(`${file}: give ${flag} or ${written}, not both`);
    if (findFlag(called.command.flags, flag) || !(await isFlagOfAny(program, flag))) continue;
    io.note(`${file}: gw ${called.path.join(' ')} has no --${flag}, so it is left out`);
    delete said[written];
  }
  const laid = laidUnder(input, said, called, `${file}: `, isOwn ? undefined : placeIn(host.cwd));
  const ofPreset = { name, keys: addedTo(input, laid) };
  return hasRules(called) ? { ...laid, flags: { ...laid.flags, ofPreset } } : laid;
}

/** Only these commands send a body whose rules an untyped flag could break. */
const hasRules = ({ path: [first = ''] }: Called) => /^(?:video|image|chat|asset)$/.test(first);

const addedTo = ({ flags }: Input, laid: Input) => Object.keys(laid.flags).filter((key) => !(key in flags));

/** True if any command below a node has this flag: one preset serves several commands. */
async function isFlagOfAny({ load, children = [] }: Node, name: string): Promise<boolean> {
  if (load && mayStandIn(findFlag((await load()).flags, name)?.flag ?? {}, 'preset')) return true;
  for (const child of children) if (await isFlagOfAny(child, name)) return true;
  return false;
}

/** Throws `usage` for a preset in the working directory that another user could write, or that a link leads to. */
function refuseForeign(file: string, named: string, { cwd, platform }: Host): void {
  const real = confinedPaths({ ...placeIn(cwd), hint: MOVE_IT })(file, named);
  for (const each of [path.dirname(path.dirname(real)), path.dirname(real), real])
    refuseUntrusted(fs.statSync(each), { file: each, what: `${named}:`, kind: 'usage', platform });
}

/** Merges those defaults of the profile that `isMeant` accepts under the typed input. Throws `usage` naming the setting. */
export function withDefaults(
  input: Input,
  called: Called,
  defaults: Profile | undefined,
  isMeant: (flag: string) => boolean = () => true,
): Input {
  const name = called.path.join('.').replace(/^(video\..*)\.create$/, '$1');
  const said = Object.entries(defaultsOf(defaults, name.split('.')) ?? {});
  if (said.length === 0) return input;
  const meant = Object.fromEntries(said.filter(([flag]) => isMeant(flag)));
  const laid = laidUnder(input, meant, called, `defaults.${name}.`);
  return hasRules(called) ? { ...laid, flags: { ...laid.flags, stored: addedTo(input, laid) } } : laid;
}

/** The stored defaults of a command, found by the words between `defaults.` and the flag. */
export function defaultsOf(defaults: Profile | undefined, words: readonly string[]): Profile | undefined {
  let said: Profile | string | number | undefined = defaults;
  for (const word of words) said = typeof said === 'object' ? said[word] : undefined;
  return typeof said === 'object' ? said : undefined;
}

/** Checks one default when it is stored. Throws `usage` for an unknown flag or value. */
export function checkDefault(name: string, text: string, called: Called): void {
  const flag = name.split('.').at(-1) ?? '';
  const { key, flag: found } = flagOf(flag, called);
  if (['prompt', 'promptFile', 'events', 'once', 'externalId', 'body', 'set'].includes(key))
    throw usage(`--${flag} belongs to one run and has no default`, 'type it where it is needed');
  const values = [typedOf(found, name, text, false, '')].flat().map(String);
  if (key === 'out') parsePattern(text, name);
  // Other models than the choices are valid too: a full ID, and one that is newer than gw.
  const { choices = values } = key === 'model' ? {} : found;
  if (!values.every((value) => choices.includes(value)))
    throw usage(`${name} ${text}: one of ${choices.join(', ')}`);
}

/** Merges flags from a file under the typed input. Throws `usage` with a message that begins with `where`. */
function laidUnder(
  input: Input,
  said: Record<string, unknown> | Profile,
  called: Called,
  where: string,
  /** The working directory if its preset gives the flags: such a preset is not trusted. */
  stranger?: ReturnType<typeof placeIn>,
): Input {
  const laid: Record<string, unknown> = {};
  try {
    for (const [written, value] of Object.entries(said)) {
      const name = written.replaceAll('_', '-');
      const { key, flag, negated } = flagOf(name, called);
      if (stranger && !mayStandIn(flag, 'preset'))
        throw usage(`${name}: a preset of the working directory may not say it`, stranger.hint);
      if (isSaid(key, input)) continue;
      if (stranger && value === '-')
        throw usage(`${name}: a preset of the working directory may not read stdin`, `type --${name} -`);
      const parsed = typedOf(flag, name, value, negated, '');
      if (parsed !== undefined && key === 'out') parsePattern(String(parsed), name);
      if (parsed !== undefined) laid[key] = parsed;
    }
    if (!stranger) return { ...input, flags: { ...laid, ...input.flags } };
    const confined = confinedPaths(stranger);
    if (laid.out !== undefined) refuseTarget(String(laid.out), stranger, `--out ${laid.out}`);
    const flags = confineFiles(laid, called.command.flags, confined);
    return { ...input, flags: { ...flags, ...input.flags }, outputs: strangersDoor(laid, confined) };
  } catch (error) {
    throw error instanceof GwError ? usage(`${where}${error.message}`, error.facts.hint) : error;
  }
}

const MOVE_IT = 'move the preset into your configuration once you have read it';

/** A preset of the working directory may name only files in that directory. */
const placeIn = (dir: string) => ({ dir, what: 'the working directory', hint: `type it, or ${MOVE_IT}` });

/** Groups of flags that mean the same thing: typing one of them replaces stored values of all. */
const ofOneThing = [/^(prompt|shot)/, /^system/, /^(session|continue|messages)$/, /^(thinking|reasoning)/];

function isSaid(key: string, { args, flags, globals }: Input): boolean {
  const one = ofOneThing.find((ways) => ways.test(key));
  // With -q, only a typed flag prints usage and thoughts to stderr.
  const isSilent = globals.quiet === true && /^(usage|showThoughts)$/.test(key);
  if (key in flags || isSilent || (one === ofOneThing[0] && args.length > 0)) return true;
  return Object.keys(flags).some((typed) => one?.test(typed));
}

function findFlag(flags: FlagSet, name: string) {
  const known = Object.entries<Flag>(flags).map(([key, flag]) => ({ key, flag, is: flagName(key).slice(2) }));
  const found = known.find(({ is }) => is === name);
  if (found && !found.flag.negativeOnly) return { ...found, negated: false };
  const opposite = known.find(({ is, flag }) => `no-${is}` === name && (flag.negatable || flag.negativeOnly));
  return opposite && { ...opposite, negated: true };
}

/** Finds a flag by name. Throws `usage` with the nearest name. Shared options such as the API key are not found. */
function flagOf(name: string, { path: words, command }: Called) {
  const found = findFlag(command.flags, name);
  if (found) return found;
  const names = Object.keys(command.flags).map((key) => flagName(key).slice(2));
  const [near] = nearest(name, names);
  throw usage(
    `${name.slice(0, 60)} is no flag of gw ${words.join(' ')}`,
    near ? `did you mean ${near}?` : `only the flags that gw ${words.join(' ')} --help lists can stand there`,
  );
}

const endings = ['json', 'yaml', 'yml'];

function presetFile(name: string, host: Host): { readonly file: string; readonly isOwn: boolean } {
  if (!/^[\w][\w.-]{0,99}$/.test(name))
    throw usage(`--preset ${name.slice(0, 60)}: not a name`, 'write letters, digits, - and _ only');
  const own = path.join(configDir(host), 'presets');
  const dirs = [own, path.resolve(host.cwd, '.gw', 'presets')];
  for (const dir of dirs) {
    const file = endings.map((ending) => path.join(dir, `${name}.${ending}`)).find(fs.existsSync);
    if (file !== undefined) return { file, isOwn: dir === own };
  }
  const [near] = nearest(name, dirs.flatMap(namesIn));
  throw usage(
    `--preset ${name}: no such preset in ${dirs.join(' or ')}`,
    near ? `did you mean ${near}?` : `write its flags into ${path.join(own, `${name}.yaml`)}`,
  );
}

function namesIn(dir: string): string[] {
  const files = quietly(() => fs.readdirSync(dir)) ?? [];
  return files.map(path.parse).flatMap(({ name, ext }) => (endings.includes(ext.slice(1)) ? name : []));
}

async function readPreset(file: string): Promise<Record<string, unknown>> {
  const hint = 'write flags and their values, such as {"resolution": "720p"}';
  const { readObject } = await import('./media/read-data.ts');
  const flags = await readObject(file, `the preset ${file}`, hint);
  if (flags !== undefined) return flags;
  throw usage(`the preset ${file} holds no flags by name`, hint);
}
