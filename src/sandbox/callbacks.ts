import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLoopback } from '../loopback.ts';
import type { SandboxTask } from './task.ts';

/** A status callback: its time in Unix milliseconds, and its body. */
interface Callback {
  readonly atMs: number;
  readonly body: () => unknown;
}

/** The time limit for answering a family C `challenge` ("Events"). */
const CHALLENGE_MS = 3000;
const ANSWER_MS = 10_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_WATCHED_TASKS = 1000;
const MAX_SLEEP_MS = 2 ** 31 - 1;

/** The loopback ports that may be called; `any` if only this process can name one. */
export type CallbackPorts = readonly number[] | 'any';

/** The port of a callback URL; undefined unless it is plain HTTP on this machine. */
export function loopbackPort(address: string): number | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname, port } = new URL(address);
  return protocol === 'http:' && isLoopback(hostname) ? Number(port || 80) : undefined;
}

/**
 * Sends status callbacks while its server is open. Nothing waits for a callback, and a failed one is not repeated: a
 * client that missed it can poll.
 */
export class Callbacks {
  readonly #closing = new AbortController();
  #moved = new AbortController();
  #watched = 0;

  /**
   * @param now Unix milliseconds
   * @param ports the ports that may be called
   * @param tell receives a message about a URL that is not called
   * @param challengeMs the time limit for the echo of a challenge
   */
  constructor(
    private readonly now: () => number,
    private readonly ports: CallbackPorts,
    private readonly tell: (what: string) => void = () => {},
    private readonly challengeMs = CHALLENGE_MS,
  ) {
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * Posts these callbacks in order, each at its time. A URL with a port that is not allowed is not called.
   * @param challenge post a `challenge` first, and continue only if it is echoed in time (family C)
   */
  send(address: string | undefined, callbacks: readonly Callback[], challenge: boolean): void {
    if (address === undefined || this.#watched >= MAX_WATCHED_TASKS || !this.#isAllowed(address)) return;
    this.#watched++;
    this.#post(address, callbacks, challenge)
      .catch(() => undefined) // closed meanwhile
      .finally(() => void this.#watched--);
  }

  #isAllowed(address: string): boolean {
    const port = loopbackPort(address);
    if (port === undefined) this.tell('a callback to another machine, or not to http://, is never sent');
    else if (this.ports === 'any' || this.ports.includes(port)) return true;
    else this.tell(`a callback to port ${port} is not sent: --callbacks ${port} allows it`);
    return false;
  }

  /** Sends callbacks that are due after a jump of the clock. */
  clockMoved(): void {
    this.#moved.abort();
    this.#moved = new AbortController();
    setMaxListeners(0, this.#moved.signal);
  }

  /** Drops pending callbacks and aborts running ones. */
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
    const answer = await post(address, { challenge }, this.challengeMs, this.#closing.signal).catch(() => '');
    return echoOf(answer) === challenge;
  }

  async #waitUntil(atMs: number): Promise<void> {
    const { signal } = this.#closing;
    // A timer may fire a millisecond early, but the task must have changed before its callback.
    let leftMs = atMs - this.now() + 2;
    while (leftMs > 0) {
      const beganMs = this.now();
      const napMs = Math.min(leftMs, MAX_SLEEP_MS);
      const woken = AbortSignal.any([signal, this.#moved.signal]);
      const sleptMs = await sleep(napMs, napMs, { ref: false, signal: woken }).catch(
        () => this.now() - beganMs,
      );
      signal.throwIfAborted();
      leftMs -= sleptMs;
    }
    signal.throwIfAborted();
  }
}

/** Posts JSON on a new connection; returns the text of a 2xx reply, and rejects otherwise. */
async function post(address: string, body: unknown, withinMs: number, closing: AbortSignal): Promise<string> {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const signal = AbortSignal.any([closing, AbortSignal.timeout(withinMs)]);
  const sent = request(address, { method: 'POST', headers, agent: false, signal }).end(text);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // Later errors are reported through the response.
  sent.on('error', () => {});
  let answer = '';
  for await (const chunk of response.setEncoding('utf8')) {
    answer += chunk;
    if (answer.length > MAX_ANSWER_BYTES) throw new Error('the answer is too long');
  }
  const { statusCode = 0 } = response;
  if (statusCode >= 200 && statusCode < 300) return answer;
  throw new Error(`status ${statusCode}`);
}

function echoOf(answer: string): unknown {
  try {
    return (JSON.parse(answer) as { challenge?: unknown } | null)?.challenge;
  } catch {
    return undefined;
  }
}

/**
 * A callback for each status change of a task after its creation.
 * @param bodyAt makes the body from the task's state at that time (Unix milliseconds)
 */
export function statusCallbacks(task: SandboxTask, bodyAt: (nowMs: number) => unknown): Callback[] {
  const moments = [...new Set([task.startsAtMs, task.endsAtMs])];
  return moments.map((atMs) => ({ atMs, body: () => bodyAt(atMs) }));
}
