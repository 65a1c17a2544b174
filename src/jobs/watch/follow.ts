import { StillHeld } from '../../disk/other-gw.ts';
import { GwError } from '../../errors.ts';
import type { TaskUsage } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import type { Transport } from '../../http/exchange.ts';
import type { Progress } from '../../io/io.ts';
import type { SavedFile } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { isForgivable } from '../../ledger/write-error.ts';
import type { JobEvents } from '../job-events.ts';
import { OLD_AGE, printableRecord } from '../job-view.ts';
import type { Claims } from '../save/claims.ts';
import { type SaveJobInput as SaveInput, saveJob } from '../save/save-outputs.ts';
import { recordLook, type SeenTask, type TaskLook, taskFailed } from './look.ts';
import type { Looker } from './looker.ts';
import { type PollOptions, poll, spedUp } from './poll.ts';
import { createTurns, SAVES_AT_ONCE, sideBySide, type Turns } from './turns.ts';

/** What every operation on a job needs; it knows no command and draws nothing. */
export interface JobDeps {
  readonly client: Client;
  /** Identifies the client's API key; absent if it needs none. */
  readonly keyId?: string | undefined;
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** With `--events`: reports events as they happen. */
  readonly events?: JobEvents | undefined;
  readonly warn: (text: string) => void;
  /** Reports what gw is waiting for, also for a row of a batch. */
  readonly note: (text: string) => void;
  /** Timeout of a silent download. */
  readonly silenceMs: number;
  /** Limit for an output of unannounced length. */
  readonly mostBytes?: number | undefined;
  /** Decides what --force may replace in this command. */
  readonly claims: Claims;
}

/** What following a task needs. */
export interface FollowDeps extends JobDeps {
  /** The looker of the job's family and gateway, which all followed jobs share. */
  readonly looker: Looker;
  /** With many jobs: the order in which outputs are saved, and how many at once. */
  readonly turns?: Turns | undefined;
  /** Called when a query failed `failures` times in a row and the wait continues; by default prints a progress line. */
  readonly onTrouble?: ((id: string, error: GwError, failures: number) => void) | undefined;
}

export interface FollowInput
  extends Pick<SaveInput, 'key' | 'id' | 'family' | 'save' | 'pool'>,
    Pick<PollOptions<TaskLook>, 'intervalMs' | 'speed' | 'deadlineMs' | 'firstDelayMs' | 'youngUntilMs'> {
  /** The gateway's last known status, shown until the first query. */
  readonly status?: string | undefined;
  /** Set if the ledger says that it succeeded: outputs with valid links are saved without a query. */
  readonly succeeded?: { readonly seen: SeenTask | undefined } | undefined;
  readonly estimateMs?: number | undefined;
  /** A query that was just made: it counts as the first, and is not repeated. */
  readonly firstLook?: TaskLook | undefined;
}

/** Share of the poll interval that a query may wait for others to share its request. */
const PATIENCE = 0.2;

/** The state of a job when gw is done with it, and the error if something failed. */
export interface Followed {
  readonly status: string;
  readonly record: unknown;
  readonly files: readonly SavedFile[];
  /** True if another process is saving the outputs, or has done so meanwhile. */
  readonly isElsewhere?: boolean | undefined;
  /** Output length and cost of a job that succeeded. */
  readonly usage?: TaskUsage | undefined;
  readonly error?: unknown;
}

/** Polls a job to its end, records the final record, and saves its outputs. Never throws: failures are in `error`. */
async function followJob(input: FollowInput, deps: FollowDeps): Promise<Followed> {
  const { id } = input;
  const { clock, looker, progress, signal } = deps;
  const unfollow = looker.follow(id);
  const startedMs = clock.steady();
  let strange: string | undefined;
  let last: TaskLook | undefined;
  const show = (status: string, percent?: number) =>
    progress.task({
      id,
      status,
      elapsedMs: clock.steady() - startedMs,
      percent,
      estimateMs: input.estimateMs,
    });
  const firstLooks = [input.firstLook];
  if (input.status !== undefined && !input.succeeded) show(input.status);
  try {
    const known = input.succeeded?.seen;
    if (known) {
      unfollow();
      return await endOf(known, input, deps);
    }
    const look = await poll({
      ...input,
      clock,
      random: deps.random,
      signal,
      taskId: id,
      look: async (bounded) =>
        firstLooks.pop() ??
        looker.look(id, {
          signal: bounded,
          retries: 0,
          pool: input.pool,
          deadlineMs: input.deadlineMs,
          patienceMs: spedUp(input.intervalMs.max, input.speed?.() ?? 1) * PATIENCE,
        }),
      onUpdate: async (seen) => {
        const { status, statusKnown, progressPercent } = seen.view;
        if (!statusKnown && status !== strange) {
          strange = status;
          const what = status === 'running' ? 'no status' : `unknown status "${status}"`;
          deps.warn(`task ${id}: ${what}, taken as still running`);
        }
        show(status, progressPercent);
        // A status that the ledger already has is not written again.
        await record(seen, last?.view.status ?? input.status, input, deps);
        last = seen;
      },
      onTrouble: (error, failures) => {
        if (deps.onTrouble) deps.onTrouble(id, error, failures);
        else if (failures === 1) progress.line(`task ${id}: ${error.message}; still waiting`);
      },
    });
    unfollow();
    return await endOf(look, { ...input, ranHere: true }, deps);
  } catch (error) {
    const seen = last && { status: last.view.status, record: printableRecord(last) };
    const ended = input.succeeded ? unsavedError(error, id) : error;
    return { status: input.status ?? '', record: undefined, ...seen, files: [], error: ended };
  } finally {
    unfollow();
    progress.stop();
  }
}

