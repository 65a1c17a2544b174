import type { Put } from './engine.ts';
import {
  type CarriedJob,
  type Changes,
  closingHint,
  isOver,
  type RowRecord,
  type Stage,
  type Step,
  type ToldError,
  unknownError,
} from './row.ts';
import type { StepResult } from './store.ts';

// The work on a row by its state, with the order of every paid step (README.md). This module knows neither Redis nor the
// gateway: the desk records steps, the hands do the work.

/** Records the steps of the taken row; each is in Redis when its call returns. */
export interface Desk {
  step(step: Step, changes?: Changes): Promise<StepResult>;
  /** Puts the row on the queue of outputs. */
  toSave(): Promise<void>;
  /** Reports the outcome of a create whose row was given up meanwhile; true if an unknown row can continue with it. */
  found(made: Extract<Made, { kind: 'accepted' }> | Saved): Promise<boolean>;
  /** Reports that nothing was made, also for a row that became unknown by a sending which never left. */
  neverSent(error?: ToldError): Promise<void>;
  /** True if another worker may have what this one lacks, such as a file or an output folder; only a few are tried. */
  mayDoElsewhere(): Promise<boolean>;
  /** True if Redis went away before a step was recorded; paid work does not wait for Redis. */
  isAwayBefore(step: Promise<unknown>): Promise<boolean>;
}

export type Made =
  /** The gateway accepted it; `job` has what another machine needs to continue. */
  | {
      readonly kind: 'accepted';
      readonly id: string;
      readonly status?: string | undefined;
      readonly job: CarriedJob;
    }
  /** An image, which arrives with its reply. */
  | Saved
  | { readonly kind: 'unknown'; readonly error: ToldError }
  /** `isOfJob` is true if the job itself failed, and false if something prevented it. */
  | {
      readonly kind: 'failed';
      readonly error: ToldError;
      readonly isOfJob: boolean;
      /** The job of the row in this machine's ledger. */
      readonly job?: CarriedJob | undefined;
    }
  /** The attempt created nothing. The next may start after `waitMs`, unless `error` stops the worker's creates. */
  | { readonly kind: 'nothing_made'; readonly waitMs: number; readonly error?: ToldError | undefined };

export interface Saved {
  readonly kind: 'saved';
  readonly files: RowRecord['files'];
  readonly status?: string | undefined;
  readonly id?: string | undefined;
}

export type Followed =
  | { readonly kind: 'ended'; readonly status: string }
  | {
      readonly kind: 'failed';
      readonly error: ToldError;
      readonly status?: string | undefined;
      /** True if the images to save are on another machine. */
      readonly isElsewhere?: boolean;
    }
  | { readonly kind: 'interrupted' };

export type Brought = Saved | Exclude<Followed, { kind: 'ended' }>;

export interface Hands {
  /** True if this machine's ledger knows the task of a row that another machine sent. */
  knows(row: RowRecord): Promise<boolean>;
  /** Creates the row or continues its job from this ledger; `beforeSend` is called with the job before each sending. */
  create(row: RowRecord, beforeSend: (job?: CarriedJob) => Promise<void>): Promise<Made>;
  follow(row: RowRecord, id: string): Promise<Followed>;
  save(row: RowRecord, id: string): Promise<Brought>;
  /** Waits, unless the work on the row is aborted. */
  pause(waitMs: number): Promise<void>;
  /** Called if another worker has the row or the queue lost it: further results stay on this machine. */
  onTakenAway(row: RowRecord, result: StepResult): void;
}

/** Thrown by `beforeSend`: another worker has the row, and nothing may be sent. */
export class TakenAway extends Error {
  override readonly name = 'TakenAway';
  constructor(readonly result: StepResult) {
    super('another worker has the row');
  }
}

/** Works on a row until its stage ends. It throws only errors of hands and desk. */
export async function workOn(stage: Stage, row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  if (isOver(row.state)) return 'done';
  // Anyone with access to Redis may have put a row without an output on the queue of outputs.
  return stage === 'save' && row.state === 'ended' ? saveRow(row, desk, hands) : runTask(row, desk, hands);
}

async function runTask(row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  if (row.state === 'ended') {
    await desk.toSave();
    return 'done';
  }
  // Only for family B can a lost create be looked up before it is sent again.
  if (row.state === 'sending' && row.family !== 'beta' && !(await hands.knows(row))) {
    await desk.step('lost', { error: lostError(row) });
    return 'done';
  }
  const isRunning = row.state === 'running' && row.id !== undefined;
  return isRunning ? followRow(row, row.id, desk, hands) : createRow(row, desk, hands);
}

