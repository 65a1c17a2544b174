import * as path from 'node:path';
import { Readable } from 'node:stream';
import { askedDigest, type CreateFlags, placeText, type Row } from '../../batch/rows.ts';
import { type AnyCommand, type Outcome, ShownRequest } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type ConfinedPath, refuseTarget } from '../../disk/confined-path.ts';
import { endsAll, GwError, usage } from '../../errors.ts';
import { confineFiles } from '../../flags/body-flags.ts';
import type { BudgetFlags } from '../../flags/job-flags.ts';
import { once } from '../../host.ts';
import { keepYoungSpaceSmall } from '../../http/transport.ts';
import type { RunProgress } from '../../io/io.ts';
import type { Estimate } from '../../jobs/cost.ts';
import type { HowAsked, Intent, JobRequest } from '../../jobs/create/job-request.ts';
import type { Made } from '../../jobs/create/make.ts';
import { fieldDigests, otherField, pathOf } from '../../jobs/create/once.ts';
import { cleanKey, escapePattern } from '../../jobs/save/output-path.ts';
import type { Job } from '../../ledger/event.ts';
import type { OutputDoor } from '../../shots/outputs.ts';
import { create as imageCreate, edit as imageEdit, native as imageNative } from '../image.ts';
import { create as alpha } from '../video/alpha.ts';
import { create as beta } from '../video/beta/create.ts';
import type { JobResult } from '../video/follow-job.ts';
import { create as gamma } from '../video/gamma.ts';
import { noteOfName } from '../video/task-ids.ts';
import type { Fields, KnownRow } from './known-rows.ts';

// A row runs the create command that it names, with its fields as typed flags: what the command takes a row takes, and
// what the command refuses is refused here in the same words.

export const createCommands: Readonly<Record<string, AnyCommand>> = {
  'video alpha': alpha,
  'video beta': beta,
  'video gamma': gamma,
  'image create': imageCreate,
  'image edit': imageEdit,
  'image native': imageNative,
};

export const creates: CreateFlags = Object.fromEntries(
  Object.entries(createCommands).map(([words, { flags }]) => [words, flags]),
);

/** Where the files of rows lie, which of them may be read, and the references that the user has typed for all rows. */
export interface RowFiles {
  /** The manifest's folder, or what a worker was given with --root. */
  readonly dir: string;
  readonly confined: ConfinedPath;
  readonly typed?: ReadonlySet<unknown>;
  /** Which outputs of jobs they may name beside those that are such files, and those of the other rows. */
  readonly outputs?: Pick<OutputDoor, 'rowJob' | 'isEarly' | 'meant'> & {
    readonly isOwn: (job: Job) => boolean;
  };
}

/** The door of whoever names files: what the user has typed, its own batch's outputs, and those of other jobs that are such files. */
export const doorOf = ({ confined, typed, outputs }: RowFiles): OutputDoor => ({
  ...outputs,
  admit(file, job, named) {
    if (!outputs?.isOwn(job) && !typed?.has(named.slice(named.indexOf(' ') + 1))) confined(file, named);
  },
});

/** The world of all rows: media are relative to the manifest, outputs to the working directory, and stdin is empty. */
const worldOf = (files: RowFiles, ctx: Context): Context => ({
  ...ctx,
  outputs: doorOf(files),
  host: {
    ...ctx.host,
    cwd: files.dir,
    // What was read once cannot be read again.
    get stdin() {
      return Readable.from([]);
    },
  },
});

/** The world of a row: that of all rows, or where it says something of its own body one with that as stdin. */
function contextOf({ body, flags, pinned, set }: Row, world: Context): Context {
  // Whoever lets a row say a prompt of a single dash means the dash, which stdin then holds.
  const piped = flags.prompt === '-' ? '-' : JSON.stringify(body);
  if (piped === undefined && set.length === 0 && !pinned) return world;
  const stdin = Readable.from(piped === undefined ? [] : [Buffer.from(piped)]);
  return {
    ...world,
    host: { ...world.host, stdin },
    globals: {
      ...world.globals,
      ...(pinned?.validate === false && { validate: false }),
      ...(set.length > 0 && { set }),
      ...(body !== undefined && { body: '-' }),
    },
  };
}

