import * as path from 'node:path';
import { Readable } from 'node:stream';
import { type CreateFlags, placeText, type Row } from '../../batch/rows.ts';
import { type AnyCommand, type Outcome, ShownRequest } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type ConfinedPath, refuseTarget } from '../../disk/confined-path.ts';
import { endsAll, GwError, shellQuote, usage } from '../../errors.ts';
import { confineFiles } from '../../flags/body-flags.ts';
import type { BudgetFlags } from '../../flags/job-flags.ts';
import { findFamily } from '../../gateway/families.ts';
import { once } from '../../host.ts';
import { keepYoungSpaceSmall } from '../../http/transport.ts';
import type { RunProgress } from '../../io/io.ts';
import type { Estimate } from '../../jobs/cost.ts';
import type { HowAsked, JobRequest } from '../../jobs/create/job-request.ts';
import type { Made } from '../../jobs/create/make.ts';
import { asItStands, fieldDigests, otherField, pathOf, type Stands } from '../../jobs/create/once.ts';
import { isUnanswered } from '../../jobs/create/standing.ts';
import { cleanKey, escapePattern } from '../../jobs/save/output-path.ts';
import type { Job } from '../../ledger/event.ts';
import type { OutputDoor } from '../../shots/outputs.ts';
import { create as imageCreate, edit as imageEdit, native as imageNative } from '../image.ts';
import { goOnWith, lastOfKey } from '../once.ts';
import { create as alpha } from '../video/alpha.ts';
import { create as beta } from '../video/beta/create.ts';
import { type JobResult, waitDeadlineMs } from '../video/follow-job.ts';
import { create as gamma } from '../video/gamma.ts';
import { noteOfName } from '../video/task-ids.ts';
import { digestOfFields, type Fields, type KnownRow } from './known-rows.ts';

// A row runs the create command that it names, with its fields as typed flags, so that row and command accept the same
// values and refuse others with the same message.

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

/** The folder of the rows' files, the files that may be read, and the references that the user typed for all rows. */
export interface RowFiles {
  /** The manifest's folder, or the folder of a worker's --root. */
  readonly dir: string;
  readonly confined: ConfinedPath;
  readonly typed?: ReadonlySet<unknown>;
  /** The outputs of jobs that rows may name besides readable files and other rows of the batch. */
  readonly outputs?: Pick<OutputDoor, 'rowJob' | 'isEarly' | 'meant'> & {
    readonly isOwn: (job: Job) => boolean;
  };
}

/** Admits outputs that the user typed, outputs of this batch, and outputs of other jobs that are readable files. */
export const doorOf = ({ confined, typed, outputs }: RowFiles): OutputDoor => ({
  ...outputs,
  admit(file, job, named) {
    if (!outputs?.isOwn(job) && !typed?.has(named.slice(named.indexOf(' ') + 1))) confined(file, named);
  },
});

/** The context of a row: media are relative to the manifest, and outputs to the working directory. It reads no stdin. */
function contextOf({ body, flags, pinned, set }: Row, files: RowFiles, ctx: Context): Context {
  // A row whose prompt is "-" means a dash, so stdin contains a dash.
  const stdin = Readable.from(flags.prompt === '-' ? [Buffer.from('-')] : []);
  return {
    ...ctx,
    outputs: doorOf(files),
    host: { ...ctx.host, cwd: files.dir, stdin },
    globals: {
      ...ctx.globals,
      ...(pinned?.validate === false && { validate: false }),
      ...(set.length > 0 && { set }),
      ...(body !== undefined && { body }),
    },
  };
}

/** The flags of a row, with an absolute --out in which `{key}` and `{row}` are filled in. */
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
  /** The estimated cost; absent if nobody needs it. */
  readonly estimate?: Estimate | undefined;
  /** The field that differs from the request of the key's existing job. */
  readonly changed?: string | undefined;
  /** Digests of the requested fields. It reads the files of a form. */
  readonly fields: () => Promise<Fields>;
  /** The digest that tells whether two rows ask for the same. */
  readonly asked: () => Promise<string>;
  readonly request: JobRequest;
}

/**
 * Returns a function that reads and checks rows, including media, as their create commands would. It sends nothing and
 * never asks the gateway of `ctx`. `warn` receives oddities; the function throws `usage` with all faults of a row.
 */
export function rowChecker(files: RowFiles, ctx: Context, warn: Context['io']['warn'] = () => {}) {
  const io = { ...ctx.io, warn, note: () => {} };
  const showing = { ...ctx, io, globals: { ...ctx.globals, dryRun: true } };
  let isNoted = false;
  return async (row: Row, known?: Pick<KnownRow, 'family' | 'fields'>): Promise<CheckedRow> => {
    const flags = { ...(await readyFlags(row, row.row, files, ctx)), once: row.key };
    if (!isNoted) isNoted = noteOfName(String(row.flags.out ?? (await ctx.settings()).out.value ?? ''), ctx);
    const { error, value } = await outcomeOf(row, flags, contextOf(row, files, showing));
    if (error !== undefined) throw error;
    const { asked, estimate } = value instanceof ShownRequest ? value : {};
    if (!asked) throw new Error('a create that is only shown has a request');
    const fields = once(async () => fieldDigests(await asked.body(), row.flags.callbackUrl === 'auto'));
    const { request } = asked;
    const model = request.body.model ?? row.flags.model;
    return {
      model: typeof model === 'string' ? model : undefined,
      estimate,
      changed: known && changedField(known, await fields(), request),
      fields,
      asked: async () => digestOfFields(await fields(), request.intent.endpoint),
      request,
    };
  };
}

