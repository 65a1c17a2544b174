import { StillHeld } from '../../disk/other-gw.ts';
import { GwError } from '../../errors.ts';
import { type TaskUsage, YOUNG_MS } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import type { Transport } from '../../http/exchange.ts';
import type { Progress } from '../../io/io.ts';
import type { SavedFile } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { notAhead } from '../gateway-clock.ts';
import type { JobEvents } from '../job-events.ts';
import { OLD_AGE, printableRecord } from '../job-view.ts';
import type { Claims } from '../save/claims.ts';
import { type SaveJobInput as SaveInput, saveJob } from '../save/save-outputs.ts';
import { recordLook, type SeenTask, type TaskLook, taskFailed } from './look.ts';
import type { Looker } from './looker.ts';
import { poll, spedUp } from './poll.ts';
import { asTheyEnd, childSignals, createTurns, SAVES_AT_ONCE, type Turns } from './turns.ts';

/** What every job needs to be worked on; it knows no command and draws nothing. */
export interface JobDeps {
  readonly client: Client;
  /** Of the key that the client uses; absent where it needs none. */
  readonly keyId?: string | undefined;
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** With `--events`: what is told as it happens. */
  readonly events?: JobEvents | undefined;
  readonly warn: (text: string) => void;
  /** Tells what is waited for, also of a row of a batch. */
  readonly note: (text: string) => void;
  /** Longest silence of a download. */
  readonly silenceMs: number;
  /** Of an output of unannounced length. */
  readonly mostBytes?: number | undefined;
  /** What --force may replace in this command. */
  readonly claims?: Claims | undefined;
}

/** What following a task needs. */
export interface FollowDeps extends JobDeps {
  /** Of the job's family and gateway; shared by all that are followed. */
  readonly looker: Looker;
  /** Where many jobs are followed: whose outputs are saved first, and how many at once. */
  readonly turns?: Turns | undefined;
  /** A look failed for the nth time in a row, and the wait goes on; a line of progress when absent. */
  readonly onTrouble?: ((id: string, error: GwError, failures: number) => void) | undefined;
}

export interface FollowInput extends Pick<SaveInput, 'key' | 'id' | 'family' | 'save' | 'pool'> {
  readonly intervalMs: { readonly min: number; readonly max: number };
  /** As in `poll`. */
  readonly speed?: (() => number) | undefined;
  /** Steady milliseconds at which the wait ends. */
  readonly deadlineMs: number;
  readonly firstDelayMs?: number | undefined;
  /** When the gateway took it, Unix milliseconds: a task just created may not be known everywhere yet. */
  readonly acceptedAtMs?: number | undefined;
  /** The gateway's word so far, shown until the first look. */
  readonly status?: string | undefined;
  /** Set where the ledger knows that it has succeeded: its live outputs are saved without a look. */
  readonly succeeded?: { readonly seen: SeenTask | undefined } | undefined;
  readonly estimateMs?: number | undefined;
  /** A look that was just made: it is the first one, and the gateway is not asked again for it. */
  readonly firstLook?: TaskLook | undefined;
}

/** How much of the pace a look may spend on waiting for others to share its request. */
const PATIENCE = 0.2;

/** Where a job stands when gw is done with it, and what went wrong, if anything. */
export interface Followed {
  readonly status: string;
  readonly record: unknown;
  readonly files: readonly SavedFile[];
  /** Another process is saving the outputs, or has done so meanwhile. */
  readonly isElsewhere?: boolean | undefined;
  /** What a job that succeeded made and cost. */
  readonly usage?: TaskUsage | undefined;
  readonly error?: unknown;
}

