import type { MultiBar, Options, SingleBar } from 'cli-progress';
import type { Clock, Host } from '../host.ts';
import type { WholeProgress } from './io.ts';
import type { LiveRegion } from './live-region.ts';
import { type DownloadView, type ProgressBoard, type TaskView, TransferRate } from './progress.ts';
import {
  downloadRow,
  fitPieces,
  type Piece,
  paintPieces,
  type RowSetting,
  taskRow,
  WAITING,
  waitingRow,
  wholeRow,
} from './progress-rows.ts';
import { bytesText, durationText } from './quantity-text.ts';
import type { Line } from './side-stream.ts';
import { loadSpinner, type Style } from './style.ts';

// Progress bars on a terminal. cli-progress draws the bars and measures time, ora supplies the spinner; both are loaded
// when the first row is shown. This file adds what they lack (see test/io/progress-bars.test.ts): it cuts rows by
// display width, leaves out rows that do not fit on the terminal, and makes way for lines that are printed above the
// bars or by other parts of the run (`live-region.ts`).

interface BarsWorld {
  readonly stream: Host['stderr'];
  readonly region: LiveRegion;
  readonly size: () => { readonly columns: number; readonly rows: number };
  readonly clock: Pick<Clock, 'steady'>;
  readonly print: (line: Line) => void;
  readonly style: Style;
  /** True if the terminal can show block characters and check marks. */
  readonly hasUnicode: boolean;
}

const FRAMES_PER_SECOND = 10;
const MAX_BAR_SIZE = 60;

type Draw = (setting: RowSetting) => Piece[];

/** If there are too many rows, those waiting to be saved are hidden first, then tasks. */
type RowKind = 'whole' | 'task' | 'download' | 'waiting';

interface Row {
  readonly kind: RowKind;
  draw: Draw;
  /** For tasks and waiting rows: hidden rows are counted by status. */
  status?: string | undefined;
}

/** Loads the two libraries and creates the bars. */
export async function openProgressBars(world: BarsWorld): Promise<ProgressBoard> {
  const [{ default: cliProgress }, spinner] = await Promise.all([
    import('cli-progress'),
    loadSpinner(world.stream),
  ]);
  return new ProgressBars(world, cliProgress, spinner);
}

