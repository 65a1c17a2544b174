import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Manifest, openJsonLines, openManifest } from '../../batch/read-manifest.ts';
import { fieldsOf, nameFault, placeText, type Row, type RowsInput, readRows } from '../../batch/rows.ts';
import type { Context } from '../../context.ts';
import { confinedPaths } from '../../disk/confined-path.ts';
import { faultReason } from '../../disk/disk-fault.ts';
import { shellQuote, usage, withoutPasswords } from '../../errors.ts';
import { placeFiles } from '../../flags/body-flags.ts';
import { type Flag, type FlagSet, type FlagValues, filled, on, oneOf, text } from '../../flags/flag.ts';
import { quietly } from '../../host.ts';
import { defaultsOf } from '../../presets.ts';
import { canAsk } from '../ask-first.ts';
import { creates } from './row-command.ts';

// Flags of every batch command: the manifest, the batch name, and defaults for its rows.

export const manifestArgs = {
  name: 'MANIFEST',
  summary: 'JSONL, JSON (a list), CSV or YAML, by its ending; - is JSONL on stdin',
  required: true,
  completes: 'file',
} as const;

export const nameFlags = {
  name: text('NAME', "what the rows' keys begin with (default: the manifest's name without its ending)"),
  command: oneOf(Object.keys(creates), 'the command of rows that name none'),
} as const;

export const fileFlags = {
  root: filled('DIR', "rows may also name files below this directory (default: the manifest's folder alone)"),
  allowOutside: on('rows may name files anywhere'),
} as const;

/** The note for help pages, which do not list these flags. */
export const defaultsNote =
  'The flags of the create commands (-o, --model, --resolution, --duration, ...) are defaults for the rows that do not say ' +
  'and whose command takes them.';

/** The flags of all create commands, parsed as plain words. */
export const defaultFlags: FlagSet = Object.fromEntries(
  Object.values(creates).flatMap((flags) =>
    [...fieldsOf(flags), ...Object.entries(flags).filter(([key]) => key === 'count')].map(
      ([key, flag]): [string, Flag] => [
        key,
        // Each row's command parses the words itself.
        { ...flag, hidden: true, parse: (raw) => (flag.list ? [raw] : raw) },
      ],
    ),
  ),
);

type NameFlags = FlagValues<typeof nameFlags & typeof fileFlags>;

/** Decides which files the rows may read: those of the folder, and those that the user typed as defaults. */
function filesOf(
  dir: string,
  defaults: Readonly<Record<string, unknown>>,
  { root, allowOutside }: NameFlags,
  cwd: string,
) {
  // Real paths of files outside that rows name; a path added to `allowed` may be read.
  const outside = new Set<string>();
  const allowed = new Set<string>();
  placeFiles(defaults, defaultFlags, (file) => {
    if (fs.existsSync(file)) allowed.add(fs.realpathSync.native(file));
    return file;
  });
  const confined = confinedPaths({
    dir,
    what: "the manifest's folder",
    roots: root === undefined ? [] : [path.resolve(cwd, root)],
    mayLeave(file) {
      if (allowOutside || allowed.has(file)) return true;
      outside.add(file);
      return false;
    },
    hint: OUTSIDE_HINT,
  });
  return { dir, confined, typed: new Set(Object.values(defaults).flat()), outside, allowed };
}

const OUTSIDE_HINT = 'move it there, or give --root DIR or --allow-outside';

/** Opens a manifest for reading. `close` ends its use, which deletes the temporary copy of stdin. */
export async function openRows([named = '']: readonly string[], flags: NameFlags, ctx: Context) {
  const { name = named === '-' ? undefined : path.basename(named, path.extname(named)), command } = flags;
  if (name === undefined)
    throw usage('a batch from stdin has no name', 'name it with --name, the same each time');
  const fault = nameFault(name);
  if (fault) throw usage(`--name ${JSON.stringify(name)}: ${fault}`, 'give it another with --name NAME');
  const { manifest, close } =
    named === '-' ? await fromStdin(ctx) : { manifest: openManifest(named, ctx.host.cwd), close: () => {} };
  const typed = Object.entries(flags).filter(([key]) => Object.hasOwn(defaultFlags, key));
  const at = (file: string) => path.resolve(ctx.host.cwd, file);
  const defaults = placeFiles(Object.fromEntries(typed), defaultFlags, at);
  const files = filesOf(path.dirname(manifest.file), defaults, flags, ctx.host.cwd);
  const stored = (await ctx.settings()).defaults;
  const told = new Set<string>();
  const storedOf = (words: string) => {
    const said = defaultsOf(stored, words.split(' '));
    for (const [flag, value] of Object.entries(said ?? {})) {
      const note = `defaults.${words.replaceAll(' ', '.')}.${flag} holds for typed commands alone, and for no row`;
      if (ofTyped.test(`${flag}=${value}`) && told.size < told.add(note).size) ctx.io.note(note);
    }
    return said;
  };
  return { manifest, name, creates, command, defaults, storedOf, files, close };
}

