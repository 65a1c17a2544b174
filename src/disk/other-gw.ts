import { GwError } from '../errors.ts';
import { BEAT_MS, type Clock } from '../host.ts';
import { holderName, LET_GO, lockHolder } from './lock-file.ts';

// The one way to wait for another gw: it is named, and the wait has an end (promises, section 5, "Every wait on another
// program has an end"). One that is stopped (Ctrl-Z, a frozen machine) lives, and lets go of nothing.

/** How long another gw is waited for. */
export interface Patience {
  readonly clock: Pick<Clock, 'steady' | 'sleep'>;
  readonly signal?: AbortSignal | undefined;
  /** Longest time without a sign of life of it (`--timeout`). */
  readonly silenceMs: number;
  /** Steady milliseconds at which the wait ends in any case (`--wait-timeout`). */
  readonly deadlineMs?: number | undefined;
}

/** The signs of life that the holder of a lock gives. */
export class SignsOfLife {
  #sign: string | undefined;
  #silentMs = 0;

  constructor(readonly file: string) {}

  /**
   * Takes note that so many milliseconds have passed, and gives back for how long the holder has been silent. Time in which
   * this process was stopped itself is no silence of the other one.
   */
  after(passedMs: number, pauseMs: number): number {
    const { sign, isSelf = false } = lockHolder(this.file) ?? {};
    this.#silentMs = sign === this.#sign && !isSelf ? this.#silentMs + Math.min(passedMs, 2 * pauseMs) : 0;
    this.#sign = sign;
    return this.#silentMs;
  }
}

/**
 * Takes what another gw holds by a lock, as soon as that one lets go; `onWait` hears who has it, again as long as it lasts. Throws `wait_timeout`
 * at the end of the patience, and the signal's reason.
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

/** The end of the patience with another gw. */
export class StillHeld extends GwError {}

const timedOut = (message: string, hint = LET_GO): GwError =>
  new StillHeld('wait_timeout', message, { hint });
