import { type ErrorKind, GwError } from '../../errors.ts';
import type { TaskFamily, TaskView } from '../../gateway/task.ts';
import { BEAT_MS, sleepAloud } from '../../host.ts';
import type { Job } from '../../ledger/event.ts';
import type { FollowDeps, JobDeps } from './follow.ts';
import { recordLook, type SeenTask, seenInLedger, type TaskLook } from './look.ts';
import type { LookerOptions, LookOptions } from './looker.ts';

/** A look that the end of a wait shortens still has this long for its answer. */
export const LAST_LOOK_MS = 2_000;

export type Look = Pick<SeenTask, 'view'>;

export interface PollOptions<L> extends Pick<JobDeps, 'clock' | 'random' | 'signal'> {
  /** Queries once, until the signal ends it. Errors are handled here, so it must not retry by itself. */
  readonly look: (signal: AbortSignal) => Promise<L>;
  /** The error of a query that answered only in part. */
  readonly failureOf?: ((look: L) => GwError | undefined) | undefined;
  readonly intervalMs: { readonly min: number; readonly max: number };
  /** How many times more often than `intervalMs` the gateway may be queried: a sandbox's speed. */
  readonly speed?: (() => number) | undefined;
  /** Steady time in ms at which the wait ends; the job continues. */
  readonly deadlineMs: number;
  /** Called when a query failed and the wait continues. */
  readonly onTrouble: (error: GwError, failures: number) => void;
  readonly taskId: string;
  /** Delay before the first query; by default the minimum interval. */
  readonly firstDelayMs?: number | undefined;
  /** Until this steady time in ms, "not found" may only mean "not known yet". */
  readonly youngUntilMs?: number | undefined;
}

/** A refused query ends the wait, because the same query would be refused again (promises, section 2). */
export const refusals: ReadonlySet<ErrorKind> = new Set(['auth', 'balance', 'rejected']);
/** After this many "not found" answers in a row the task counts as unknown. */
const MAX_NOT_FOUND = 3;
/** How many more times a succeeded task without an output is queried. */
const MAX_WITHOUT_OUTPUT = 3;
/** Longest delay that a timer allows. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** After this many failures over this time the wait ends; the job stays in the ledger. */
const MAX_FAILURES = 20;
const MAX_FAILING_MS = 15 * 60_000;

/**
 * Queries until the caller stops, and yields each answer. A failed query does not end the wait, except for a refusal,
 * and for three 404 in a row if the task is no longer new. Throws `wait_timeout` at the deadline, after one last query,
 * because what finished while gw slept must not count as timed out; the fatal error of a query; or the signal's reason.
 */
export async function* looks<L>(options: PollOptions<L>): AsyncGenerator<L, never> {
  const { clock, deadlineMs, failureOf, signal, taskId, youngUntilMs = 0 } = options;
  const startedMs = clock.steady();
  let notFound = 0;
  let failures = 0;
  let failingSinceMs = startedMs;
  let waitMs = options.firstDelayMs ?? nextDelayMs(options, 0);
  for (;;) {
    const restMs = Math.max(0, deadlineMs - clock.steady());
    await clock.sleep(Math.min(waitMs, restMs), signal);
    const elapsedMs = clock.steady() - startedMs;
    let look: L | undefined;
    let error: GwError | undefined;
    try {
      look = await lookWithin(options);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof GwError)) throw thrown;
      error = thrown;
    }
    // The first query may have shown the gateway's speed.
    const pauseMs = nextDelayMs(options, elapsedMs);
    if (look !== undefined) {
      yield look;
      error = failureOf?.(look);
    }
    const retryAtMs = error?.facts.retryAtMs;
    const toldMs = retryAtMs === undefined ? 0 : retryAtMs - clock.now();
    notFound = error?.kind === 'not_found' ? notFound + 1 : 0;
    failures = error ? failures + 1 : 0;
    if (failures === 1) failingSinceMs = clock.steady();
    if (error) {
      const isGone = notFound >= MAX_NOT_FOUND && clock.steady() >= youngUntilMs;
      const isLong = failures >= MAX_FAILURES && clock.steady() - failingSinceMs >= MAX_FAILING_MS;
      if (refusals.has(error.kind) || error.kind === 'wait_timeout' || isGone) throw error;
      if (isLong && look === undefined) throw error;
    }
    if (waitMs >= restMs || clock.steady() + toldMs >= deadlineMs)
      throw waitOver(`task ${taskId}`, taskId, retryAtMs);
    if (error) options.onTrouble(error, failures);
    waitMs = Math.max(pauseMs, toldMs);
  }
}

/**
 * Queries a task until it is finished, and calls `onUpdate` with each answer. An error of `onUpdate` is not a failed
 * query: if the record cannot be written, the wait ends. Throws as {@link looks}.
 */
export async function poll<L extends Look>(
  options: PollOptions<L> & { readonly onUpdate: (look: L) => void | Promise<void> },
): Promise<L> {
  let withoutOutput = 0;
  for await (const look of looks(options)) {
    await options.onUpdate(look);
    if (look.view.state === 'succeeded') withoutOutput += 1;
    if (finished(look.view) || withoutOutput > MAX_WITHOUT_OUTPUT) return look;
  }
  throw new Error('a wait ends with a look or an error');
}

