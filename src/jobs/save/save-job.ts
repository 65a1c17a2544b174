import { GwError } from '../../errors.ts';
import type { RatePool } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import type { SavedFile, SavePlan } from '../../ledger/event.ts';
import { holdWhenFree } from '../create/hold-job.ts';
import { printableRecord } from '../printable-record.ts';
import type { FollowDeps } from '../watch/follow.ts';
import { endEvent, type SeenTask, type TaskLook } from '../watch/look.ts';
import type { DownloadJournal } from './journal.ts';
import { namingOf } from './output-path.ts';
import { saveOutputs } from './save-outputs.ts';
import { sidecarOf } from './sidecar.ts';

export interface SaveInput {
  readonly key: string;
  readonly id: string;
  readonly family: TaskFamily;
  readonly save: SavePlan;
  /** The rate that looks at it count against. */
  readonly pool?: RatePool | undefined;
  /** Leaves a job to the process that is saving it, and gives back only what this one saved. */
  readonly ownOnly?: boolean | undefined;
}

/** What became of a job's outputs. */
export interface SavedJob {
  readonly files: SavedFile[];
  readonly errors: unknown[];
  readonly record: unknown;
  /** Another process is saving them, or has done so meanwhile. */
  readonly isElsewhere?: boolean | undefined;
}

/**
 * Brings a finished job's outputs home, once over all processes: what another one is fetching is waited for, and what
 * the ledger says is saved and still whole is not fetched again. Errors are of kind `download`.
 */
export async function saveJob(look: SeenTask, input: SaveInput, deps: FollowDeps): Promise<SavedJob> {
  const { family, id, key, save, ownOnly } = input;
  if (look.view.hasNoFiles) return { record: printableRecord(look), files: [], errors: [] };
  if (look.view.outputs.length === 0) {
    const hint = `look at it with: gw video ${family.name} get ${id}`;
    return {
      record: printableRecord(look),
      files: [],
      errors: [
        new GwError('download', `task ${id} succeeded, but its record names no output`, { taskId: id, hint }),
      ],
    };
  }
  let record = printableRecord(look);
  const hold = ownOnly
    ? await deps.ledger.hold(key)
    : await holdWhenFree(key, deps, () => {
        deps.progress.line(`another gw is saving task ${id}; waiting for it`);
      });
  if (!hold) return { record, files: [], errors: [], isElsewhere: true };
  const own: SavedFile[] = [];
  try {
    const { job } = hold;
    const journal: DownloadJournal = {
      downloadsSoFar: job?.downloads ?? 0,
      parts: job?.parts ?? {},
      files: job?.files ?? [],
      aboutToGet: (role) => deps.ledger.append(key, { event: 'get', role }),
      part: (role, part) => deps.ledger.append(key, { event: 'part', role, ...part }),
      saved: (file) => {
        deps.ledger.append(key, { event: 'saved', ...file });
        own.push(file);
      },
    };
    const { files, failures } = await saveOutputs({
      outputs: look.view.outputs,
      plan: save,
      names: {
        ...(job ? namingOf(job) : { model: undefined, atMs: deps.clock.now() }),
        ...{ id, family: family.name, made: look.view.made },
      },
      journal,
      sidecar: job && sidecarOf({ ...job, id, save }, look.view),
      maxDownloads: family.maxDownloads,
      refreshLink: async (role) => {
        const fresh = await freshLook(input, deps);
        record = printableRecord(fresh);
        return fresh.view.outputs.find((output) => output.role === role)?.url;
      },
      transport: deps.transport,
      silenceMs: deps.silenceMs,
      clock: deps.clock,
      random: deps.random,
      signal: deps.signal,
      onProgress: (update) => {
        deps.progress.download(update);
        deps.events?.download(key, update);
      },
      onWarning: deps.warn,
    });
    const errors = failures.map(({ error }) => error);
    if (!ownOnly) return { files, errors, record };
    return { files: own, errors, record, isElsewhere: own.length === 0 && errors.length === 0 };
  } finally {
    hold.release();
  }
}

/** Looks at the held task again, because the link to an output is dead. */
async function freshLook({ id, key, pool }: SaveInput, deps: FollowDeps): Promise<TaskLook> {
  const look = await deps.looker.look(id, { signal: deps.signal, pool });
  const end = look.view.state === 'succeeded' ? endEvent(look) : undefined;
  if (end) deps.ledger.append(key, end);
  return look;
}
