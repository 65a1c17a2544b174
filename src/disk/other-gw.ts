import { GwError } from '../errors.ts';
import { BEAT_MS, type Clock } from '../host.ts';
import { holderName, LET_GO, lockHolder } from './lock-file.ts';

// The one way to wait for another gw: the message names it, and the wait ends (promises, section 5, "Every wait on
// another program has an end"). A stopped gw (Ctrl-Z, a suspended machine) is alive but never releases its lock.

/** How long to wait for another gw. */
export interface Patience {
  readonly clock: Pick<Clock, 'steady' | 'sleep'>;
  readonly signal?: AbortSignal | undefined;
  /** Longest time without a sign of life from the other gw (`--timeout`). */
  readonly silenceMs: number;
  /** Steady time in ms at which the wait ends in any case (`--wait-timeout`). */
  readonly deadlineMs?: number | undefined;
}

/** Tracks the signs of life of a lock's holder. */
export class SignsOfLife {
  #sign: string | undefined;
  #silentMs = 0;

  constructor(readonly file: string) {}

  /**
   * Records that some milliseconds have passed, and returns how long the holder has been silent. Time in which this
   * process itself was stopped does not count.
   */
  after(passedMs: number, pauseMs: number): number {
    const { sign, isSelf = false } = lockHolder(this.file) ?? {};
    this.#silentMs = sign === this.#sign && !isSelf ? this.#silentMs + Math.min(passedMs, 2 * pauseMs) : 0;
    this.#sign = sign;
    return this.#silentMs;
  }
}

/**
 * Takes something as soon as another gw releases its lock; `onWait` is told repeatedly who holds it. Throws
 * `wait_timeout` when the patience ends, or the signal's reason.
 */
export async function waitForOther<T>(
  { file, what, pauseMs }: { readonly file: string; readonly what: string; readonly pauseMs: number },
  { clock, signal, silenceMs, deadlineMs = Number.POSITIVE_INFINITY }: Patience,
  take: () => T | undefined | Promise<T | undefined>,
  onWait: (who: string) => void,
): Promise<T> {
  const life = new SignsOfLife(file);
  let saidAtMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    const taken = await take();
    if (taken !== undefined) return taken;
    const who = holderName(file);
    const startMs = clock.steady();
    if (startMs - saidAtMs >= BEAT_MS) {
      onWait(who);
      saidAtMs = startMs;
    }
    if (startMs >= deadlineMs)
      throw timedOut(`${who} still works on ${what}`, 'it goes on; run this again to wait longer');
    await clock.sleep(Math.min(pauseMs, deadlineMs - startMs), signal);
    if (life.after(clock.steady() - startMs, pauseMs) < silenceMs) continue;
    throw timedOut(
      `${who} holds ${what}, and has shown no sign of life for ${Math.round(silenceMs / 1000)} s`,
    );
  }
}

/** The error when the wait for another gw has timed out. */
export class StillHeld extends GwError {}

const timedOut = (message: string, hint = LET_GO): GwError =>
  new StillHeld('wait_timeout', message, { hint });
