import { GwError } from '../../errors.ts';
import type { TaskFamily, TaskView } from '../../gateway/task.ts';
import type { Job } from '../../ledger/event.ts';
import type { FollowDeps, JobDeps } from './follow.ts';
import { recordLook, type SeenTask, seenInLedger, type TaskLook, youngUntilMs } from './look.ts';
import type { LookOptions } from './looker.ts';

export type Look = Pick<SeenTask, 'view'>;

export interface PollOptions<L extends Look> extends Pick<JobDeps, 'clock' | 'random' | 'signal'> {
  /** Asks once, until the signal ends it. Its errors are judged here, so it must not retry by itself. */
  readonly look: (signal: AbortSignal) => Promise<L>;
  readonly intervalMs: { readonly min: number; readonly max: number };
  /** How many times sooner the gateway may be asked than `intervalMs` says: a sandbox's speed. */
  readonly speed?: (() => number) | undefined;
  /** Steady milliseconds at which the wait ends; the job goes on. */
  readonly deadlineMs: number;
  readonly onUpdate: (look: L) => void | Promise<void>;
  /** A look failed, and the wait goes on. */
  readonly onTrouble: (error: GwError, failures: number) => void;
  readonly taskId: string;
  /** How long to wait before the first look; the pace's minimum when absent. */
  readonly firstDelayMs?: number | undefined;
  /** Steady milliseconds until when "not found" may only mean "not known yet". */
  readonly youngUntilMs?: number | undefined;
}

/** How many looks in a row may say "not found" before the task counts as unknown. */
const MAX_NOT_FOUND = 3;
/** How many more looks a finished task without an output gets. */
const MAX_WITHOUT_OUTPUT = 3;
/** How long the look after the end of the wait may take. */
const LAST_LOOK_MS = 2_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** A gateway that has not answered this often and this long is gone; the job stays in the ledger. */
export const MAX_FAILURES = 20;
export const MAX_FAILING_MS = 15 * 60_000;

/**
 * Looks at a task until it is finished. A failed look does not end the wait; 401 and 403 do, 404 after three in a row
 * of a task that is no longer young.
 * Throws `wait_timeout` at the deadline, the fatal error of a look, or the signal's reason.
 */
export async function poll<L extends Look>(options: PollOptions<L>): Promise<L> {
  const { clock, deadlineMs, signal, taskId } = options;
  const startedMs = clock.steady();
  let notFound = 0;
  let withoutOutput = 0;
  let failures = 0;
  let failingSinceMs: number | undefined;
  let waitMs = options.firstDelayMs ?? nextDelayMs(options, 0);
  for (;;) {
    if (clock.steady() + waitMs >= deadlineMs) {
      await clock.sleep(Math.max(0, deadlineMs - clock.steady()), signal);
      // One last look: a job that finished while we slept is not a timeout.
      const last = await lookWithin(LAST_LOOK_MS, options).catch(() => undefined);
      signal.throwIfAborted();
      if (!last || !finished(last.view)) throw waitOver(`task ${taskId}`, taskId);
      await options.onUpdate(last);
      return last;
    }
    await clock.sleep(waitMs, signal);
    const elapsedMs = clock.steady() - startedMs;
    let look: L;
    try {
      look = await lookWithin(deadlineMs - clock.steady(), options);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GwError)) throw error;
      waitMs = nextDelayMs(options, elapsedMs);
      const isYoung = clock.steady() < (options.youngUntilMs ?? 0);
      notFound = error.kind === 'not_found' ? notFound + 1 : 0;
      const isGone = notFound >= MAX_NOT_FOUND && !isYoung;
      if (error.kind === 'auth' || error.kind === 'wait_timeout' || isGone) throw error;
      failures += 1;
      failingSinceMs ??= clock.steady();
      if (failures >= MAX_FAILURES && clock.steady() - failingSinceMs >= MAX_FAILING_MS) throw error;
      options.onTrouble(error, failures);
      const retryAtMs = error.facts.retryAtMs;
      if (retryAtMs === undefined) continue;
      waitMs = Math.max(waitMs, retryAtMs - clock.now());
      if (clock.steady() + waitMs >= deadlineMs) throw waitOver(`task ${taskId}`, taskId, retryAtMs);
      continue;
    }
    // The first look may have told how fast the gateway is.
    waitMs = nextDelayMs(options, elapsedMs);
    notFound = 0;
    failures = 0;
    failingSinceMs = undefined;
    // Not a look's trouble: a record that cannot be written down ends the wait.
    await options.onUpdate(look);
    if (finished(look.view)) return look;
    if (look.view.state === 'succeeded') {
      withoutOutput += 1;
      if (withoutOutput > MAX_WITHOUT_OUTPUT) return look;
    }
  }
}

