import { GwError } from '../errors.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { Clock } from '../host.ts';
import type { Client } from '../http/client.ts';
import type { Transport } from '../http/exchange.ts';
import type { Progress } from '../io/io.ts';
import type { SavedFile, SavePlan } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { lookAtTask, recordLook, type TaskLook } from './look.ts';
import { poll } from './poll.ts';
import { saveJob } from './save-job.ts';

/** What following a job needs; it knows no command and draws nothing. */
export interface FollowDeps {
  readonly client: Client;
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly warn: (text: string) => void;
  /** Longest silence of a download. */
  readonly silenceMs: number;
}

export interface FollowInput {
  readonly key: string;
  readonly id: string;
  readonly family: TaskFamily;
  readonly intervalMs: { readonly min: number; readonly max: number };
  /** Steady milliseconds at which the wait ends. */
  readonly deadlineMs: number;
  readonly firstDelayMs?: number | undefined;
  /** The gateway's word so far, shown until the first look. */
  readonly status?: string | undefined;
  readonly estimateMs?: number | undefined;
  /** Where the outputs go; nothing is saved where `download` is false. */
  readonly save: SavePlan;
}

/** Where a job stands when gw is done with it, and what went wrong, if anything. */
export interface Followed {
  readonly status: string;
  readonly record: unknown;
  readonly files: readonly SavedFile[];
  readonly error?: unknown;
}

/** Polls a job to its end, keeps the final record, and saves its outputs. Never throws: what failed is in `error`. */
export async function followJob(input: FollowInput, deps: FollowDeps): Promise<Followed> {
  const { family, id, key } = input;
  const { clock, ledger, progress, signal } = deps;
  const startedMs = clock.steady();
  let status: string | undefined;
  let last: TaskLook | undefined;
  const show = (word: string, percent?: number) =>
    progress.task({
      id,
      status: word,
      elapsedMs: clock.steady() - startedMs,
      percent,
      estimateMs: input.estimateMs,
    });
  const record = (seen: TaskLook) => {
    try {
      recordLook(ledger, key, seen, status);
    } catch (error) {
      // A status on the way is for reading only; the end of a job is not.
      if (seen.view.state !== 'running' || !(error instanceof GwError)) throw error;
      deps.warn(`${error.message}; still waiting`);
    }
  };
  if (input.status !== undefined) show(input.status);
  try {
    const look = await poll({
      ...input,
      clock,
      random: deps.random,
      signal,
      taskId: id,
      look: (bounded) =>
        lookAtTask({ id, family, client: deps.client, signal: bounded, nowMs: clock.now, retries: 0 }),
      onUpdate: (seen) => {
        if (!seen.view.statusKnown && seen.view.status !== status) {
          deps.warn(`task ${id}: unknown status "${seen.view.status}", taken as still running`);
        }
        show(seen.view.status, seen.view.progressPercent);
        record(seen);
        status = seen.view.status;
        last = seen;
      },
      onTrouble: (error, failures) => {
        if (failures === 1) progress.line(`task ${id}: ${error.message}; still waiting`);
      },
    });
    return await endOf(look, input, deps);
  } catch (error) {
    return { status: last?.view.status ?? '', record: last?.record, files: [], error };
  } finally {
    progress.stop();
  }
}

/** What a finished look leads to: the outputs saved, or the task's failure as an error. */
export async function endOf(
  look: TaskLook,
  input: Pick<FollowInput, 'key' | 'family' | 'save' | 'id'>,
  deps: FollowDeps,
): Promise<Followed> {
  const { view, record } = look;
  const seen = { status: view.status, record, files: [] };
  if (view.state === 'failed') return { ...seen, error: taskFailed(look) };
  if (!input.save.download) return seen;
  const { files, errors, record: last } = await saveJob(look, input, deps);
  const [error] = errors;
  return { ...seen, record: last, files, ...(error !== undefined && { error }) };
}

function taskFailed({ view }: TaskLook): GwError {
  const { code, message } = view.error ?? {};
  const reason = [code, message].filter(Boolean).join(': ');
  return new GwError('task_failed', `task ${view.id} ended ${view.status}${reason ? `: ${reason}` : ''}`, {
    taskId: view.id,
    code,
  });
}