/** Polls a job to its end, keeps the final record, and saves its outputs. Never throws: what failed is in `error`. */
export async function followJob(input: FollowInput, deps: FollowDeps): Promise<Followed> {
  const { id, acceptedAtMs } = input;
  const { clock, looker, progress, signal } = deps;
  const unfollow = looker.follow(id);
  const startedMs = clock.steady();
  // What the ledger already says is not written down again.
  let { status } = input;
  let strange: string | undefined;
  let last: TaskLook | undefined;
  const show = (word: string, percent?: number) =>
    progress.task({
      id,
      status: word || 'running',
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
      youngUntilMs:
        acceptedAtMs === undefined
          ? undefined
          : startedMs + (notAhead(acceptedAtMs, clock.now()) + YOUNG_MS - clock.now()),
      onUpdate: async (seen) => {
        if (!seen.view.statusKnown && seen.view.status !== strange) {
          strange = seen.view.status;
          deps.warn(`task ${id}: unknown status "${seen.view.status}", taken as still running`);
        }
        show(seen.view.status, seen.view.progressPercent);
        await record(seen, status, input, deps);
        status = seen.view.status;
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

/** Writes a look down; without room for it, the next run sees the end, and what is saved says so itself. */
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
    if (!(error instanceof GwError) || !(isRunning || error.kind === 'download')) throw error;
    if (isRunning) warn(`${error.message}; still waiting`);
    else if (seen.view.state === 'failed' || !save.download) warn(error.message);
  }
}

/** What a finished look leads to: the outputs saved, or why they are not. Never throws: what failed is in `error`. */
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
  const diesAtMs = seenAtMs + linkLifeMs;
  const urgentFromMs = seenAtMs + linkLifeMs * OLD_AGE;
  try {
    const saved = await (deps.turns ? deps.turns.take(diesAtMs, save, urgentFromMs) : save());
    const { files, errors, record: last, isElsewhere } = saved;
    const [error] = errors;
    return { ...seen, record: last, files, isElsewhere, usage, ...(error !== undefined && { error }) };
  } catch (error) {
    return { ...seen, error };
  }
}

/** The wait for a task that had succeeded before was for its output only. */
function unsavedError(error: unknown, taskId: string): unknown {
  if (!(error instanceof GwError) || error.kind !== 'wait_timeout' || error instanceof StillHeld)
    return error;
  const message = `task ${taskId} succeeded, but the gateway named no live link to its output within the wait`;
  return new GwError('download', message, { taskId, retryAtMs: error.facts.retryAtMs });
}

/** An outage concerns every job; one line in this time tells of it. */
const TROUBLE_EVERY_MS = 30_000;

/**
 * Follows many jobs at once, each to its end: looks are shared and paced by the lookers in `deps`, outputs are saved a
 * few at a time, those first whose links die soonest. Yields each job as it ends; what failed is in its `error`.
 * `depsOf` is asked once a job; jobs of one gateway and family must be given the same looker.
 */
export async function* followMany<I extends FollowInput>(
  inputs: readonly I[],
  depsOf: (input: I) => FollowDeps | Promise<FollowDeps>,
  signal: AbortSignal,
): AsyncGenerator<{ readonly input: I; readonly followed: Followed }> {
  const turns = createTurns(SAVES_AT_ONCE);
  const children = childSignals(signal);
  const onTrouble = inputs.length > 1 ? tellSeldom() : undefined;
  const follow = async (input: I) => {
    const child = children.open();
    try {
      const deps = await depsOf(input);
      const own = {
        ...deps,
        turns: deps.turns ?? turns,
        signal: child.signal,
        ...(onTrouble && { onTrouble: onTrouble(deps) }),
      };
      return { input, followed: await followJob(input, own) };
    } catch (error) {
      return { input, followed: { status: input.status ?? '', record: undefined, files: [], error } };
    } finally {
      child.close();
    }
  };
  try {
    yield* asTheyEnd(inputs.map(follow));
  } finally {
    children.close();
  }
}

/** Tells of failed looks once for all jobs, not once for each. */
function tellSeldom() {
  let toldMs = Number.NEGATIVE_INFINITY;
  return ({ clock, progress }: FollowDeps) =>
    (id: string, error: GwError): void => {
      if (clock.steady() - toldMs < TROUBLE_EVERY_MS) return;
      toldMs = clock.steady();
      progress.line(`task ${id}: ${error.message}; still waiting`);
    };
}