/** A look that the end of the wait ends too: a gateway that never answers must not hold it. */
async function lookWithin<L extends Look>(limitMs: number, options: PollOptions<L>): Promise<L> {
  const { signal, taskId } = options;
  const bound = new AbortController();
  const timer = setTimeout(
    () => bound.abort(waitOver(`task ${taskId}`, taskId)),
    Math.min(Math.max(limitMs, 1), LONGEST_TIMER_MS),
  );
  const interrupt = () => bound.abort(signal.reason);
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await options.look(bound.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', interrupt);
  }
}

/** Between two looks at a task that nobody waits for. */
const AGAIN_MS = 2_000;

/** A task that nobody waits for; `job` where the ledger knows it, `look` where it was just looked at. */
interface TaskNow {
  readonly id: string;
  readonly key: string;
  readonly family: TaskFamily;
  readonly job?: Job | undefined;
  readonly look?: TaskLook | undefined;
}

/**
 * Where a task stands now: what the ledger knows, where that is enough to save its outputs, else a look, which is written
 * down. One that succeeded and names no output yet is looked at again, as in a wait; so is a young one that is not found.
 */
export async function lookNow(
  { id, key, family, job, look: first }: TaskNow,
  asked: Pick<LookOptions, 'pool' | 'patienceMs'>,
  { clock, ledger, looker, signal }: Pick<FollowDeps, 'clock' | 'ledger' | 'looker' | 'signal'>,
): Promise<SeenTask> {
  const known = job && seenInLedger(job, family, clock.now());
  if (known) return known;
  const options = { ...asked, signal, retryNotFoundUntilMs: job && youngUntilMs(job, clock.now()) };
  let look = first ?? (await looker.look(id, options));
  for (let more = MAX_WITHOUT_OUTPUT; more > 0; more -= 1) {
    if (look.view.state !== 'succeeded' || finished(look.view)) break;
    await clock.sleep(AGAIN_MS, signal);
    look = await looker.look(id, options);
  }
  await recordLook(ledger, key, look, job?.status);
  return look;
}

const finished = (view: TaskView): boolean =>
  view.state === 'failed' ||
  (view.state === 'succeeded' && (view.outputs.length > 0 || view.hasNoFiles === true));

/** What a wait ends with where its time is over; `retryAtMs` where the gateway wants no question before. */
export function waitOver(what: string, taskId: string, retryAtMs?: number): GwError {
  const why =
    retryAtMs === undefined
      ? 'the wait is over'
      : `the gateway asks not to be asked before ${new Date(retryAtMs).toISOString()}, after the end of the wait`;
  return new GwError('wait_timeout', `${what} is not finished yet and ${why}`, { taskId, retryAtMs });
}

/** Shortest pause that a sandbox's speed leads to. */
const SHORTEST_MS = 50;

/** A time of the pace at a gateway that is so many times faster than the service. */
export const spedUp = (ms: number, speed: number): number =>
  speed > 1 ? Math.min(ms, Math.max(SHORTEST_MS, ms / speed)) : ms;

/**
 * The next pause: from the pace's minimum towards its maximum as the wait grows, with 10 % of jitter, so that many
 * waiters spread out.
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