/**
 * A query that also ends with the wait, so that a gateway which never answers, or which asks for a longer pause, cannot
 * prolong it.
 */
export async function lookWithin<L>(
  options: Pick<PollOptions<L>, 'clock' | 'deadlineMs' | 'look' | 'signal' | 'taskId'>,
): Promise<L> {
  const { clock, deadlineMs, signal, taskId } = options;
  const limitMs = Math.max(LAST_LOOK_MS, deadlineMs - clock.steady());
  const over = (retryAtMs?: number) => waitOver(`task ${taskId}`, taskId, retryAtMs);
  const bound = new AbortController();
  const timer = setTimeout(() => bound.abort(over()), Math.min(limitMs, LONGEST_TIMER_MS));
  const interrupt = () => bound.abort(signal.reason);
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await options.look(bound.signal);
  } catch (error) {
    const { retryAtMs } = error instanceof GwError && !refusals.has(error.kind) ? error.facts : {};
    throw retryAtMs !== undefined && clock.steady() + retryAtMs - clock.now() >= deadlineMs
      ? over(retryAtMs)
      : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', interrupt);
  }
}

/** How long to wait before a task that is not known yet is queried again. */
const YOUNG_PAUSE_MS = 2_000;

/**
 * Queries a task, and again while "not found" may only mean "not known yet": until the steady times `youngUntilMs` and
 * `deadlineMs` in ms, and not under `--retries 0`. Throws what the query throws, or the signal's reason.
 */
export async function whileYoung<T>(
  query: () => Promise<T>,
  options: Pick<LookerOptions, 'client' | 'clock' | 'note'> &
    Pick<LookOptions, 'signal' | 'deadlineMs'> &
    Pick<PollOptions<T>, 'youngUntilMs'>,
): Promise<T> {
  const { client, clock, note, signal, youngUntilMs = 0, deadlineMs = youngUntilMs } = options;
  for (let toldMs = clock.steady(); ; ) {
    try {
      return await query();
    } catch (error) {
      if (!(error instanceof GwError) || error.kind !== 'not_found' || client.retries === 0) throw error;
      const pauseMs = Math.max(YOUNG_PAUSE_MS, (error.facts.retryAtMs ?? 0) - clock.now());
      if (clock.steady() + pauseMs > Math.min(youngUntilMs, deadlineMs)) throw error;
      await sleepAloud(clock, pauseMs, signal, () => {
        if (clock.steady() + pauseMs - toldMs < BEAT_MS) return;
        note?.('the gateway does not know the new task yet; looking for it again');
        toldMs = clock.steady();
      });
    }
  }
}

/** A task, with gw's own key; `job` if the ledger knows it, `look` if it was just queried. */
export interface TaskNow {
  readonly id: string;
  readonly key: string;
  readonly family: TaskFamily;
  readonly job?: Job | undefined;
  readonly look?: TaskLook | undefined;
}

/**
 * The current state of a task: from the ledger, if that is enough to save its outputs, else from a query, which is
 * recorded. A succeeded task without an output is queried again, as in a wait; so is a new one that is not found.
 */
export async function lookNow(
  { id, key, family, job, look: first }: TaskNow,
  asked: Pick<LookOptions, 'pool' | 'patienceMs'>,
  { clock, ledger, looker, signal }: Pick<FollowDeps, 'clock' | 'ledger' | 'looker' | 'signal'>,
): Promise<SeenTask> {
  const known = job && seenInLedger(job, family, clock.now());
  if (known) return known;
  const options = { ...asked, signal, job };
  let look = first ?? (await looker.look(id, options));
  for (let more = MAX_WITHOUT_OUTPUT; more > 0; more -= 1) {
    if (look.view.state !== 'succeeded' || finished(look.view)) break;
    await clock.sleep(2_000, signal);
    look = await looker.look(id, options);
  }
  await recordLook(ledger, key, look, job?.status);
  return look;
}

const finished = (view: TaskView): boolean =>
  view.state === 'failed' ||
  (view.state === 'succeeded' && (view.outputs.length > 0 || view.hasNoFiles === true));

/** The error when a wait times out; `retryAtMs` if the gateway wants no request before then. */
export function waitOver(what: string, taskId: string, retryAtMs?: number): GwError {
  const why =
    retryAtMs === undefined
      ? 'the wait is over'
      : `the gateway asks not to be asked before ${new Date(retryAtMs).toISOString()}, after the end of the wait`;
  return new GwError('wait_timeout', `${what} is not finished yet and ${why}`, { taskId, retryAtMs });
}

/** A time of the poll interval at a gateway that is `speed` times faster than the service. */
export const spedUp = (ms: number, speed: number): number =>
  speed > 1 ? Math.min(ms, Math.max(50, ms / speed)) : ms;

/**
 * The next interval: it grows from the minimum to the maximum during the wait, with 10 % jitter, so that many waiting
 * processes spread out.
 */
export function nextDelayMs(
  { intervalMs, random, speed = () => 1 }: Pick<PollOptions<Look>, 'intervalMs' | 'random' | 'speed'>,
  elapsedMs: number,
) {
  const min = spedUp(intervalMs.min, speed());
  const max = spedUp(intervalMs.max, speed());
  const base = Math.min(max, Math.max(min, elapsedMs / 10));
  return Math.min(Math.max(max, min), Math.max(min, base * (1 + 0.1 * random())));
}