/** Records a query's result. If the disk fails, the next run sees the end itself, and saving reports the error. */
async function record(
  seen: TaskLook,
  status: string | undefined,
  { key, save }: FollowInput,
  { ledger, warn }: FollowDeps,
): Promise<void> {
  try {
    await recordLook(ledger, key, seen, status);
  } catch (error) {
    const isRunning = seen.view.state === 'running';
    if (!isForgivable(error) && !(isRunning && error instanceof GwError)) throw error;
    if (isRunning) warn(`${error.message}; still waiting`);
    else if (seen.view.state === 'failed' || !save.download) warn(error.message);
  }
}

/** Handles the result of a finished task: saves the outputs, or says why not. Never throws: failures are in `error`. */
export async function endOf(look: SeenTask, input: SaveInput, deps: FollowDeps): Promise<Followed> {
  const { view } = look;
  const seen = { status: view.status, record: printableRecord(look), files: [] };
  if (view.state === 'failed') return { ...seen, error: taskFailed(look.view) };
  const { usage } = view;
  if (!input.save.download) return { ...seen, usage };
  const save = () => saveJob(look, input, deps);
  const [first] = view.outputs;
  if (deps.turns && first) {
    const name = first.role === first.type ? input.id : `${input.id} ${first.role}`;
    deps.progress.download({ name, bytes: 0, totalBytes: undefined, isWaiting: true });
  }
  const { linkLifeMs } = input.family;
  const { seenAtMs = deps.clock.now() } = look;
  const urgentFromMs = seenAtMs + linkLifeMs * OLD_AGE;
  try {
    const saved = await (deps.turns ? deps.turns.take(seenAtMs + linkLifeMs, save, urgentFromMs) : save());
    const { files, errors, record: last, isElsewhere } = saved;
    const [error] = errors;
    return { ...seen, record: last, files, isElsewhere, usage, ...(error !== undefined && { error }) };
  } catch (error) {
    return { ...seen, error };
  }
}

/** The error if the wait was only for the output of a task that had already succeeded. */
function unsavedError(error: unknown, taskId: string): unknown {
  if (!(error instanceof GwError) || error.kind !== 'wait_timeout' || error instanceof StillHeld)
    return error;
  const message = `task ${taskId} succeeded, but the gateway named no live link to its output within the wait`;
  return new GwError('download', message, { taskId, retryAtMs: error.facts.retryAtMs });
}

/** An outage concerns every job, so at most one line per this interval reports it. */
const TROUBLE_EVERY_MS = 30_000;

/**
 * Follows many jobs at once, each to its end. The lookers in `deps` share and pace the queries. A few outputs are saved
 * at a time, starting with those whose links expire soonest. Yields each job as it ends; failures are in its `error`.
 * `depsOf` is called once per job; jobs of one gateway and family must get the same looker.
 */
export async function* followMany<I extends FollowInput>(
  inputs: readonly I[],
  depsOf: (input: I) => FollowDeps | Promise<FollowDeps>,
  signal: AbortSignal,
): AsyncGenerator<{ readonly input: I; readonly followed: Followed }> {
  const turns = createTurns(SAVES_AT_ONCE);
  const onTrouble = inputs.length > 1 ? tellSeldom() : undefined;
  yield* sideBySide(inputs, signal, async (input, child) => {
    try {
      const deps = await depsOf(input);
      const own = { ...deps, turns: deps.turns ?? turns, signal: child, onTrouble: onTrouble?.(deps) };
      return { input, followed: await followJob(input, own) };
    } catch (error) {
      return { input, followed: { status: input.status ?? '', record: undefined, files: [], error } };
    }
  });
}

/** Reports failed queries once for all jobs together. */
function tellSeldom() {
  let toldMs = Number.NEGATIVE_INFINITY;
  return ({ clock, progress }: FollowDeps) =>
    (id: string, error: GwError): void => {
      if (clock.steady() - toldMs < TROUBLE_EVERY_MS) return;
      toldMs = clock.steady();
      progress.line(`task ${id}: ${error.message}; still waiting`);
    };
}
