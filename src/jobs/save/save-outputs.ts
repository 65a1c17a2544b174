import * as os from 'node:os';
import * as path from 'node:path';
import { DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { errorCode, GwError } from '../../errors.ts';
import { imageIndex } from '../../gateway/image/job.ts';
import type { RatePool } from '../../gateway/limits.ts';
import type { TaskFamily, TaskOutput } from '../../gateway/task.ts';
import type { Job, LedgerEvent, SavedFile, SavePlan } from '../../ledger/event.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';
import { firstOfTask } from '../../ledger/named-jobs.ts';
import { readTask } from '../../ledger/settled.ts';
import { isForgivable, noneIfUnreadable } from '../../ledger/write-error.ts';
import { explainOtherKey, holdWhenFree } from '../create/hold-job.ts';
import { printableRecord } from '../job-view.ts';
import type { FollowDeps, JobDeps } from '../watch/follow.ts';
import { endEvent, type SeenTask } from '../watch/look.ts';
import { GetBudget } from './get-output.ts';
import { isFixedName, type Naming, namingOf, type OutputPath, outputPath } from './output-path.ts';
import { type DownloadJournal, journalOf } from './part-file.ts';
import { refugeOf } from './rescue.ts';
import { jobWord, SaveOutput } from './save-output.ts';
import { sidecarOf } from './sidecar.ts';

export interface SaveInput
  extends Pick<JobDeps, 'transport' | 'silenceMs' | 'mostBytes' | 'clock' | 'random' | 'signal' | 'claims'>,
    Partial<Pick<JobDeps, 'note'>> {
  /** The outputs, each with a different role. */
  readonly outputs: readonly TaskOutput[];
  readonly plan: SavePlan;
  readonly names: Naming;
  /** The text of the file beside an output, made from its SHA-256; absent if none is wanted. */
  readonly sidecar?: ((sha256: string) => string) | undefined;
  readonly journal: DownloadJournal;
  /** gw's own key of the job, if it is not the ID. */
  readonly key?: string | undefined;
  /** The directory for outputs that cannot be saved to their target. */
  readonly refuge: string;
  /** How often the gateway allows an output to be fetched, if documented. */
  readonly maxDownloads: number | undefined;
  /** Queries the task for a new link to the output of a role; called at most once per output. */
  readonly refreshLink: (role: string) => Promise<string | undefined>;
  readonly onProgress?: ((update: DownloadProgress) => void) | undefined;
  readonly onWarning?: ((text: string) => void) | undefined;
  /** When the machine was booted, in Unix ms; by default the system's own value. */
  readonly bootedAtMs?: number | undefined;
  /** Free bytes of a directory's file system; by default the system's own value. */
  readonly freeBytes?: ((dir: string) => number | undefined) | undefined;
}

export interface DownloadProgress {
  readonly role: string;
  /** The name for users: the task's ID, plus the role for a secondary file. */
  readonly name: string;
  readonly bytes: number;
  readonly totalBytes: number | undefined;
}

export interface SaveFailure {
  readonly role: string;
  /** An error of kind `download`. */
  readonly error: GwError;
}

/**
 * Saves a finished task's outputs, one after the other; a failure does not stop the others. A file that is on disk as
 * recorded is not downloaded again. After a failure, at most one part file stays for a later run. Aborting throws the
 * signal's reason and keeps the part and its record.
 */
export async function saveOutputs(
  input: SaveInput,
): Promise<{ files: SavedFile[]; failures: SaveFailure[] }> {
  const { clock, journal, maxDownloads, names, plan, signal } = input;
  const warn = input.onWarning ?? (() => {});
  const { length: outputs } = input.outputs;
  const budget = new GetBudget({ id: names.id, outputs, journal, maxDownloads, force: plan.force, warn });
  const bootedAtMs = input.bootedAtMs ?? clock.now() - os.uptime() * 1000;
  const files: SavedFile[] = [];
  const failures: SaveFailure[] = [];
  let partIsKept = false;
  for (const [at, output] of input.outputs.entries()) {
    signal.throwIfAborted();
    budget.begin();
    let saving: SaveOutput | undefined;
    try {
      const place = outputPlace(plan, names, output, at);
      saving = new SaveOutput(output, place, input, { budget, bootedAtMs, warn });
      const { file, error } = await saving.run();
      if (!file.cut) files.push(file);
      if (error) failures.push({ role: output.role, error });
    } catch (error) {
      if (signal.aborted) {
        saving?.abandon(!partIsKept);
        throw signal.reason;
      }
      const mayKeep: boolean = !partIsKept && (!(error instanceof DiskFault) || error.keepsPart);
      const kept: boolean =
        saving?.abandon(mayKeep && (error instanceof DiskFault || saving.isResumable)) ?? false;
      partIsKept ||= kept;
      failures.push({ role: output.role, error: downloadError(error, output, names, kept) });
    }
  }
  warnOfNames(files, plan, warn);
  return { files, failures };
}

/** The path of the output at a place of a job's list. Images keep their own index, even if not all of them are saved. */
export const outputPlace = (plan: SavePlan, names: Naming, output: TaskOutput, at: number): OutputPath =>
  outputPath(plan, names, output, (names.family === 'image' ? imageIndex(output.role) : at) + 1);

/** The parts of a run's deps that downloads use; `id` is the name in their events. */
export const transferOf = (deps: Omit<JobDeps, 'client'>, id: string) => ({
  ...deps,
  onWarning: deps.warn,
  refuge: refugeOf(deps.ledger),
  key: id,
  onProgress: (update: DownloadProgress) => {
    deps.progress.download(update);
    deps.events?.download(id, update);
  },
});

/** Warns that numbered outputs of one fixed name got names made by gw. */
function warnOfNames(files: readonly SavedFile[], { target }: SavePlan, warn: (text: string) => void): void {
  if (!files.some(({ role }) => /-\d+$/.test(role)) || !isFixedName(target)) return;
  const names = files.map((file) => path.basename(file.path)).join(', ');
  warn(`one name for ${files.length} outputs: saved as ${names}; put {index} into --out to number them`);
}

/** Turns any failure into an error of kind `download` with the task and a hint. */
function downloadError(error: unknown, output: TaskOutput, names: Naming, isKept: boolean): GwError {
  const reason =
    error instanceof Error && errorCode(error) === undefined ? error.message : faultReason(error);
  const goesOn = isKept
    ? 'what has arrived is kept: once that is mended, gw jobs sync goes on from there'
    : 'once that is mended, gw jobs sync fetches it';
  const facts = error instanceof GwError ? error.facts : {};
  const told = { ...facts, taskId: names.id, ...(error instanceof DiskFault && { hint: goesOn }) };
  return new GwError('download', `the ${output.role} of ${jobWord(names)} was not saved: ${reason}`, told);
}

export interface SaveJobInput {
  readonly key: string;
  readonly id: string;
  readonly family: TaskFamily;
  /** Where the outputs go; nothing is saved if `download` is false. */
  readonly save: SavePlan;
  /** The rate limit that queries of it count against. */
  readonly pool?: RatePool | undefined;
  /** Steady time in ms at which gw stops waiting for another gw that holds the job. */
  readonly deadlineMs?: number | undefined;
  /** True if this process waited for the task: then its outputs are saved even if the ledger cannot be written. */
  readonly ranHere?: boolean | undefined;
  /** If true, a job that another process is saving is left to it, and only files saved here are returned. */
  readonly ownOnly?: boolean | undefined;
}

/** The result of saving a job's outputs. */
interface SavedJob {
  readonly files: SavedFile[];
  readonly errors: unknown[];
  readonly record: unknown;
  /** True if another process is saving them, or has done so meanwhile. */
  readonly isElsewhere?: boolean | undefined;
}

/**
 * Saves a finished job's outputs, only once over all processes: it waits while another process downloads them, and does
 * not download a file again that is recorded and unchanged. Errors are of kind `download`.
 */
export async function saveJob(look: SeenTask, input: SaveJobInput, deps: FollowDeps): Promise<SavedJob> {
  const { family, id, key, save, ownOnly } = input;
  let record = printableRecord(look);
  if (look.view.hasNoFiles) return { record, files: [], errors: [] };
  if (look.view.outputs.length === 0) {
    const hint = `look at it with: gw video ${family.name} get ${id}`;
    const what = `task ${id} succeeded, but its record names no output`;
    return { record, files: [], errors: [new GwError('download', what, { taskId: id, hint })] };
  }
  const notes = new JobNotes(key, deps.ledger, input.ranHere ? deps.warn : undefined);
  const tell = (who: string) => deps.note(`${who} is saving task ${id}; waiting for it`);
  const hold = await notes.hold(() =>
    ownOnly ? deps.ledger.hold(key) : holdWhenFree(key, { ...deps, deadlineMs: input.deadlineMs }, tell),
  );
  if (!hold) return { record, files: [], errors: [], isElsewhere: true };
  const own: SavedFile[] = [];
  try {
    const { job } = hold;
    const first = job?.files.length === 0 ? await firstOfTask({ ...job, id }, deps.ledger) : undefined;
    if (first) {
      const saved = await saveJob(look, { ...input, key: first.key, save: first.save }, deps);
      for (const file of saved.files) notes.append({ event: 'saved', ...file });
      return saved;
    }
    const journal: DownloadJournal = {
      ...journalOf(job, (event) => notes.append(event)),
      isUncounted: () => notes.isUnwritten,
      isRecorded: async (at) => {
        const where = ({ files }: Job) => files.some((file) => file.path === at);
        const jobs = await deps.ledger.find({ limit: 1, where }).catch(noneIfUnreadable);
        return jobs?.length !== 0;
      },
      saved: (file) => {
        notes.append({ event: 'saved', ...file });
        if (!file.cut) own.push(file);
      },
    };
    const outputsIn = ({ view }: SeenTask) => (job && readTask(job, family, view))?.outputs ?? view.outputs;
    const { files, failures } = await saveOutputs({
      outputs: outputsIn(look),
      plan: save,
      names: {
        ...(job ? namingOf(job) : { model: undefined, atMs: deps.clock.now() }),
        id,
        family: family.name,
        made: look.view.made,
      },
      journal,
      sidecar: job && sidecarOf({ ...job, id, save }, look.view),
      maxDownloads: family.maxDownloads,
      refreshLink: async (role) => {
        const asked = { signal: deps.signal, pool: input.pool, job };
        const fresh = await deps.looker.look(id, asked).catch((error) => {
          throw explainOtherKey(error, { ...job, key, id }, deps.keyId);
        });
        const end = fresh.view.state === 'succeeded' ? endEvent(fresh) : undefined;
        if (end) notes.append(end);
        record = printableRecord(fresh);
        return outputsIn(fresh).find((output) => output.role === role)?.url;
      },
      ...transferOf(deps, key),
    });
    const errors = failures.map(({ error }) => error);
    if (!ownOnly) return { files, errors, record };
    return { files: own, errors, record, isElsewhere: own.length === 0 && errors.length === 0 };
  } finally {
    hold.release();
  }
}

/**
 * Writes the ledger events of saving one job. If the ledger can no longer be written, or not even read, the outputs of a
 * task that ran in this process are saved anyway, with one request each and one warning (promises, section 4, point 3).
 */
class JobNotes {
  #isUnwritten = false;

  constructor(
    private readonly key: string,
    private readonly ledger: Ledger,
    /** Called if the ledger cannot be written. If absent, the ledger's errors are thrown. */
    private readonly warn: ((text: string) => void) | undefined,
  ) {}

  /** True if an event could not be written, so that downloads are no longer counted. */
  get isUnwritten(): boolean {
    return this.#isUnwritten;
  }

  append(event: LedgerEvent): void {
    // Only the holder of the job may write its end; the next run sees the end itself.
    if (this.#isUnwritten && event.event === 'final') return;
    try {
      this.ledger.append(this.key, event);
    } catch (error) {
      this.#forgive(error);
    }
  }

  /** Claims the job. If no claim can be made, no other process can make one either, so the job is only read. */
  async hold(claim: () => Promise<Hold | undefined>): Promise<Hold | undefined> {
    try {
      return await claim();
    } catch (error) {
      this.#forgive(error);
      const [job] = (await this.ledger.find({ ids: [this.key] }).catch(noneIfUnreadable)) ?? [];
      return { key: this.key, job, release() {} };
    }
  }

  #forgive(error: unknown): void {
    if (!this.warn || !isForgivable(error)) throw error;
    if (!this.#isUnwritten)
      this.warn(`${error.message}; its outputs are saved all the same, each asked for once`);
    this.#isUnwritten = true;
  }
}
