import { taskState } from '../gateway/task-state.ts';
import { oneLine } from './escape.ts';
import type { DownloadProgress, OutputMode, RunProgress, TaskProgress, WholeProgress } from './io.ts';

interface ProgressWorld {
  readonly mode: OutputMode;
  readonly hide: (text: string) => string;
  /** Prints a plain line to stderr, above the bars. */
  readonly note: (text: string) => void;
  readonly openLines: () => ProgressBoard;
  readonly openBars: () => Promise<ProgressBoard>;
}

/** The progress of a whole run: all reporters share one board. */
export class ProgressHub {
  #board: ProgressBoard | undefined;
  /** Reports that arrive while the bars are being loaded; undefined if nothing is being loaded. */
  #waiting: ((board: ProgressBoard) => void)[] | undefined;
  #opened = 0;
  /** Rows that were reported and not yet removed. */
  readonly #rows = new Set<string>();

  constructor(private readonly world: ProgressWorld) {}

  /** True if bars are on the screen or soon will be. */
  get isShown(): boolean {
    return this.world.mode.bars && this.#rows.size > 0;
  }

  /** Makes a reporter, which draws nothing when quiet. Its `stop` removes only its own rows. */
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

  /** Removes everything from the screen; reporters may continue later. */
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

/** A task as the boards receive it: every text is safe and every number in range. */
export type TaskView = TaskProgress & Required<Pick<TaskProgress, 'state'>>;

/** A download as the boards receive it; `done` is also true once all bytes have come. */
export type DownloadView = DownloadProgress & { readonly done: boolean };

/** Shows progress as bars or lines. `key` identifies a row; a dropped row is forgotten. */
export interface ProgressBoard {
  task(key: string, view: TaskView): void;
  download(key: string, view: DownloadView): void;
  whole(key: string, update: WholeProgress): void;
  drop(key: string): void;
  /** Forgets all rows and clears the screen. */
  clear(): void;
}

const MAX_NAME = 120;

/** Makes an update safe to draw: secrets are hidden, texts fit one line, numbers are in range. */
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

/** Like `taskView`, for a download. */
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

/** The time span of a rate in milliseconds: long enough to be steady, short enough to show a stall. */
const WINDOW_MS = 5_000;
const MIN_SPAN_MS = 200;

/** The speed of one download, from its reports of the last seconds. */
export class TransferRate {
  readonly #samples: { readonly atMs: number; readonly bytes: number }[] = [];

  /** Adds a report: the bytes so far at a steady time. A smaller count than before starts over. */
  add(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && bytes < last.bytes) this.#samples.length = 0;
    if (last !== undefined && last.atMs === atMs) this.#samples.pop();
    this.#samples.push({ atMs, bytes });
    // One sample older than the window stays, so that the rate covers the whole window.
    while ((this.#samples[1]?.atMs ?? atMs) < atMs - WINDOW_MS) this.#samples.shift();
  }

  /** Bytes per second until a steady time; undefined if there is not enough to measure. */
  bytesPerSecond(nowMs: number): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || first === last) return undefined;
    if (nowMs - first.atMs < MIN_SPAN_MS) return undefined;
    return ((last.bytes - first.bytes) * 1000) / (nowMs - first.atMs);
  }

  /** Milliseconds until `totalBytes` have come at this rate; undefined if unknown. */
  remainingMs(nowMs: number, totalBytes: number): number | undefined {
    const rate = this.bytesPerSecond(nowMs);
    const bytes = this.#samples.at(-1)?.bytes;
    if (rate === undefined || rate <= 0 || bytes === undefined) return undefined;
    return (Math.max(0, totalBytes - bytes) * 1000) / rate;
  }
}

/** Above this share, the shown fraction slows down and never reaches the end. */
const EASE_FROM = 0.8;
const EASE_TO = 0.99;

/**
 * The estimated progress of a job, 0 to below 0.99, from its running time and the time that similar jobs took: first
 * proportional, then slower and slower, so that it never claims to be finished.
 */
export function estimatedFraction(elapsedMs: number, estimateMs: number): number {
  if (!(estimateMs > 0) || !(elapsedMs > 0)) return 0;
  const share = elapsedMs / estimateMs;
  if (share <= EASE_FROM) return share;
  const room = EASE_TO - EASE_FROM;
  return Math.min(EASE_FROM + room * (1 - Math.exp(-(share - EASE_FROM) / room)), EASE_TO - 1e-6);
}