/** Profile defaults that cannot apply to rows; those that match what rows do anyway need no mention. */
const ofTyped = /^((no-)?(exec|again|preview)|no-(wait|queue|download)=true|(wait|queue|download)=false)\b/;

export type OpenRows = Awaited<ReturnType<typeof openRows>>;

/** The rows of a manifest. Throws `usage` for the first faulty row. */
export async function* soundRows(input: RowsInput): AsyncGenerator<Row> {
  for await (const row of readRows(input)) {
    if (!('faults' in row)) yield row;
    else
      throw usage(
        `${input.manifest.named}:${placeText(row)}: ${row.faults[0]}`,
        'gw batch check names every fault',
      );
  }
}

const OUTSIDE_SHOWN = 20;

/**
 * Asks on a terminal, once for all files, whether rows may read files outside the folder. Throws `usage` with their list
 * if the answer is no, or if gw cannot ask.
 */
export async function allowOutside(
  { manifest, files }: OpenRows,
  mayAsk: boolean,
  ctx: Context,
): Promise<void> {
  const found = [...files.outside];
  const listed = found.slice(0, OUTSIDE_SHOWN).join(', ');
  const more = found.length > OUTSIDE_SHOWN ? ` and ${found.length - OUTSIDE_SHOWN} more` : '';
  const many = found.length === 1 ? 'one file lies' : `${found.length} files lie`;
  const message = `${manifest.named}: ${many} outside the manifest's folder: ${listed}${more}`;
  if (mayAsk && canAsk(ctx)) {
    ctx.io.note(message);
    const { confirm } = await import('../../io/ask.ts');
    if (await confirm(ctx.host, 'Send them with the rows?')) {
      for (const file of found) files.allowed.add(file);
      files.outside.clear();
      return;
    }
  }
  throw usage(message, OUTSIDE_HINT);
}

const switches = ['--following', '--retry-failed', '--stop-on-error', '--detach'];

/** The command line that repeats this run: the typed words without the dropped flags, plus the added words. */
export function runCommand(
  added: readonly string[],
  { argv }: Pick<Context, 'argv'>,
  dropped: readonly string[] = [],
): string {
  const isDropped = (word: string) => dropped.includes(word.replace(/=.*$/s, '')) || word === '--detach';
  const takesNext = (word = '') => isDropped(word) && !word.includes('=') && !switches.includes(word);
  const words = argv.flatMap((word, at) => {
    if (isDropped(word) || takesNext(argv[at - 1])) return [];
    // The user has to type a password again.
    return [withoutPasswords(word)];
  });
  const isTyped = (word: string) => words.some((each) => each === word || each.startsWith(`${word}=`));
  const others = added.filter((word) => !word.startsWith('--') || !isTyped(word));
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return ['gw', ...words.slice(0, end), ...others, ...words.slice(end)].map(shellQuote).join(' ');
}

/** Copies stdin to a file, because a manifest is read twice. Throws `usage` if the disk does not take it. */
async function fromStdin({ host, signal }: Context): Promise<{ manifest: Manifest; close: () => void }> {
  const file = path.join(tmpdir(), `gw-batch-${randomUUID()}.jsonl`);
  const close = () => fs.rmSync(file, { force: true });
  try {
    await pipeline(host.stdin, fs.createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal });
  } catch (error) {
    quietly(close);
    signal.throwIfAborted();
    const hint = 'make room there, or set TMPDIR to a directory that can be written';
    throw usage(`-: stdin could not be copied to ${tmpdir()}: ${faultReason(error)}`, hint);
  }
  // Media of rows from stdin are relative to the working directory.
  return { manifest: { ...openJsonLines('-', file), file: path.join(host.cwd, '-') }, close };
}
