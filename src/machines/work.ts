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

// What a worker does with a row that it was given, by where the row stands: the order of every paid step (README.md). It
// knows neither Redis nor the gateway: the desk writes steps down, the hands do the work.

/** Writes the steps of the one row that was taken; each is in Redis when it returns. */
export interface Desk {
  step(step: Step, changes?: Changes): Promise<StepResult>;
  /** Puts the row on the queue of outputs. */
  toSave(): Promise<void>;
  /** Tells what came of a create whose row was given up meanwhile: where it ended as unknown, it goes on with this. */
  found(made: Extract<Made, { kind: 'accepted' }> | Saved): Promise<boolean>;
  /** Tells that the last sending that this worker announced never left: a row that was called unknown for it is known. */
  neverSent(): Promise<void>;
  /** Whether another worker may have what this one lacks for the row: a file, a place to save. It is asked a few times at most. */
  mayDoElsewhere(): Promise<boolean>;
  /** Whether Redis went away before a step was written down; what is paid for does not wait for it. */
  isAwayBefore(step: Promise<unknown>): Promise<boolean>;
}

export type Made =
  /** The gateway has it; `job` is what another machine needs to go on with it. */
  | {
      readonly kind: 'accepted';
      readonly id: string;
      readonly status?: string | undefined;
      readonly job: CarriedJob;
    }
  /** An image: it came with its reply. */
  | Saved
  | { readonly kind: 'unknown'; readonly error: ToldError }
  /** `isOfJob`: it is what came of the row's job, and nothing that hindered the way there. */
  | {
      readonly kind: 'failed';
      readonly error: ToldError;
      readonly isOfJob: boolean;
      /** The job of the row in this machine's ledger. */
      readonly job?: CarriedJob | undefined;
    }
  /** It is certain that this try made nothing; one so much later may, where `error` is none that ends this worker's creates. */
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
      /** What is to be saved lies on another machine. */
      readonly isElsewhere?: boolean;
    }
  | { readonly kind: 'interrupted' };

export type Brought = Saved | Exclude<Followed, { kind: 'ended' }>;

export interface Hands {
  /** Whether this machine's ledger knows the task of a row that another sent. */
  knows(row: RowRecord): Promise<boolean>;
  /** Creates the row, or goes on with its job where this machine's ledger has one; `beforeSend` is asked before each sending, and told the job. */
  create(row: RowRecord, beforeSend: (job?: CarriedJob) => Promise<void>): Promise<Made>;
  follow(row: RowRecord, id: string): Promise<Followed>;
  save(row: RowRecord, id: string): Promise<Brought>;
  /** Lets time pass, unless the work on the row is ended. */
  pause(waitMs: number): Promise<void>;
  /** The row was taken by another, or the queue does not know it any more: what happens now stays on this machine. */
  onTakenAway(row: RowRecord, result: StepResult): void;
}

/** Thrown by `beforeSend`: the row is another's, and nothing may be sent. */
export class TakenAway extends Error {
  override readonly name = 'TakenAway';
  constructor(readonly result: StepResult) {
    super('the row is not this worker’s any more');
  }
}

/** Works on a row from where it stands to its next resting place. Never throws but what hands and desk throw. */
export async function workOn(stage: Stage, row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  if (isOver(row.state)) return 'done';
  // Whoever can write to Redis may have put a row on the queue of outputs that has none yet.
  return stage === 'save' && row.state === 'ended' ? saveRow(row, desk, hands) : runTask(row, desk, hands);
}

async function runTask(row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  if (row.state === 'ended') {
    await desk.toSave();
    return 'done';
  }
  // A lost create of family B is looked up before it is sent again.
  if (row.state === 'sending' && row.family !== 'beta' && !(await hands.knows(row))) {
    await desk.step('lost', { error: lostError(row) });
    return 'done';
  }
  let { id } = row;
  let home: Brought | undefined;
  if (row.state !== 'running' || id === undefined) {
    const made = await createRow(row, desk, hands);
    if (typeof made === 'string') return made;
    ({ id, home } = made);
  }
  if (home) return atHome(row, home, desk, hands);
  const followed = await hands.follow(row, id);
  return followed.kind === 'ended'
    ? taskEnded(row, id, followed.status, desk, hands)
    : atHome(row, followed, desk, hands);
}

/** A task that has ended badly, or whose output is saved, and tells the queue. */
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

/** Sends the row's create. Returns its task's ID, or what becomes of the row where there is none. */
async function createRow(
  row: RowRecord,
  desk: Desk,
  hands: Hands,
): Promise<Put | { readonly id: string; readonly home?: Brought | undefined }> {
  let made: Made;
  // What another worker was sending may exist until this one has looked for it, which it has before it sends.
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
      // Who finds the queue wiped goes on with what is paid for, and tells it on this machine alone.
      if (result === 'ok') return { id, home };
      if (result !== 'gone' && (await desk.found(made))) return 'done';
      hands.onTakenAway(row, result);
      return result === 'gone' ? { id, home } : 'done';
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
      // Said before the pause: a worker that dies in it has sent nothing.
      if (
        (await desk.step(mayExist ? 'handed_back' : 'nothing_made', { error: made.error })) !== 'ok' &&
        !mayExist
      )
        await desk.neverSent();
      await hands.pause(made.waitMs);
      return 'back';
  }
}

/** Follows a task to its end and saves it, without a word to anybody. */
async function bringHome(row: RowRecord, id: string, hands: Hands): Promise<Brought> {
  const followed = await hands.follow(row, id);
  return followed.kind === 'ended' ? hands.save(row, id) : followed;
}

/** The slot is free as soon as the row has left the queue of its pool. */
async function taskEnded(row: RowRecord, id: string, status: string, desk: Desk, hands: Hands): Promise<Put> {
  const telling = desk.step('ended', { status });
  // Without Redis nobody else can be told to save it, and its link does not wait.
  const early = (await desk.isAwayBefore(telling)) ? await hands.save(row, id) : undefined;
  const result = await telling;
  if (result === 'gone') {
    hands.onTakenAway(row, result);
    if (!early) await hands.save(row, id);
    return 'done';
  }
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
