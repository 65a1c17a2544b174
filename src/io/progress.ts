import type { DownloadProgress, OutputMode, RunProgress, TaskProgress, WholeProgress } from './io.ts';
import { downloadView, type ProgressBoard, taskView } from './progress-board.ts';

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
  readonly #world: ProgressWorld;
  #board: ProgressBoard | undefined;
  /** What is reported while the bars are being loaded; `undefined` when nothing is being loaded. */
  #waiting: ((board: ProgressBoard) => void)[] | undefined;
  #opened = 0;

  constructor(world: ProgressWorld) {
    this.#world = world;
  }

  /** A new reporter; draws nothing when quiet. Its `stop` takes away only what it reported itself. */
  open(): RunProgress {
    const { mode, hide, note } = this.#world;
    if (mode.quiet) return silentProgress;
    const prefix = `${this.#opened++}:`;
    const keys = new Set<string>();
    let isStopped = false;
    const report = (row: string, work: (board: ProgressBoard, key: string) => void) => {
      if (isStopped) return;
      const key = prefix + row;
      keys.add(key);
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
        if (gone.length === 0) return;
        this.#tell((board) => {
          for (const key of gone) board.drop(key);
        });
      },
    };
  }

  /** Takes everything off the screen; reporters may go on later. */
  clear(): void {
    this.#waiting?.splice(0);
    this.#board?.clear();
  }

  #tell(work: (board: ProgressBoard) => void): void {
    if (this.#board === undefined && this.#waiting === undefined) this.#open();
    if (this.#board === undefined) this.#waiting?.push(work);
    else work(this.#board);
  }

  #open(): void {
    const { mode, openLines, openBars } = this.#world;
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
