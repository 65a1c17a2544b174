import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** A status callback: when it is due (Unix milliseconds), and what it says. */
export interface Callback {
  readonly atMs: number;
  readonly body: () => unknown;
}

/** The answer to a family C `challenge` must come within so long ("Events"). */
const CHALLENGE_MS = 3000;
const ANSWER_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_WATCHED_TASKS = 1000;
const MAX_SLEEP_MS = 2 ** 31 - 1;

/** Whether the sandbox calls an address: plain HTTP on this machine, nothing else. */
export function isCalled(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/**
 * Sends status callbacks while its server is open. Nobody waits for one, and one that fails is over: a caller that
 * missed it polls, as without callbacks.
 */
export class Callbacks {
  readonly #now: () => number;
  readonly #challengeMs: number;
  readonly #closing = new AbortController();
  #watched = 0;

  /**
   * @param now Unix milliseconds
   * @param challengeMs how long the echo of a challenge may take
   */
  constructor(now: () => number, challengeMs = CHALLENGE_MS) {
    this.#now = now;
    this.#challengeMs = challengeMs;
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * Posts these callbacks, each when it is due, in order. An address that is not on this machine is not called.
   * @param challenge first post a `challenge`, and go on only where it is echoed in time (family C)
   */
  send(address: string | undefined, callbacks: readonly Callback[], challenge: boolean): void {
    if (address === undefined || !isCalled(address) || this.#watched >= MAX_WATCHED_TASKS) return;
    this.#watched++;
    this.#post(address, callbacks, challenge)
      .catch(() => undefined) // closed meanwhile
      .finally(() => {
        this.#watched--;
      });
  }

  /** Drops what is due later and what is under way. */
  close(): void {
    this.#closing.abort();
  }

  async #post(address: string, callbacks: readonly Callback[], challenge: boolean): Promise<void> {
    if (challenge && !(await this.#isEchoed(address))) return;
    for (const { atMs, body } of callbacks) {
      await this.#waitUntil(atMs);
      await post(address, body(), ANSWER_MS, this.#closing.signal).catch(() => undefined);
    }
  }

  async #isEchoed(address: string): Promise<boolean> {
    const challenge = randomBytes(16).toString('hex');
    const answer = await post(address, { challenge }, this.#challengeMs, this.#closing.signal).catch(
      () => '',
    );
    return echoOf(answer) === challenge;
  }

  async #waitUntil(atMs: number): Promise<void> {
    const { signal } = this.#closing;
    // A timer may ring a millisecond early; the task must have changed when the callback says so.
    const wait = (ms: number) => sleep(Math.min(ms, MAX_SLEEP_MS), undefined, { ref: false, signal });
    let leftMs = atMs - this.#now() + 2;
    for (; leftMs > 0; leftMs -= MAX_SLEEP_MS) await wait(leftMs);
    signal.throwIfAborted();
  }
}

/** Posts JSON on a connection of its own; gives the text of a 2xx reply, rejects otherwise. */
function post(address: string, body: unknown, withinMs: number, closing: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const signal = AbortSignal.any([closing, AbortSignal.timeout(withinMs)]);
    const sent = request(address, { method: 'POST', headers, agent: false, signal });
    sent.once('error', reject);
    sent.once('response', (response) => {
      let answer = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        answer += chunk;
        if (answer.length > MAX_ANSWER_BYTES) sent.destroy(new Error('the answer is too long'));
      });
      response.once('error', reject);
      response.once('end', () => {
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve(answer);
        else reject(new Error(`status ${statusCode}`));
      });
    });
    sent.end(text);
  });
}

function echoOf(answer: string): unknown {
  try {
    return (JSON.parse(answer) as { challenge?: unknown } | null)?.challenge;
  } catch {
    return undefined;
  }
}
