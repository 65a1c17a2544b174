import type { Clock, Host } from '../host.ts';
import { durationText } from './duration-text.ts';
import { oneLine } from './escape.ts';

/** What comes at once needs no word; what is awaited is said within half a second. */
const AFTER_MS = 300;
const FRAME_MS = 100;
/** Room for the spinner and the time. */
const BESIDE_COLUMNS = 16;

export interface AwaitedWorld {
  readonly stream: Host['stderr'];
  readonly clock: Pick<Clock, 'steady'>;
  readonly columns: () => number;
  readonly hasUnicode: boolean;
  /** Puts lines at the foot of the terminal; none takes them away. */
  readonly draw: (lines: readonly string[]) => void;
}

/** Says on a terminal what is awaited, and for how long already, until the returned function is called: then it is gone. */
export function showAwaited(what: string, world: AwaitedWorld): () => void {
  const { clock, columns, draw } = world;
  const beganMs = clock.steady();
  let isOver = false;
  let frames: NodeJS.Timeout | undefined;
  const begin = async () => {
    const { default: ora } = await import('ora');
    if (isOver) return;
    const spinner = ora({
      stream: world.stream,
      isEnabled: false,
      discardStdin: false,
      color: false,
      hideCursor: false,
    });
    const show = () => {
      const mark = world.hasUnicode ? `${spinner.frame().trim()} ` : '';
      const room = Math.max(10, columns() - BESIDE_COLUMNS);
      draw([`${mark}${oneLine(what, room)} (${durationText(clock.steady() - beganMs)})`]);
    };
    show();
    frames = setInterval(show, FRAME_MS);
  };
  const start = setTimeout(() => void begin(), AFTER_MS);
  return () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(start);
    if (frames === undefined) return;
    clearInterval(frames);
    draw([]);
  };
}
