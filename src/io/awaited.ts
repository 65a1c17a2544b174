import { type Host, sizeOf } from '../host.ts';
import { oneLine } from './escape.ts';
import { durationText } from './quantity-text.ts';
import { canShowUnicode, loadSpinner } from './style.ts';

/** A short wait is not shown; a longer one appears within half a second. */
const AFTER_MS = 300;
const FRAME_MS = 100;
/** Columns for the spinner and the elapsed time. */
const BESIDE_COLUMNS = 16;

interface AwaitedWorld {
  readonly host: Pick<Host, 'stderr' | 'clock' | 'platform' | 'env'>;
  /** True if nothing else is drawn at the bottom of the terminal. */
  readonly isFree: () => boolean;
  /** Draws lines at the bottom of the terminal; an empty list removes them. */
  readonly draw: (lines: readonly string[]) => void;
}

interface Wait {
  readonly what: string;
  readonly beganMs: number;
}

/** Shows on a terminal what gw is waiting for and for how long; of several waits, the one that began last. */
export class Awaited {
  readonly #waits = new Set<Wait>();
  #start: NodeJS.Timeout | undefined;
  #frames: NodeJS.Timeout | undefined;
  #isDrawn = false;

  constructor(private readonly world: AwaitedWorld) {}

  /** Shows a wait until the returned function is called. */
  begin(what: string): () => void {
    const wait: Wait = { what, beganMs: this.world.host.clock.steady() };
    this.#waits.add(wait);
    this.#start ??= setTimeout(() => void this.#begin(), AFTER_MS);
    return () => {
      this.#waits.delete(wait);
      if (this.#waits.size === 0) this.#end();
    };
  }

  async #begin(): Promise<void> {
    const { host, isFree, draw } = this.world;
    const spinner = await loadSpinner(host.stderr);
    if (this.#waits.size === 0 || this.#frames !== undefined) return;
    const show = () => {
      const wait = isFree() ? [...this.#waits].at(-1) : undefined;
      this.#isDrawn = wait !== undefined;
      if (wait === undefined) return;
      const mark = canShowUnicode(host) ? `${spinner()} ` : '';
      const room = Math.max(10, sizeOf(host.stderr).columns - BESIDE_COLUMNS);
      draw([`${mark}${oneLine(wait.what, room)} (${durationText(host.clock.steady() - wait.beganMs)})`]);
    };
    show();
    this.#frames = setInterval(show, FRAME_MS);
  }

  #end(): void {
    clearTimeout(this.#start);
    clearInterval(this.#frames);
    this.#start = this.#frames = undefined;
    if (this.#isDrawn && this.world.isFree()) this.world.draw([]);
    this.#isDrawn = false;
  }
}
