import * as path from 'node:path';
import { Readable } from 'node:stream';
import { askedDigest, type CreateFlags, type Row } from '../../batch/rows.ts';
import { type AnyCommand, type Outcome, ShownRequest } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import type { BudgetFlags } from '../../flags/job-flags.ts';
import type { RunProgress } from '../../io/io.ts';
import type { Estimate } from '../../jobs/cost.ts';
import { fieldDigests } from '../../jobs/create/once.ts';
import { cleanNameValue, escapePattern } from '../../jobs/save/output-path.ts';
import { create as imageCreate, edit as imageEdit, native as imageNative } from '../image.ts';
import { create as alpha } from '../video/alpha.ts';
import { create as beta } from '../video/beta/create.ts';
import type { JobResult } from '../video/follow-job.ts';
import { create as gamma } from '../video/gamma.ts';
import type { KnownRow } from './known-rows.ts';

// A row runs the create command that it names, with its fields as typed flags: what the command takes a row takes, and
// what the command refuses is refused here in the same words.

/** The creates, by the words that a row names them with. */
export const createCommands: Readonly<Record<string, AnyCommand>> = {
  'video alpha': alpha,
  'video beta': beta,
  'video gamma': gamma,
  'image create': imageCreate,
  'image edit': imageEdit,
  'image native': imageNative,
};

/** The flags of each command that a row can be. */
export const creates: CreateFlags = Object.fromEntries(
  Object.entries(createCommands).map(([words, { flags }]) => [words, flags]),
);

/** The world of a row: media are relative to the manifest, outputs to the working directory, and stdin is its body. */
function contextOf(row: Row, manifest: string, ctx: Context): Context {
  const { dryRun: _dryRun, curl: _curl, set: _set, body: _body, ...globals } = ctx.globals;
  const stdin = Readable.from(row.body === undefined ? [] : [Buffer.from(JSON.stringify(row.body))]);
  return {
    ...ctx,
    host: { ...ctx.host, cwd: path.dirname(manifest), stdin },
    globals: {
      ...globals,
      ...(row.set.length > 0 && { set: row.set }),
      ...(row.body !== undefined && { body: '-' }),
    },
  };
}