class ProgressBars implements ProgressBoard {
  readonly #terminal: FrameTerminal;
  readonly #multi: MultiBar;
  readonly #format: typeof import('cli-progress').Format.BarFormat;
  readonly #rows: Readonly<Record<RowKind, Map<string, Row>>> = {
    whole: new Map(),
    task: new Map(),
    download: new Map(),
    waiting: new Map(),
  };
  /** The visible rows, each with a library bar: a frame of thousands of jobs costs no more than a screenful. */
  #shown: readonly Row[] = [];
  readonly #bars: SingleBar[] = [];
  /** The library draws each time a bar is removed; such incomplete frames are skipped. */
  #isArranging = false;
  readonly #finished = new Set<string>();
  readonly #downloads = new Map<string, { readonly startedAtMs: number; readonly rate: TransferRate }>();
  readonly #onResize = (): void => this.#redraw();

  constructor(
    private readonly world: BarsWorld,
    cliProgress: typeof import('cli-progress'),
    private readonly spinner: () => string,
  ) {
    this.#terminal = new FrameTerminal(() => world.size().columns);
    // The library reads its terminal from `terminal`, which its types do not declare.
    const options: Options & { terminal: FrameTerminal } = {
      terminal: this.#terminal,
      fps: FRAMES_PER_SECOND,
      forceRedraw: true,
      clearOnComplete: true,
      gracefulExit: false,
      barsize: MAX_BAR_SIZE,
      barCompleteChar: world.hasUnicode ? '█' : '#',
      barIncompleteChar: world.hasUnicode ? '░' : '-',
    };
    this.#multi = new cliProgress.MultiBar(options);
    this.#multi.on('update-post', () => this.#show());
    this.#format = cliProgress.Format.BarFormat;
  }

  task(key: string, view: TaskView): void {
    if (view.state !== 'running') {
      const isGood = view.state === 'succeeded';
      if (view.isPart) this.#remove(key);
      else this.#finish(key, isGood, `${view.id} ${view.status} after ${durationText(view.elapsedMs)}`);
      return;
    }
    const seenAtMs = this.world.clock.steady();
    const draw: Draw = (setting) =>
      taskRow(view, view.elapsedMs + this.world.clock.steady() - seenAtMs, setting);
    this.#draw('task', key, draw, view.status);
  }

  download(key: string, view: DownloadView): void {
    if (view.isWaiting) {
      this.#draw('waiting', key, (setting) => waitingRow(view, setting), WAITING);
      return;
    }
    this.#rows.waiting.delete(key);
    const { clock } = this.world;
    const transfer = this.#downloads.get(key) ?? { startedAtMs: clock.steady(), rate: new TransferRate() };
    if (view.done) {
      this.#downloads.delete(key);
      const took = durationText(clock.steady() - transfer.startedAtMs);
      if (view.isPart) this.#remove(key);
      else this.#finish(key, true, `${view.name} ${bytesText(view.bytes)} in ${took}`);
      return;
    }
    const { rate } = transfer;
    rate.add(clock.steady(), view.bytes);
    this.#downloads.set(key, transfer);
    this.#draw('download', key, (setting) => {
      const nowMs = clock.steady();
      const remainingMs =
        view.totalBytes === undefined ? undefined : rate.remainingMs(nowMs, view.totalBytes);
      return downloadRow(view, { bytesPerSecond: rate.bytesPerSecond(nowMs), remainingMs }, setting);
    });
  }

  whole(key: string, update: WholeProgress): void {
    this.#draw('whole', key, (setting) => wholeRow(update, setting));
  }

  drop(key: string): void {
    this.#finished.delete(key);
    this.#downloads.delete(key);
    this.#remove(key);
  }

  clear(): void {
    for (const rows of Object.values(this.#rows)) rows.clear();
    this.#finished.clear();
    this.#downloads.clear();
    this.#arrange();
    this.#end();
  }

  #draw(kind: RowKind, key: string, draw: Draw, status?: string): void {
    this.#finished.delete(key);
    const row = this.#rows[kind].get(key);
    if (row !== undefined) {
      row.draw = draw;
      row.status = status;
      return;
    }
    if (this.#count() === 0) this.world.stream.on('resize', this.#onResize);
    this.#rows[kind].set(key, { kind, draw, status });
    this.#arrange();
    this.#letProcessEnd();
  }

  #count(): number {
    return Object.values(this.#rows).reduce((sum, rows) => sum + rows.size, 0);
  }

  /** Gives each row that fits a bar, and keeps one line for the count of the others. */
  #arrange(): void {
    const most = Math.max(1, this.world.size().rows - 1);
    const count = this.#count();
    const { whole, task, download, waiting } = this.#rows;
    let room = count > most ? most - 1 : count;
    const take = (rows: Map<string, Row>): Row[] => {
      const taken: Row[] = [];
      for (const row of rows.values()) {
        if (taken.length >= room) break;
        taken.push(row);
      }
      room -= taken.length;
      return taken;
    };
    const [wholes, downloads, tasks, waits] = [take(whole), take(download), take(task), take(waiting)];
    this.#shown = [...wholes, ...tasks, ...waits, ...downloads];
    while (this.#bars.length < this.#shown.length) {
      const at = this.#bars.length;
      this.#bars.push(this.#multi.create(1, 0, {}, { format: (options) => this.#rowText(at, options) }));
    }
    this.#isArranging = true;
    for (const bar of this.#bars.splice(this.#shown.length)) this.#multi.remove(bar);
    this.#isArranging = false;
  }

  /** Replaces a finished row by a line above the bars. */
  #finish(key: string, isGood: boolean, text: string): void {
    this.#remove(key);
    if (this.#finished.has(key)) return;
    this.#finished.add(key);
    // Redraws the rows first, so that the finished row is not also shown in its old state below the line.
    if (this.#count() > 0) this.#multi.update();
    const mark = this.world.hasUnicode ? (isGood ? '✓' : '✗') : isGood ? '+' : 'x';
    this.world.print((style) => `${(isGood ? style.good : style.bad)(mark)} ${text}`);
  }

  #remove(key: string): void {
    const rows = Object.values(this.#rows).find((each) => each.delete(key));
    if (rows === undefined) return;
    this.#arrange();
    if (this.#count() === 0) this.#end();
  }

  #end(): void {
    this.#multi.stop();
    this.world.stream.removeListener('resize', this.#onResize);
    this.world.region.end();
  }

  #rowText(at: number, options: Options): string {
    const pieces = this.#shown[at]?.draw({
      columns: this.#columns(),
      spinner: this.spinner(),
      bar: (fraction, size) =>
        fraction === undefined
          ? this.#movingBar(size)
          : this.#format(fraction, { ...options, barsize: size }),
    });
    return pieces === undefined ? '' : paintPieces(pieces, this.world.style);
  }

  /** A block that moves to and fro, for work of unknown length. */
  #movingBar(size: number): string {
    const block = Math.max(2, Math.floor(size / 5));
    const way = size - block;
    const step = Math.floor(this.world.clock.steady() / 120) % (2 * way);
    const at = step < way ? step : 2 * way - step;
    const [full, empty] = this.world.hasUnicode ? ['█', '░'] : ['#', '-'];
    return empty.repeat(at) + full.repeat(block) + empty.repeat(way - at);
  }

  /** One column stays free: terminals disagree about the cursor's position after the last column. */
  #columns(): number {
    return Math.max(1, this.world.size().columns - 1);
  }

  #show(): void {
    this.#letProcessEnd();
    if (this.#isArranging) return;
    const lines = this.#terminal.lines();
    const hidden = this.#count() - this.#shown.length;
    if (hidden > 0) {
      const text = `… and ${hidden} more${this.#hiddenStatuses()}`;
      const more = fitPieces([{ text, tone: 'faint' }], this.#columns());
      lines.splice(this.#shown.length, lines.length, paintPieces(more, this.world.style));
    }
    this.world.region.draw(lines);
  }

  /** The status counts of hidden rows: `: 180 running, 34 waiting to be saved`. */
  #hiddenStatuses(): string {
    const counts = new Map<string, number>();
    const shown = new Set(this.#shown);
    for (const row of [...this.#rows.task.values(), ...this.#rows.waiting.values()]) {
      if (row.status && !shown.has(row)) counts.set(row.status, (counts.get(row.status) ?? 0) + 1);
    }
    const most = [...counts].sort((left, right) => right[1] - left[1]);
    return most.length === 0 ? '' : `: ${most.map(([status, count]) => `${count} ${status}`).join(', ')}`;
  }

  #redraw(): void {
    this.world.region.lift();
    this.#arrange();
    this.#multi.update();
  }

  /** The library's timer must not keep the process alive when nothing else is left to do. */
  #letProcessEnd(): void {
    const timer: unknown = Reflect.get(this.#multi, 'timer');
    if (timer instanceof Object && 'unref' in timer && typeof timer.unref === 'function') timer.unref();
  }
}

/**
 * The terminal that the bar library draws on. It only collects the lines of one frame; LiveRegion decides where they go
 * on the real terminal.
 */
class FrameTerminal {
  #text = '';

  constructor(private readonly columns: () => number) {}

  lines(): string[] {
    return this.#text === '' ? [] : this.#text.split('\n');
  }

  isTTY(): boolean {
    return true;
  }

  getWidth(): number {
    return this.columns();
  }

  /** Called at the start of a frame. */
  cursorRelativeReset(): void {
    this.#text = '';
  }

  newline(): void {
    this.#text += '\n';
  }

  write(text: string): void {
    this.#text += text;
  }

  cursor(): void {}
  cursorTo(): void {}
  lineWrapping(): void {}
  clearRight(): void {}
  clearLine(): void {}
  clearBottom(): void {}
}
