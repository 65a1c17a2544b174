import { taskState } from '../gateway/task-state.ts';
import { oneLine } from './escape.ts';
import type { DownloadProgress, OutputMode, RunProgress, TaskProgress, WholeProgress } from './io.ts';

export interface ProgressWorld {
  readonly mode: OutputMode;
  readonly hide: (text: string) => string;
  /** A plain line on stderr, above whatever is drawn. */
  readonly note: (text: string) => void;
  readonly openLines: () => ProgressBoard;
  readonly openBars: () => Promise<ProgressBoard>;
}

/** All progress of a run: what several callers report stands on one board. */
export class ProgressHub {
  #board: ProgressBoard | undefined;
  /** What is reported while the bars are being loaded; `undefined` when nothing is being loaded. */
  #waiting: ((board: ProgressBoard) => void)[] | undefined;
  #opened = 0;
  /** The rows that were reported and not taken away. */
  readonly #rows = new Set<string>();

  constructor(private readonly world: ProgressWorld) {}

  /** Whether bars stand on the screen, or soon will. */
  get isShown(): boolean {
    return this.world.mode.bars && this.#rows.size > 0;
  }

  /** A new reporter; draws nothing when quiet. Its `stop` takes away only what it reported itself. */
  open(): RunProgress {
    const { mode, hide, note } = this.world;
    if (mode.quiet) return silentProgress;
    const prefix = `${this.#opened++}:`;
    const keys = new Set<string>();
    let isStopped = false;
    const report = (row: string, work: (board: ProgressBoard, key: string) => void) => {
      if (isStopped) return;
      const key = prefix + row;
      keys.add(key);
      this.#rows.add(key);
      this.#tell((board) => work(board, key));
    };
    return {
      task: (update: TaskProgress) =>
        report(`task ${update.id}`, (board, key) => board.task(key, taskView(update, hide))),
      download: (update: DownloadProgress) =>
        report(`download ${update.name}`, (board, key) => board.download(key, downloadView(update, hide))),
      whole: (update: WholeProgress) => report('whole', (board, key) => board.whole(key, update)),
      line: note,
      stop: () => {
        isStopped = true;
        const gone = [...keys];
        keys.clear();
        for (const key of gone) this.#rows.delete(key);
        if (gone.length === 0) return;
        this.#tell((board) => {
          for (const key of gone) board.drop(key);
        });
      },
    };
  }

  /** Takes everything off the screen; reporters may go on later. */
  clear(): void {
    this.#rows.clear();
    this.#waiting?.splice(0);
    this.#board?.clear();
  }

  #tell(work: (board: ProgressBoard) => void): void {
    if (this.#board === undefined && this.#waiting === undefined) this.#open();
    if (this.#board === undefined) this.#waiting?.push(work);
    else work(this.#board);
  }

  #open(): void {
    const { mode, openLines, openBars } = this.world;
    if (!mode.bars) {
      this.#board = openLines();
      return;
    }
    this.#waiting = [];
    void openBars()
      .catch(openLines)
      .then((board) => {
        this.#board = board;
        for (const work of this.#waiting ?? []) work(board);
        this.#waiting = undefined;
      });
  }
}

const nothing = (): void => {};

const silentProgress: RunProgress = {
  task: nothing,
  download: nothing,
  whole: nothing,
  line: nothing,
  stop: nothing,
};

/** One task as the boards see it: every text safe, every number in range. */
export type TaskView = TaskProgress & Required<Pick<TaskProgress, 'state'>>;

/** As TaskView, of a download; `done` also where all bytes are there. */
export type DownloadView = DownloadProgress & { readonly done: boolean };

/** Where progress is shown: bars or lines. `key` tells rows apart; a row that was dropped is forgotten. */
export interface ProgressBoard {
  task(key: string, view: TaskView): void;
  download(key: string, view: DownloadView): void;
  whole(key: string, update: WholeProgress): void;
  drop(key: string): void;
  /** Forgets all rows and leaves the screen clean. */
  clear(): void;
}

const MAX_NAME = 120;

/** Makes an update safe to draw: secrets hidden, texts on one line, numbers in range. */
export function taskView(update: TaskProgress, hide: (text: string) => string): TaskView {
  return {
    ...update,
    id: oneLine(hide(update.id), MAX_NAME),
    status: oneLine(hide(update.status), MAX_NAME),
    state: update.state ?? taskState(update.status).state,
    elapsedMs: positive(update.elapsedMs) ?? 0,
    percent: update.percent === undefined ? undefined : within(update.percent, 100),
    estimateMs: positive(update.estimateMs),
  };
}

/** As `taskView`, for a download. */
export function downloadView(update: DownloadProgress, hide: (text: string) => string): DownloadView {
  const bytes = positive(update.bytes) ?? 0;
  const totalBytes = positive(update.totalBytes);
  const done = update.done ?? (totalBytes !== undefined && bytes >= totalBytes);
  return { ...update, name: oneLine(hide(update.name), MAX_NAME), bytes, totalBytes, done };
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value > 0 ? value : undefined;
}

function within(value: number, max: number): number | undefined {
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), max) : undefined;
}

/** How far back a rate looks, in milliseconds: long enough to be calm, short enough to see a stall. */
const WINDOW_MS = 5_000;
const MIN_SPAN_MS = 200;

/** The pace of one download, from what it reported over the last seconds. */
export class TransferRate {
  readonly #samples: { readonly atMs: number; readonly bytes: number }[] = [];

  /** A report: bytes so far at a time of the steady clock. A smaller count than before starts over. */
  add(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && bytes < last.bytes) this.#samples.length = 0;
    if (last !== undefined && last.atMs === atMs) this.#samples.pop();
    this.#samples.push({ atMs, bytes });
    // One sample older than the window stays, to measure the whole window from.
    while ((this.#samples[1]?.atMs ?? atMs) < atMs - WINDOW_MS) this.#samples.shift();
  }

  /** Bytes a second up to a time of the steady clock; `undefined` before there is something to measure. */
  bytesPerSecond(nowMs: number): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    if (nowMs - first.atMs < MIN_SPAN_MS) return undefined;
    return ((last.bytes - first.bytes) * 1000) / (nowMs - first.atMs);
  }

  /** Milliseconds until `totalBytes` are there at this pace; `undefined` where that cannot be said. */
  remainingMs(nowMs: number, totalBytes: number): number | undefined {
    const rate = this.bytesPerSecond(nowMs);
    const bytes = this.#samples.at(-1)?.bytes;
    if (rate === undefined || rate <= 0 || bytes === undefined) return undefined;
    return (Math.max(0, totalBytes - bytes) * 1000) / rate;
  }
}

/** From here on an estimate is only approached, never met. */
const EASE_FROM = 0.8;
const EASE_TO = 0.99;

/**
 * How far a job seems to be, 0 to below 0.99, from the time it has run and the time jobs like it took: in step with
 * time at first, then slower and slower, so that it never claims to be finished.
 */
export function estimatedFraction(elapsedMs: number, estimateMs: number): number {
  if (!(estimateMs > 0) || !(elapsedMs > 0)) return 0;
  const share = elapsedMs / estimateMs;
  if (share <= EASE_FROM) return share;
  const room = EASE_TO - EASE_FROM;
  return Math.min(EASE_FROM + room * (1 - Math.exp(-(share - EASE_FROM) / room)), EASE_TO - 1e-6);
}
