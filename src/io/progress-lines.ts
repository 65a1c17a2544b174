// Progress without a terminal: one plain line for each change of state, and at least every 30 s one line for all work
// in progress.
import type { Clock } from '../host.ts';
import type { WholeProgress } from './io.ts';
import { type DownloadView, type ProgressBoard, type TaskView, TransferRate } from './progress.ts';
import { bytesText, durationText } from './quantity-text.ts';

/** Less than the promised 30 s by more than the timer's interval. */
const HEARTBEAT_MS = 25_000;
const CHECK_MS = 1_000;

interface TaskEntry {
  readonly view: TaskView;
  readonly seenAtMs: number;
}

interface DownloadEntry {
  readonly view: DownloadView;
  readonly startedAtMs: number;
  readonly rate: TransferRate;
}

export class ProgressLines implements ProgressBoard {
  readonly #tasks = new Map<string, TaskEntry>();
  readonly #downloads = new Map<string, DownloadEntry>();
  readonly #wholes = new Map<string, WholeProgress>();
  /** Keys of finished rows, so that each is reported once. */
  readonly #finished = new Set<string>();
  #lastLineAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly print: (line: string) => void,
    private readonly clock: Pick<Clock, 'steady'>,
  ) {}

  task(key: string, view: TaskView): void {
    const before = this.#tasks.get(key)?.view;
    if (view.state !== 'running') {
      this.#tasks.delete(key);
      this.#finish(key, `${view.id}: ${view.status} after ${durationText(view.elapsedMs)}`);
      return;
    }
    this.#finished.delete(key);
    this.#tasks.set(key, { view, seenAtMs: this.clock.steady() });
    if (before?.status !== view.status) this.#say(taskLine(view, view.elapsedMs));
    this.#watch();
  }

  download(key: string, view: DownloadView): void {
    const nowMs = this.clock.steady();
    const before = this.#downloads.get(key);
    if (view.isWaiting) return;
    if (view.done) {
      this.#downloads.delete(key);
      const took = before === undefined ? '' : ` in ${durationText(nowMs - before.startedAtMs)}`;
      this.#finish(key, `${view.name}: ${bytesText(view.bytes)} downloaded${took}`);
      return;
    }
    this.#finished.delete(key);
    const entry = {
      view,
      startedAtMs: before?.startedAtMs ?? nowMs,
      rate: before?.rate ?? new TransferRate(),
    };
    entry.rate.add(nowMs, view.bytes);
    this.#downloads.set(key, entry);
    if (before === undefined) this.#say(startLine(view));
    this.#watch();
  }

  /** Single jobs of thousands get no line of their own; the heartbeat reports the counts. */
  whole(key: string, whole: WholeProgress): void {
    this.#wholes.set(key, whole);
    this.#watch();
  }

  drop(key: string): void {
    for (const rows of [this.#tasks, this.#downloads, this.#wholes, this.#finished]) rows.delete(key);
    if (this.#isIdle) this.#rest();
  }

  clear(): void {
    for (const rows of [this.#tasks, this.#downloads, this.#wholes, this.#finished]) rows.clear();
    this.#rest();
  }

  get #isIdle(): boolean {
    return this.#tasks.size + this.#downloads.size + this.#wholes.size === 0;
  }

  #finish(key: string, line: string): void {
    if (!this.#finished.has(key)) this.#say(line);
    this.#finished.add(key);
    if (this.#isIdle) this.#rest();
  }

  #say(line: string): void {
    this.#lastLineAtMs = this.clock.steady();
    this.print(line);
  }

  /** Checks now, for callers with a clock of their own, and then once every second. */
  #watch(): void {
    this.#beat();
    this.#timer ??= setInterval(() => this.#beat(), CHECK_MS).unref();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    const nowMs = this.clock.steady();
    if (nowMs - this.#lastLineAtMs < HEARTBEAT_MS) return;
    const parts = [
      ...[...this.#wholes.values()].map(wholePart),
      tasksPart([...this.#tasks.values()], nowMs),
      this.#downloadsPart(nowMs),
    ].filter(Boolean);
    if (parts.length > 0) this.#say(parts.join('; '));
  }

  #downloadsPart(nowMs: number): string {
    const downloads = [...this.#downloads.values()];
    const [first] = downloads;
    if (first === undefined) return '';
    if (downloads.length === 1) return underWayLine(first.view, first.rate, nowMs);
    const bytes = downloads.reduce((sum, { view }) => sum + view.bytes, 0);
    return `downloading ${downloads.length} files: ${bytesText(bytes)} so far`;
  }
}

function tasksPart(tasks: readonly TaskEntry[], nowMs: number): string {
  const [first] = tasks;
  if (first === undefined) return '';
  if (tasks.length > 1) return `waiting for ${tasks.length} tasks: ${countByStatus(tasks)}`;
  return taskLine(first.view, first.view.elapsedMs + nowMs - first.seenAtMs);
}

function taskLine(view: TaskView, elapsedMs: number): string {
  const percent = view.percent === undefined ? '' : `, ${Math.floor(view.percent)} %`;
  const elapsed = elapsedMs > 0 ? `, ${durationText(elapsedMs)} so far` : '';
  return `${view.id}: ${view.status}${percent}${elapsed}`;
}

function countByStatus(tasks: readonly TaskEntry[]): string {
  const counts = new Map<string, number>();
  for (const { view } of tasks) counts.set(view.status, (counts.get(view.status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}

function startLine({ name, bytes, totalBytes }: DownloadView): string {
  const size = totalBytes === undefined ? '' : ` ${bytesText(totalBytes)}`;
  return `${name}: downloading${size}${bytes > 0 ? `, ${bytesText(bytes)} already here` : ''}`;
}

function underWayLine({ name, bytes, totalBytes }: DownloadView, rate: TransferRate, nowMs: number): string {
  const share = totalBytes === undefined ? '' : ` (${Math.floor((bytes * 100) / totalBytes)} %)`;
  const of = totalBytes === undefined ? '' : ` of ${bytesText(totalBytes)}`;
  const pace = rate.bytesPerSecond(nowMs);
  return `${name}: ${bytesText(bytes)}${of}${share}${pace === undefined ? '' : `, ${bytesText(pace)}/s`}`;
}

function wholePart({ done, failed, total, leftMs }: WholeProgress): string {
  const counts = `${done} of ${total} done${failed === 0 ? '' : `, ${failed} failed`}`;
  return leftMs === undefined ? counts : `${counts}, ${durationText(leftMs)} left`;
}