/** The flags of a row with its place to save as a path of its own, in which `{key}` and `{row}` are filled in. */
export async function flagsOf(row: Row, rows: number, ctx: Context): Promise<Record<string, unknown>> {
  const out = row.flags.out ?? (await ctx.settings()).out.value;
  if (out === '-')
    throw usage('--out -: gw writes no row to stdout', 'name a file, a directory or a pattern');
  if (out === '') throw usage('--out is empty', 'name a file, a directory that ends in /, or a pattern');
  const base = escapePattern(ctx.host.cwd);
  if (out === undefined) return { ...row.flags, out: `${base}${path.sep}` };
  const values: Readonly<Record<string, string>> = {
    '{key}': cleanNameValue(row.key.replaceAll('/', '-')),
    '{row}': String(row.row).padStart(String(rows).length, '0'),
  };
  const filled = String(out).replace(/\{\{|\{key\}|\{row\}/g, (found) => values[found] ?? found);
  return { ...row.flags, out: path.isAbsolute(filled) ? filled : `${base}${path.sep}${filled}` };
}

/** What a row would send. */
export interface CheckedRow {
  readonly model: string | undefined;
  /** What it is going to cost; absent where nobody asks. */
  readonly estimate?: Estimate | undefined;
}

/**
 * Reads and checks a row as its create would, media too, and sends nothing; the gateway of `ctx` is never asked. `warn` hears what is odd. Throws
 * `usage` with all that is wrong.
 */
export async function checkRow(
  row: Row,
  manifest: string,
  known: KnownRow | undefined,
  ctx: Context,
  warn: (text: string) => void,
): Promise<CheckedRow> {
  const own = contextOf(row, manifest, ctx);
  const globals = { ...own.globals, dryRun: true };
  const outcome = await commandOf(row).run(
    { args: [], flags: await flagsOf(row, row.row, ctx), globals },
    {
      ...own,
      globals,
      io: { ...ctx.io, warn, note: () => {} },
    },
  );
  if (Symbol.asyncIterator in outcome) throw new Error('a create that is only shown has one outcome');
  if (outcome.error !== undefined) throw outcome.error;
  const { value } = outcome as Outcome<JobResult>;
  const isShown = value instanceof ShownRequest;
  const shown = isShown ? (value.json as { readonly body?: Body }) : {};
  if (known) refuseChanged(row, known, shown.body);
  const model = shown.body?.model ?? row.flags.model;
  return {
    model: typeof model === 'string' ? model : undefined,
    estimate: isShown ? value.estimate : undefined,
  };
}

type Body = Readonly<Record<string, unknown>>;

/**
 * Throws `usage` for a row whose job was made from another body. What is sent as a form, or has its model in the path, is
 * compared when its turn comes.
 */
function refuseChanged(row: Row, { fields, asked, id }: KnownRow, body: Body | undefined): void {
  const { key, command, flags } = row;
  const hint = 'give the row another id to make a new job, or write it as it was';
  if (asked !== undefined && asked !== askedDigest(row))
    throw usage(`the row has changed since it was handed over (${key})`, hint);
  if (body === undefined || fields === undefined || command === 'image native') return;
  const now = fieldDigests(body, flags.callbackUrl === 'auto');
  const before = JSON.parse(fields) as Readonly<Record<string, string>>;
  const names = [...new Set([...Object.keys(now), ...Object.keys(before)])];
  // gw's own, when the user gave none: it is not what was asked for.
  const changed = names.find((name) => now[name] !== before[name] && !/(^|\.)external_task_id$/.test(name));
  if (changed === undefined) return;
  throw usage(`${changed}: the row has changed since its job ${id} was made (${key})`, hint);
}

/** What is said of all rows of a run. */
export interface RowOptions extends BudgetFlags {
  /** As in `OnceFlags`. */
  readonly again?: boolean | number;
  /** Position of the last row. */
  readonly rows: number;
  /** The manifest, for messages. */
  readonly named: string;
  /** False: it ends with the task's ID, and no slot is waited for. */
  readonly wait?: boolean;
}

/**
 * Creates a row, waits for it and saves it, or goes on with the job that its key has; as its create prints it. The followers of
 * `ctx` are those of all rows: one batch of looks, and lanes for downloads.
 */
export async function createRow(
  row: Row,
  manifest: string,
  { rows, named, wait = true, ...limits }: RowOptions,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const own = contextOf(row, manifest, ctx);
  const command = commandOf(row);
  const shared = { once: row.key, wait, queue: wait, ...limits };
  const takes = Object.entries(shared).filter(([key]) => Object.hasOwn(command.flags, key));
  const { io } = ctx;
  const input = {
    args: [],
    flags: { ...(await flagsOf(row, rows, ctx)), ...Object.fromEntries(takes) },
    globals: own.globals,
  };
  const rowContext: Context = {
    ...own,
    io: {
      ...io,
      warn: (text, urgent) => io.warn(`${named}:${row.line}: ${text}`, urgent),
      note: () => {},
      // Without bars a row is told when it ends, in one line.
      progress: () => (io.mode.bars ? namedBy(row.key, io.progress()) : silent),
    },
  };
  try {
    const outcome = await command.run(input, rowContext);
    if (Symbol.asyncIterator in outcome) throw new Error('a row makes one job');
    return {
      ...(outcome as Outcome<JobResult>),
      ...(outcome.error !== undefined && { error: ofRow(outcome.error) }),
    };
  } catch (error) {
    throw ofRow(error);
  }
}

/** What --again is to one create, --retry-failed is to a batch. */
function ofRow(error: unknown): unknown {
  if (!(error instanceof GwError) || error.facts.hint === undefined) return error;
  const hint = error.facts.hint.replace('--again', '--retry-failed');
  return new GwError(error.kind, error.message, { ...error.facts, hint });
}

/** Bars under what the user calls a row, and not under the ID of its task. */
const namedBy = (key: string, bars: RunProgress): RunProgress => ({
  ...bars,
  task: (update) => bars.task({ ...update, id: key }),
  download: (update) => bars.download({ ...update, name: key }),
});

/** Draws nothing. */
export const silent: RunProgress = { task() {}, download() {}, whole() {}, line() {}, stop() {} };

function commandOf({ command }: Row): AnyCommand {
  const found = createCommands[command];
  if (!found) throw new Error(`no create command ${command}`);
  return found;
}