/** The first field, by its flag, that differs from the request of the row's job; undefined if none does. */
function changedField(known: Pick<KnownRow, 'family' | 'fields'>, fields: Fields, request: JobRequest) {
  if (known.fields === undefined) return undefined;
  if (known.family !== request.intent.family) return 'command';
  const changed = otherField(fields, JSON.parse(known.fields) as Fields);
  return changed && (request.flagOf(pathOf(changed)) ?? changed).replace(/^--/, '');
}

interface RowOptions extends BudgetFlags, Pick<HowAsked, 'again' | 'keepsOther' | 'expects'> {
  readonly deadlineMs?: number;
  /** Position of the last row. */
  readonly rows: number;
  /** The manifest's name for messages; absent if the row is in none. */
  readonly named?: string;
  /** If false, the row ends with the task's ID, and does not wait for a slot. */
  readonly wait?: boolean;
}

export type RowOutcome = Outcome<JobResult> & { readonly made: Made };

/**
 * Creates a row, waits for it and saves it, or continues the job of its key; returns what its create prints. The
 * followers of `ctx` are shared by all rows: one batch of lookups, and lanes for downloads. Never throws.
 */
export async function createRow(
  row: Row,
  files: RowFiles,
  { rows, named, keepsOther, expects, wait = true, ...limits }: RowOptions,
  ctx: Context,
): Promise<RowOutcome> {
  const shared = { once: row.key, wait, queue: wait, ...limits };
  const takes = Object.entries(shared).filter(([key]) => Object.hasOwn(commandOf(row).flags, key));
  const { deadlineMs = waitDeadlineMs({}, ctx) } = limits;
  const own: Context = {
    ...contextOf(row, files, ctx),
    io: {
      ...ctx.io,
      warn: (text, urgent) => ctx.io.warn(named ? `${named}:${placeText(row)}: ${text}` : text, urgent),
      note: () => {},
      // Without bars, one line reports the end of a row.
      progress: () => (ctx.io.mode.bars ? namedBy(row.key, ctx.io.progress()) : silent),
    },
  };
  // Most objects of a row are short-lived, so a small young generation keeps thousands of rows within little memory.
  const letGrow = keepYoungSpaceSmall();
  let stands: Stands | undefined;
  try {
    const how = { ...Object.fromEntries(takes), keepsOther, expects, deadlineMs };
    stands = keepsOther ? await standing(row, { ...limits, wait }, ctx) : undefined;
    const { error, made, ...rest } =
      stands && !isUnanswered(stands.job)
        ? await goOnWith(stands, { ...(await flagsOf(row, rows, ctx)), ...how, wait }, own)
        : await outcomeOf(row, { ...(await readyFlags(row, rows, files, ctx)), ...how }, own);
    if (!made) throw new Error('a create tells what became of it');
    return { ...rest, made, ...(error !== undefined && { error: ofRow(error, row) }) };
  } catch (thrown) {
    // A row of unknown outcome stays that where an input is missing: it cannot be sent again then.
    const unknown = thrown instanceof GwError && thrown.kind === 'usage' && stands?.error;
    const why = unknown ? unknown.told({}, `${unknown.message}; ${thrown.message}`) : thrown;
    const error = ofRow(why, row);
    return { error, made: { kind: 'nothing', error } };
  } finally {
    letGrow();
  }
}

/** The job of a row, if this run makes no other. Once it is answered, it goes on whatever has become of the inputs. */
async function standing({ key }: Row, how: HowAsked, ctx: Context): Promise<Stands | undefined> {
  const { current } = await lastOfKey(key, ctx);
  return current && asItStands(current, { family: await findFamily(current.family), how });
}

async function outcomeOf(row: Row, flags: Row['flags'], ctx: Context): Promise<Outcome<JobResult>> {
  const outcome = await commandOf(row).run({ args: [], flags, globals: ctx.globals }, ctx);
  if (Symbol.asyncIterator in outcome) throw new Error('a row makes one job');
  return outcome as Outcome<JobResult>;
}

/** Rewords the hint of a create for a batch: --retry-failed replaces --again, and --redo makes its row anew. */
export function ofRow(error: unknown, { key }: Pick<Row, 'key'>): unknown {
  if (!(error instanceof GwError) || error.facts.hint === undefined) return error;
  if (error.kind === 'task_failed')
    return error.told({ hint: 'change the row, and run the batch again with --retry-failed' });
  const anew = error.facts.anew && `run the batch again with --redo ${shellQuote(key)}`;
  return error.told({ hint: error.facts.hint.replace('--again', '--retry-failed'), ...(anew && { anew }) });
}

/** True if every further create here would get this error too; an HTTP 403 may concern one model or file. */
export const endsCreates = (error: unknown): error is GwError =>
  error instanceof GwError &&
  (error.facts.noLedger === true || (endsAll.has(error.kind) && error.facts.status !== 403));

/** The pause of a create after a rate limit, or if the gateway cannot be reached. */
export const pauseOf = ({ facts: { retryAtMs } }: GwError, { clock }: Pick<Context, 'clock'>): number =>
  retryAtMs === undefined ? 15_000 : Math.max(1_000, retryAtMs - clock.now());

export const under = (name: string, error: unknown): unknown =>
  error instanceof GwError ? error.told({}, `${name}: ${error.message}`) : error;

/** Labels bars with the row's key instead of the task ID. */
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
