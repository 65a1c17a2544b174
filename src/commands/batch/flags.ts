import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Manifest, openJsonLines, openManifest } from '../../batch/read-manifest.ts';
import { fieldsOf, nameFault, type Row, type RowsInput, readRows } from '../../batch/rows.ts';
import { type Context, commandFor } from '../../context.ts';
import { usage } from '../../errors.ts';
import { absoluteReferences } from '../../flags/body-flags.ts';
import { type Flag, type FlagSet, type FlagValues, oneOf, text } from '../../flags/flag.ts';
import { counted } from '../../io/quantity-text.ts';
import { creates } from './row-command.ts';

// What every batch command takes: the manifest, its name, and defaults for the rows that do not say.

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

/** For help, where they are not listed. */
export const defaultsNote =
  'The flags of the create commands (-o, --model, --resolution, --duration, ...) are defaults for the rows that do not say ' +
  'and whose command takes them.';

/** The flags of all create commands, as words. */
export const defaultFlags: FlagSet = Object.fromEntries(
  Object.values(creates).flatMap((flags) =>
    [...fieldsOf(flags), ...Object.entries(flags).filter(([key]) => key === 'count')].map(
      ([key, flag]): [string, Flag] => [
        key,
        // Each row's command reads the words as its own.
        { ...flag, hidden: true, parse: (raw) => (flag.list ? [raw] : raw) },
      ],
    ),
  ),
);

export type NameFlags = FlagValues<typeof nameFlags>;

/** A manifest that is ready to be read, and what ends its use: stdin is kept in a temporary file. */
export async function openRows(
  [named = '']: readonly string[],
  flags: NameFlags,
  ctx: Context,
): Promise<RowsInput & { readonly close: () => void }> {
  const { host } = ctx;
  const { name = named === '-' ? undefined : path.basename(named, path.extname(named)), command } = flags;
  if (name === undefined)
    throw usage('a batch from stdin has no name', 'name it with --name, the same each time');
  const fault = nameFault(name);
  if (fault !== undefined) {
    throw usage(`--name ${JSON.stringify(name)}: ${fault}`, 'give the batch another name with --name NAME');
  }
  const { manifest, close } =
    named === '-' ? await fromStdin(ctx) : { manifest: openManifest(named, host.cwd), close: () => {} };
  const typed = Object.entries(flags).filter(([key]) => Object.hasOwn(defaultFlags, key));
  const defaults = absoluteReferences(Object.fromEntries(typed), defaultFlags, host.cwd);
  return { manifest, name, creates, command, defaults, close };
}

/** The rows of a manifest. Throws `usage` for the first that is wrong. */
export async function* soundRows(input: RowsInput): AsyncGenerator<Row> {
  for await (const row of readRows(input)) {
    if (!('faults' in row)) yield row;
    else {
      const fault = `${input.manifest.named}:${row.line}: ${row.faults[0]}`;
      throw usage(fault, 'gw batch check names every fault of it');
    }
  }
}

/** How the rows of a batch stand at the end of a run. */
interface RowCounts {
  readonly saved: number;
  readonly failed: number;
  readonly unknown: number;
  /** Taken out of the queue. */
  readonly cancelled?: number;
}

/** Rows of which no end is known. */
export const rowsLeft = (rows: number, { saved, failed, unknown, cancelled = 0 }: RowCounts): number =>
  rows - saved - failed - unknown - cancelled;

/** Says in one line how the rows of a batch stand, and how to go on. */
export function noteSum(
  { manifest: { named }, name }: RowsInput,
  rows: number,
  counts: RowCounts,
  /** What is left was not sent, or is not done; `--redis` where it is on a queue. */
  { left: leftIs, redis = '' }: { readonly left: 'sent' | 'done'; readonly redis?: '' | ' --redis' },
  ctx: Context,
): void {
  const { saved, failed, unknown, cancelled = 0 } = counts;
  const left = rowsLeft(rows, counts);
  const parts = [
    `${saved} saved`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(unknown > 0 ? [`${unknown} of unknown outcome`] : []),
    ...(cancelled > 0 ? [`${cancelled} taken out`] : []),
    ...(left > 0 ? [`${left} not ${leftIs}`] : []),
  ];
  const again = runCommand({ manifest: { named }, name }, redis, ctx);
  const where = redis === '' ? '' : ' on the machine that sent it';
  const next = [
    ...(left > 0 || cancelled > 0 ? [`go on with: ${again}`] : []),
    ...(failed > 0 ? [`create anew what failed with: ${again} --retry-failed`] : []),
    ...(unknown > 0 ? [`gw jobs sync${where} looks for what is unknown`] : []),
  ];
  ctx.io.note([`${counted(rows, 'row')}: ${parts.join(', ')}`, ...next].join('; '));
}

/** The command line that runs a batch again. */
export function runCommand(
  { manifest: { named }, name }: { readonly manifest: Pick<Manifest, 'named'>; readonly name: string },
  redis: '' | ' --redis',
  ctx: Context,
): string {
  const ofName = name === path.basename(named, path.extname(named)) ? '' : ` --name ${name}`;
  return commandFor(`gw batch run ${named}${ofName}${redis}`, ctx);
}

/** Stdin can be read once, and a manifest is read twice. */
async function fromStdin({ host, signal }: Context): Promise<{ manifest: Manifest; close: () => void }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'gw-batch-'));
  const close = () => rmSync(dir, { recursive: true, force: true });
  const file = path.join(dir, 'stdin.jsonl');
  try {
    await pipeline(host.stdin, createWriteStream(file, { mode: 0o600 }), { signal });
  } catch (error) {
    close();
    signal.throwIfAborted();
    throw error;
  }
  // Media of such rows are relative to the working directory.
  const kept = openJsonLines('-', file);
  return { manifest: { ...kept, file: path.join(host.cwd, '-') }, close };
}

/** `--redis`: a server, or the one of GW_REDIS_URL. */
export const redisFlag: Flag<string> = {
  ...text('URL', 'the queue that several machines share, redis://… or rediss://… (default: GW_REDIS_URL)'),
  optional: true,
};
