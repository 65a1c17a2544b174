import { GwError } from '../errors.ts';
import type { RatePool } from '../gateway/limits.ts';
import type { TaskFamily } from '../gateway/task.ts';
import type { SavedFile, SavePlan } from '../ledger/event.ts';
import type { Claim } from '../ledger/ledger.ts';
import type { DownloadJournal } from './download/journal.ts';
import { saveOutputs } from './download/save-outputs.ts';
import type { FollowDeps } from './follow.ts';
import { recordLook, type TaskLook } from './look.ts';

export interface SaveInput {
  readonly key: string;
  readonly id: string;
  readonly family: TaskFamily;
  readonly save: SavePlan;
  /** The rate that looks at it count against. */
  readonly pool?: RatePool | undefined;
}

/** How often to look whether another process has let go of a job. */
const CLAIM_RETRY_MS = 500;

/**
 * Brings a finished job's outputs home, once over all processes: what another one is fetching is waited for, and what
 * the ledger says is saved and still whole is not fetched again. Errors are of kind `download`.
 */
export async function saveJob(
  look: TaskLook,
  input: SaveInput,
  deps: FollowDeps,
): Promise<{ files: SavedFile[]; errors: unknown[]; record: unknown }> {
  const { family, id, key, save } = input;
  if (look.view.hasNoFiles) return { record: look.record, files: [], errors: [] };
  if (look.view.outputs.length === 0) {
    const hint = `look at it with: gw video ${family.name} get ${id}`;
    return {
      record: look.record,
      files: [],
      errors: [
        new GwError('download', `task ${id} succeeded, but its record names no output`, { taskId: id, hint }),
      ],
    };
  }
  let { record } = look;
  const claim = await claimOf(key, deps);
  try {
    const job = await deps.ledger.find(key);
    const journal: DownloadJournal = {
      downloadsSoFar: job?.downloads ?? 0,
      parts: job?.parts ?? {},
      files: job?.files ?? [],
      aboutToGet: (role) => deps.ledger.append(key, { event: 'get', role }),
      part: (role, part) => deps.ledger.append(key, { event: 'part', role, ...part }),
      saved: (file) => deps.ledger.append(key, { event: 'saved', ...file }),
    };
    const { files, failures } = await saveOutputs({
      outputs: look.view.outputs,
      plan: save,
      names: { id, family: family.name, model: job?.model, atMs: job?.createdAtMs ?? deps.clock.now() },
      journal,
      maxDownloads: family.maxDownloads,
      refreshLink: async (role) => {
        const fresh = await freshLook(input, deps);
        record = fresh.record;
        return fresh.view.outputs.find((output) => output.role === role)?.url;
      },
      transport: deps.transport,
      silenceMs: deps.silenceMs,
      clock: deps.clock,
      random: deps.random,
      signal: deps.signal,
      onProgress: (update) => deps.progress.download(update),
      onWarning: deps.warn,
    });
    return { files, errors: failures.map(({ error }) => error), record };
  } finally {
    claim?.release();
  }
}

async function claimOf(
  key: string,
  { ledger, clock, signal, progress }: FollowDeps,
): Promise<Claim | undefined> {
  for (let waited = 0; ; waited += 1) {
    const claim = ledger.claim(key);
    if (claim) return claim;
    if (waited === 0) progress.line(`another gw is saving ${key}; waiting for it`);
    await clock.sleep(CLAIM_RETRY_MS, signal);
  }
}

/** Looks at the task again, because the link to an output is dead. */
async function freshLook({ id, key, pool }: SaveInput, deps: FollowDeps): Promise<TaskLook> {
  const look = await deps.looker.look(id, { signal: deps.signal, pool });
  if (look.view.state === 'succeeded') recordLook(deps.ledger, key, look, undefined);
  return look;
}
