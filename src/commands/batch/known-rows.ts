import * as fs from 'node:fs';
import * as path from 'node:path';
import { digestOfRow } from '../../batch/rows.ts';
import type { Context } from '../../context.ts';
import { familyNames, loadFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import { attemptOf } from '../../jobs/create/once.ts';
import { madeNothing } from '../../jobs/create/standing.ts';
import { seenAtMs } from '../../jobs/gateway-clock.ts';
import { nowOf, OLD_AGE, stateNow, statusWord } from '../../jobs/job-view.ts';
import { namingOf } from '../../jobs/save/output-path.ts';
import { outputPlace } from '../../jobs/save/save-outputs.ts';
import { outputsBySize, type SavedOutputs } from '../../jobs/save/saved.ts';
import type { Job, JobState } from '../../ledger/event.ts';
import { onceJobKey, originOfGateway } from '../../ledger/job-key.ts';
import { loadSettled, taskOf } from '../../ledger/settled.ts';
import { madeFromRows } from '../../shots/row-outputs.ts';
import { currentOrigin } from '../once.ts';
import type { RowResult } from './report.ts';

/** The state of a row's job by the ledger alone. */
type RowState = 'saved' | 'running' | 'unsaved' | 'failed' | 'unknown';

export interface KnownRow {
  readonly state: RowState;
  readonly family: string;
  /** gw's own key of the job; absent if another machine reported it. */
  readonly jobKey?: string;
  /** The task's ID, or gw's own, also of a task that another gw is sending. */
  readonly id: string;
  /** The status as `jobs list` shows it; also `running` if another gw is sending it. */
  readonly status: string;
  readonly files: RowResult['files'];
  /** Every file that it was saved as, copies too; absent if another machine reported it. */
  readonly recorded?: RowResult['files'];
  /** With --force: the path that each file would have got if no other file had had its name. */
  readonly firsts?: readonly string[] | undefined;
  /** The gateway's reason for a failure or an unknown outcome; absent if it gave none. */
  readonly reason?: string | undefined;
  /** The rows whose outputs it was made from, each with its job at that time. */
  readonly from?: readonly { readonly row: string; readonly id: string }[] | undefined;
  /** The attempt under its key, from 1. */
  readonly attempt: number;
  /** The time from which its outputs must be saved soon, in Unix milliseconds; absent if no output is unsaved. */
  readonly urgentFromMs?: number | undefined;
  /** JSON: a digest of each sent field by its path; absent if it is not known. */
  readonly fields?: string | undefined;
}

/** True if a row is paid for and its outputs are not saved yet. */
export const isOpen = (known: KnownRow | undefined): known is KnownRow =>
  known?.state === 'running' || known?.state === 'unsaved';

/** A short digest of each field of a body, by its path. */
export type Fields = Readonly<Record<string, string>>;

/** Together with the endpoint, this digest tells whether two creates make the same request, whatever their keys. */
export const digestOfFields = (fields: Fields, endpoint?: string): string => digestOfRow([endpoint, fields]);

/** A request made longer ago is probably repeated on purpose. */
const MADE_LATELY_MS = 30 * 24 * 3_600_000;

/**
 * Finds the rows of a batch that were made before at the current gateway, with the last attempt of each. Recent jobs of
 * any key are added to `lately` (request digest to key), and to `refusals` the reason why the last create of a key made
 * nothing. Rows that a queue reported as saved are included, and `elsewhere` holds the keys of other rows handed to it,
 * which may be created there at any time.
 */
export async function knownRows(
  name: string,
  ctx: Context,
  {
    lately = new Map<string, string>(),
    refusals = new Map<string, string | undefined>(),
    force = false,
  } = {},
) {
  const origin = await currentOrigin(ctx);
  const isSettled = await loadSettled();
  const loaded = await Promise.all(familyNames.map(loadFamily));
  const families = new Map<string, Family>(loaded.map((family) => [family.name, family]));
  let hasDamaged = false;
  const found = new (class extends Map<string, KnownRow> {
    // If a job's ledger lines are damaged, only gw's own key of it may be known.
    override get(key: string) {
      return super.get(key) ?? (hasDamaged ? super.get(onceJobKey(origin, key)) : undefined);
    }
  })();
  const ledger = await ctx.ledger();
  for await (const listed of ledger.each()) {
    const job = await nowOf(listed, ledger);
    const { gateway, id, key, family, createdAtMs, isDamaged } = job;
    const { once = isDamaged && { key, fields: {} } } = job;
    if (!once || (!isDamaged && originOfGateway(gateway) !== origin)) continue;
    const now = stateNow(job);
    if (madeNothing(job) || now === 'not_sent') {
      refusals.set(once.key, job.message);
      continue;
    }
    // A job that was paid for, may have been, or is being sent.
    const isMade = !['refused', 'failed', 'lost'].includes(job.state);
    if (!isDamaged && isMade && createdAtMs > ctx.clock.now() - MADE_LATELY_MS)
      lately.set(digestOfFields(once.fields, job.endpoint), once.key);
    if (once.key !== key && !once.key.startsWith(`${name}/`)) continue;
    const attempt = attemptOf(job);
    if ((found.get(once.key)?.attempt ?? 0) > attempt) continue;
    const of = families.get(family);
    const outputs = outputsBySize(job, of);
    const state = stateOf(job, now, outputs, isSettled);
    // Outputs that came in the reply have no link that expires.
    const hasLink = of !== undefined && taskOf(job, of)?.outputs.length !== 0;
    const urgentFromMs =
      state === 'unsaved' && hasLink ? seenAtMs(job, ctx.clock.now()) + of.linkLifeMs * OLD_AGE : undefined;
    hasDamaged ||= isDamaged === true;
    found.set(once.key, {
      state,
      urgentFromMs,
      family,
      jobKey: key,
      id: id ?? key,
      status: statusWord(job),
      ...(!isDamaged && { fields: JSON.stringify(once.fields) }),
      from: madeFromRows(job),
      attempt,
      reason: of && (state === 'failed' || state === 'unknown') ? reasonOf(job, of) : undefined,
      files: outputs.files,
      recorded: job.files,
      firsts: force && of ? firstPaths(job, of, outputs) : undefined,
    });
  }
  const known: Map<string, KnownRow> = found;
  if (force) leaveBeside(known);
  const elsewhere = new Set<string>();
  const { Memory } = await import('../machines/memory.ts');
  for (const [key, { saved, attempt: made = 0, fields: sent }] of (await Memory.open(name, ctx)).rows) {
    const { state = 'failed', attempt: before = 0 } = known.get(key) ?? {};
    if (state !== 'failed' && made <= before) continue;
    if (saved) {
      const fields = sent && JSON.stringify(sent);
      known.set(key, { ...saved, id: saved.id ?? '', state: 'saved', fields, attempt: made || before + 1 });
    } else elsewhere.add(key);
  }
  return { known, elsewhere };
}

/** With --force, a row that took the next name is open again, unless the first one is an output of the batch. */
function leaveBeside(known: Map<string, KnownRow>): void {
  const own = new Set([...known.values()].flatMap(({ recorded = [] }) => recorded.map(({ path }) => path)));
  for (const [key, row] of known) {
    const { state, firsts = [] } = row;
    if (state === 'saved' && firsts.some((first) => !own.has(first) && fs.existsSync(first)))
      known.set(key, { ...row, state: 'unsaved' });
  }
}

/** The path that each file of a job would have got if no other file had had its name. */
function firstPaths(job: Job, family: Family, { files }: SavedOutputs): string[] {
  const { outputs = [], made } = taskOf(job, family) ?? {};
  return files.flatMap((file) => {
    const at = outputs.findIndex(({ role }) => role === file.role);
    const output = outputs[at];
    if (!output) return [];
    const { dir, name } = outputPlace(job.save, { ...namingOf(job), made }, output, at);
    return [path.join(dir, name(path.extname(file.path).slice(1), 0))];
  });
}

function reasonOf(job: Job, family: Family): string | undefined {
  const { code, message } = taskOf(job, family)?.error ?? {};
  return [code, message].filter(Boolean).join(': ') || job.message;
}

type Settled = Awaited<ReturnType<typeof loadSettled>>;

function stateOf(job: Job, now: JobState, { missing }: SavedOutputs, isSettled: Settled): RowState {
  if (now === 'succeeded' && job.save.download && missing.length > 0) return 'unsaved';
  if (now === 'succeeded') return job.isDamaged || isSettled(job) ? 'saved' : 'unsaved';
  if (now === 'unknown') return 'unknown';
  return now === 'running' || now === 'intent' || now === 'sent' ? 'running' : 'failed';
}

/** True if a job belongs to the row's attempt on the queue, and not to an earlier one. */
export const isWanted = (
  job: Job | undefined,
  { wanted = 1 }: { readonly wanted?: number | undefined },
): job is Job => job !== undefined && attemptOf(job) >= wanted;