async function followRow(row: RowRecord, id: string, desk: Desk, hands: Hands): Promise<Put> {
  const followed = await hands.follow(row, id);
  return followed.kind === 'ended'
    ? taskEnded(row, id, followed.status, desk, hands)
    : atHome(row, followed, desk, hands);
}

/** Reports to the queue that a row has failed or is saved. */
async function atHome(row: RowRecord, home: Brought, desk: Desk, hands: Hands): Promise<Put> {
  if (home.kind === 'interrupted') {
    await desk.step('handed_back');
    return 'back';
  }
  const { status } = home;
  const result =
    home.kind === 'saved'
      ? await desk.step('saved', { files: home.files, status })
      : await desk.step('failed', { error: home.error, status });
  return told(row, result, hands);
}

/** Sends the row's create, and goes on with its task. */
async function createRow(row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  let made: Made;
  // Another worker's create may exist until this worker has looked for it, which happens before it sends.
  let mayExist = row.state === 'sending';
  try {
    made = await hands.create(row, async (job) => {
      const result = await desk.step('sending', { job });
      if (result !== 'ok') throw new TakenAway(result);
      mayExist = false;
    });
  } catch (error) {
    if (!(error instanceof TakenAway)) throw error;
    if (!mayExist) await desk.neverSent();
    return told(row, error.result, hands);
  }
  switch (made.kind) {
    case 'accepted': {
      const { id, status, job } = made;
      const telling = desk.step('accepted', { id, status, job });
      const home = (await desk.isAwayBefore(telling)) ? await bringHome(row, id, hands) : undefined;
      const result = await telling;
      const isLost = result !== 'ok' && result !== 'gone';
      if (isLost && (await desk.found(made))) return 'done';
      if (result !== 'ok') hands.onTakenAway(row, result);
      if (isLost) return 'done';
      // If the queue does not know the row, the paid task is still finished, and reported on this machine only.
      return home ? atHome(row, home, desk, hands) : followRow(row, id, desk, hands);
    }
    case 'saved': {
      const { files, status, id } = made;
      const result = await desk.step('saved', { files, status, id });
      if ((result === 'fenced' || result === 'over') && (await desk.found(made))) return 'done';
      return told(row, result, hands);
    }
    case 'unknown':
      return told(row, await desk.step('lost', { error: made.error }), hands);
    case 'failed':
      if (mayExist && !made.isOfJob) {
        const error = lostError(row, `, and it could not be looked for: ${made.error.message}`);
        return told(row, await desk.step('lost', { error }), hands);
      }
      if (made.error.kind === 'usage' && !made.isOfJob && (await desk.mayDoElsewhere())) return 'back';
      return told(row, await desk.step('failed', { error: made.error, job: made.job }), hands);
    case 'nothing_made':
      // Recorded before the pause, so that a worker which dies in the pause has left no doubt.
      if (mayExist) await desk.step('handed_back', { error: made.error });
      else await desk.neverSent(made.error);
      await hands.pause(made.waitMs);
      return 'back';
  }
}

/** Follows a task to its end and saves it, without reporting to the queue. */
async function bringHome(row: RowRecord, id: string, hands: Hands): Promise<Brought> {
  const followed = await hands.follow(row, id);
  return followed.kind === 'ended' ? hands.save(row, id) : followed;
}

/** The slot becomes free as soon as the row has left the queue of its pool. */
async function taskEnded(row: RowRecord, id: string, status: string, desk: Desk, hands: Hands): Promise<Put> {
  const telling = desk.step('ended', { status });
  // While Redis is away no other worker can save the output, and its link expires.
  const early = (await desk.isAwayBefore(telling)) ? await hands.save(row, id) : undefined;
  const result = await telling;
  if (result === 'gone' && !early) await hands.save(row, id);
  if (result !== 'ok') return told(row, result, hands);
  if (early?.kind === 'saved') return told(row, await desk.step('saved', { files: early.files }), hands);
  await desk.toSave();
  return 'done';
}

async function saveRow(row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  const home = await hands.save(row, row.id ?? '');
  if (home.kind === 'failed' && home.isElsewhere && (await desk.mayDoElsewhere())) return 'back';
  return atHome(row, home, desk, hands);
}

function told(row: RowRecord, result: StepResult, hands: Hands): Put {
  if (result !== 'ok') hands.onTakenAway(row, result);
  return 'done';
}

function lostError(row: RowRecord, more = ', and nobody knows whether it was taken'): ToldError {
  const { sender: host = '?' } = row;
  return unknownError(
    `worker ${host} was lost while it sent this row${more}; it is not sent again`,
    `the ledger of ${host} may know it: run gw batch run there, or look with gw jobs sync there; ${closingHint(row)}`,
  );
}
