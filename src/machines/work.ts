import type { Put } from './engine.ts';
import {
  type CarriedJob,
  type Changes,
  isOver,
  type RowRecord,
  type Stage,
  type Step,
  type ToldError,
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
  /** Whether Redis cannot be reached just now. */
  isAway(): boolean;
}

/** What came of a create. */
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
  /** It is certain that this try made nothing, and one so much later may. */
  | { readonly kind: 'nothing_made'; readonly waitMs: number }
  /** The same, and every further row of this worker would meet it too: a bad key, no balance. */
  | { readonly kind: 'stop' };

export interface Saved {
  readonly kind: 'saved';
  readonly files: RowRecord['files'];
  readonly status?: string | undefined;
  readonly id?: string | undefined;
}

/** What came of a wait. */
export type Followed =
  | { readonly kind: 'ended'; readonly status: string }
  | { readonly kind: 'failed'; readonly error: ToldError; readonly status?: string | undefined }
  | { readonly kind: 'interrupted' };

export type Brought = Saved | Exclude<Followed, { kind: 'ended' }>;

export interface Hands {
  /** Whether a lost create of the row's family is looked up before it is sent again (family B). */
  looksUp(row: RowRecord): boolean;
  /** Whether this machine's ledger knows the task of a row that another sent. */
  knows(row: RowRecord): Promise<boolean>;
  /** Creates the row, or goes on with its job where this machine's ledger has one; `beforeSend` is asked before each sending. */
  create(row: RowRecord, beforeSend: () => Promise<void>): Promise<Made>;
  /** Waits for the end of the row's task. */
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
  return stage === 'save' ? saveRow(row, desk, hands) : runTask(row, desk, hands);
}

async function runTask(row: RowRecord, desk: Desk, hands: Hands): Promise<Put> {
  if (row.state === 'ended') {
    await desk.toSave();
    return 'done';
  }
  if (row.state === 'sending' && !hands.looksUp(row) && !(await hands.knows(row))) {
    await desk.step('lost', { error: lostError(row) });
    return 'done';
  }
  let { id } = row;
  if (row.state !== 'running' || id === undefined) {
    const made = await createRow(row, desk, hands);
    if (typeof made === 'string') return made;
    id = made.id;
  }
  const followed = await hands.follow(row, id);
  switch (followed.kind) {
    case 'interrupted':
      return handBack(desk);
    case 'failed':
      return told(row, await desk.step('failed', { error: followed.error, status: followed.status }), hands);
    case 'ended':
      return taskEnded(row, id, followed.status, desk, hands);
  }
}

/** Sends the row's create. Returns its task's ID, or what becomes of the row where there is none. */
async function createRow(row: RowRecord, desk: Desk, hands: Hands): Promise<Put | { readonly id: string }> {
  let made: Made;
  // What another worker was sending may exist until this one has looked for it, which it has before it sends.
  let mayExist = row.state === 'sending';
  try {
    made = await hands.create(row, async () => {
      const result = await desk.step('sending');
      if (result !== 'ok') throw new TakenAway(result);
      mayExist = false;
    });
  } catch (error) {
    if (!(error instanceof TakenAway)) throw error;
    return told(row, error.result, hands);
  }
  switch (made.kind) {
    case 'accepted': {
      const { id, status, job } = made;
      const result = await desk.step('accepted', { id, status, job });
      // Who finds the queue wiped goes on with what is paid for, and tells it on this machine alone.
      if (result === 'ok') return { id };
      if (result !== 'gone' && (await desk.found(made))) return 'done';
      hands.onTakenAway(row, result);
      return result === 'gone' ? { id } : 'done';
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
      return told(row, await desk.step('failed', { error: made.error, job: made.job }), hands);
    case 'nothing_made':
    case 'stop':
      // Said before the pause: a worker that dies in it has sent nothing.
      await desk.step(mayExist ? 'handed_back' : 'nothing_made');
      if (made.kind === 'nothing_made') await hands.pause(made.waitMs);
      return 'back';
  }
}

/** The slot is free as soon as the row has left the queue of its pool. */
async function taskEnded(row: RowRecord, id: string, status: string, desk: Desk, hands: Hands): Promise<Put> {
  // Without Redis nobody else can be told to save it, and its link does not wait.
  const early = desk.isAway() ? await hands.save(row, id) : undefined;
  const result = await desk.step('ended', { status });
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
  if (row.id === undefined) return 'done';
  const brought = await hands.save(row, row.id);
  if (brought.kind === 'interrupted') return handBack(desk);
  const { status } = brought;
  const result =
    brought.kind === 'saved'
      ? await desk.step('saved', { files: brought.files, status })
      : await desk.step('failed', { error: brought.error, status });
  return told(row, result, hands);
}

async function handBack(desk: Desk): Promise<Put> {
  await desk.step('handed_back');
  return 'back';
}

function told(row: RowRecord, result: StepResult, hands: Hands): Put {
  if (result !== 'ok') hands.onTakenAway(row, result);
  return 'done';
}

const lostError = (
  { sender: host = '?' }: RowRecord,
  more = ', and nobody knows whether it was taken',
): ToldError => ({
  kind: 'unknown_outcome',
  message: `worker ${host} was lost while it sent this row${more}; it is not sent again`,
  hint: `the ledger of ${host} may know it: run gw batch run there, or look with gw jobs sync there`,
  exit_code: 14,
});