/** The flags of a row with its place to save as a path of its own, in which `{key}` and `{row}` are filled in. */
export async function flagsOf(row: Row, rows: number, ctx: Context): Promise<Record<string, unknown>> {
  const { model, sidecar } = row.pinned ?? {};
  const flags = { ...(model !== undefined && { model }), ...(sidecar && { sidecar }), ...row.flags };
  const out = row.flags.out ?? (await ctx.settings()).out.value;
  if (out === '-')
    throw usage('--out -: gw writes no row to stdout', 'name a file, a directory or a pattern');
  if (out === '') throw usage('--out is empty', 'name a file, a directory that ends in /, or a pattern');
  const base = escapePattern(ctx.host.cwd);
  const { cwd: dir } = ctx.host;
  if (row.ownOut) refuseTarget(String(out), { dir, what: 'the working directory' }, `--out ${out}`);
  if (out === undefined) return { ...flags, out: `${base}${path.sep}` };
  const values: Readonly<Record<string, string>> = {
    '{key}': cleanKey(row.key),
    '{row}': String(row.row).padStart(String(rows).length, '0'),
  };
  const filled = String(out).replace(/\{\{|\{key\}|\{row\}/g, (found) => values[found] ?? found);
  return { ...flags, out: path.isAbsolute(filled) ? filled : `${base}${path.sep}${filled}` };
}

const readyFlags = async (row: Row, rows: number, { confined }: RowFiles, ctx: Context) =>
  confineFiles(await flagsOf(row, rows, ctx), commandOf(row).flags, confined);

export interface CheckedRow {
  readonly model: string | undefined;
  /** What it is going to cost; absent where nobody asks. */
  readonly estimate?: Estimate | undefined;
  /** The field by which it differs from what the job of its key asked for. */
  readonly changed?: string | undefined;
  /** A digest of each field that it asks for. Reads the files of a form. */
  readonly fields?: (() => Promise<Fields>) | undefined;
  readonly intent?: Intent | undefined;
}

/**
 * What reads and checks rows as their creates would, media too, and sends nothing; the gateway of `ctx` is never asked.
 * `warn` hears what is odd. It throws `usage` with all that is wrong with a row.
 */
export function rowChecker(files: RowFiles, ctx: Context, warn: Context['io']['warn'] = () => {}) {
  const io = { ...ctx.io, warn, note: () => {} };
  const world = worldOf(files, { ...ctx, io, globals: { ...ctx.globals, dryRun: true } });
  let isNoted = false;
  return async (row: Row, known?: KnownRow): Promise<CheckedRow> => {
    const own = contextOf(row, world);
    const flags = await readyFlags(row, row.row, files, ctx);
    if (!isNoted) isNoted = noteOfName(String(row.flags.out ?? (await ctx.settings()).out.value ?? ''), ctx);
    const outcome = await commandOf(row).run({ args: [], flags, globals: own.globals }, own);
    if (Symbol.asyncIterator in outcome) throw new Error('a create that is only shown has one outcome');
    if (outcome.error !== undefined) throw outcome.error;
    const { value } = outcome as Outcome<JobResult>;
    const { asked, estimate } = value instanceof ShownRequest ? value : {};
    const { request } = asked ?? {};
    const fields =
      asked && once(async () => fieldDigests(await asked.body(), row.flags.callbackUrl === 'auto'));
    const model = request?.body.model ?? row.flags.model;
    return {
      model: typeof model === 'string' ? model : undefined,
      estimate,
      changed: fields && known && changedField(row, known, await fields(), asked.request),
      fields,
      intent: request?.intent,
    };
  };
}

/** The first field, as people name it, by which a row differs from what its job was made of; undefined where none does. */
function changedField(row: Row, known: KnownRow, fields: Fields, request: JobRequest): string | undefined {
  if (known.asked !== undefined) return known.asked === askedDigest(row) ? undefined : 'the row';
  if (known.fields === undefined) return undefined;
  if (known.family !== request.intent.family) return 'command';
  const changed = otherField(fields, JSON.parse(known.fields) as Fields);
  return changed && (request.flagOf(pathOf(changed)) ?? changed).replace(/^--/, '');
}

export interface RowOptions extends BudgetFlags, Pick<HowAsked, 'again' | 'keepsOther' | 'expects'> {
  /** Position of the last row. */
  readonly rows: number;
  /** The manifest, for messages; absent where the row stands in none. */
  readonly named?: string;
  /** False: it ends with the task's ID, and no slot is waited for. */
  readonly wait?: boolean;
}

export type RowOutcome = Outcome<JobResult> & { readonly made: Made };

/**
 * Creates a row, waits for it and saves it, or goes on with the job that its key has; as its create prints it. The followers of
 * `ctx` are those of all rows: one batch of looks, and lanes for downloads. Throws nothing.
 */
export async function createRow(
  row: Row,
  files: RowFiles,
  { rows, named, keepsOther, expects, wait = true, ...limits }: RowOptions,
  ctx: Context,
): Promise<RowOutcome> {
  const own = contextOf(row, worldOf(files, ctx));
  const command = commandOf(row);
  const shared = { once: row.key, wait, queue: wait, ...limits };
  const takes = Object.entries(shared).filter(([key]) => Object.hasOwn(command.flags, key));
  const ready = await readyFlags(row, rows, files, ctx);
  const flags = { ...ready, ...Object.fromEntries(takes), keepsOther, expects };
  const rowContext: Context = {
    ...own,
    io: {
      ...ctx.io,
      warn: (text, urgent) => ctx.io.warn(named ? `${named}:${placeText(row)}: ${text}` : text, urgent),
      note: () => {},
      // Without bars a row is told when it ends, in one line.
      progress: () => (ctx.io.mode.bars ? namedBy(row.key, ctx.io.progress()) : silent),
    },
  };
  // Of the objects that a row makes few stay, and thousands of rows must not take more memory than one.
  const letGrow = keepYoungSpaceSmall();
  try {
    const outcome = await command.run({ args: [], flags, globals: own.globals }, rowContext);
    if (Symbol.asyncIterator in outcome) throw new Error('a row makes one job');
    const { error, made, ...rest } = outcome as Outcome<JobResult>;
    if (!made) throw new Error('a create tells what became of it');
    return { ...rest, made, ...(error !== undefined && { error: ofRow(error) }) };
  } catch (thrown) {
    const error = ofRow(thrown);
    return { error, made: { kind: 'nothing', error } };
  } finally {
    letGrow();
  }
}

/** What --again is to one create, --retry-failed is to a batch. */
export function ofRow(error: unknown): unknown {
  if (!(error instanceof GwError) || error.facts.hint === undefined) return error;
  const hint =
    error.kind === 'task_failed'
      ? 'change the row, and run the batch again with --retry-failed'
      : error.facts.hint.replace('--again', '--retry-failed');
  return error.told({ hint });
}

/** Whether an error is of the key or the account, and not of one row: HTTP 403 may be of a model, or of a file. */
export const isOfAccount = (error: unknown): error is GwError =>
  error instanceof GwError && endsAll.has(error.kind) && error.facts.status !== 403;

/** How long a create waits that met a limit, or no gateway. */
export const pauseOf = ({ facts: { retryAtMs } }: GwError, { clock }: Pick<Context, 'clock'>): number =>
  retryAtMs === undefined ? 15_000 : Math.max(1_000, retryAtMs - clock.now());

export const under = (name: string, error: unknown): unknown =>
  error instanceof GwError ? error.told({}, `${name}: ${error.message}`) : error;

/** Bars under what the user calls a row, and not under the ID of its task; that it is saved is told by its path. */
const namedBy = (key: string, bars: RunProgress): RunProgress => ({
  ...bars,
  task: (update) => bars.task({ ...update, id: key, isPart: true }),
  download: (update) => bars.download({ ...update, name: key, isPart: true }),
});

export const silent: RunProgress = { task() {}, download() {}, whole() {}, line() {}, stop() {} };

function commandOf({ command }: Row): AnyCommand {
  const found = createCommands[command];
  if (!found) throw new Error(`no create command ${command}`);
  return found;
}
