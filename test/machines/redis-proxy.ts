import * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

// A proxy to Redis with the faults of real connections: no answer while the connection stays open, an answer that is late or
// breaks off, and a server that answers every command with an error.

type After = (clean: () => unknown) => void;

export const refusalWords = {
  READONLY: "You can't write against a read only replica.",
  OOM: "command not allowed when used memory > 'maxmemory'.",
  LOADING: 'Redis is loading the dataset in memory',
  NOAUTH: 'Authentication required.',
  BUSY: 'Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  CLUSTERDOWN: 'The cluster is down',
} as const;
export type Refusing = keyof typeof refusalWords;
/** `cut`: the next reply breaks off in the middle and its connection closes. */
export type RedisFault = 'none' | 'swallow' | 'delay' | 'cut' | 'reset' | Refusing;

/** Commands that a real server in this trouble still answers; the proxy passes them on. */
const answered: Partial<Record<Refusing, RegExp>> = {
  READONLY:
    /^(?:info|hello|client|auth|select|ping|config|command|hgetall|hget|hmget|lrange|xread|xrevrange|llen|multi|exec|get|script)$/i,
  OOM: /^(?:info|hello|client|auth|select|ping|config|command|hgetall|hget|hmget|lrange|xread|xrevrange|llen|multi|exec|get|del|script|bzpopmin)$/i,
};

export class RedisProxy {
  /** The number of commands received so far. */
  commands = 0;
  delayMs = 5_000;
  #fault: RedisFault = 'none';
  #when: { readonly text: string; readonly fault: RedisFault; readonly reach: () => void } | undefined;
  readonly #pairs = new Set<readonly [client: net.Socket, redis: net.Socket]>();
  readonly #server: net.Server;
  readonly #redisPort: number;

  constructor(redisPort: number) {
    this.#redisPort = redisPort;
    this.#server = net.createServer((client) => this.#join(client));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}`;
  }

  get fault(): RedisFault {
    return this.#fault;
  }

  /** Sets the fault of all traffic from now on. */
  set fault(fault: RedisFault) {
    this.#fault = fault;
    if (fault === 'reset')
      for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
    // Replies that were held back are lost with their connection, as behind a firewall that forgets its connections.
    if (fault === 'none') for (const [client] of this.#pairs) if (isStuck.has(client)) client.destroy();
  }

  /** Sets a fault from the first command that contains `text`; resolves when that command arrives. */
  at(text: string, fault: RedisFault): Promise<void> {
    return new Promise((reach) => {
      this.#when = { text, fault, reach };
    });
  }

  #join(client: net.Socket): void {
    const redis = net.connect(this.#redisPort, '127.0.0.1');
    const pair = [client, redis] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#pairs.delete(pair);
        client.destroy();
        redis.destroy();
      });
    }
    if (this.#fault === 'reset') return void client.resetAndDestroy();
    let rest: Buffer = Buffer.alloc(0);
    client.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end = commandEnd(rest); end > 0; end = commandEnd(rest)) {
        const command = rest.subarray(0, end);
        rest = rest.subarray(end);
        this.#command(command, client, redis);
      }
    });
    redis.on('data', (bytes: Buffer) => void this.#reply(bytes, client));
  }

  #command(command: Buffer, client: net.Socket, redis: net.Socket): void {
    this.commands += 1;
    const when = this.#when;
    if (when && command.includes(when.text)) {
      this.#when = undefined;
      this.fault = when.fault;
      when.reach();
    }
    const fault = this.#fault;
    if (fault === 'swallow') return void isStuck.add(client);
    if (!(fault in refusalWords)) return void redis.write(command);
    const refusing = fault as Refusing;
    const [, name = ''] = /^\*\d+\r\n\$\d+\r\n([^\r]*)/.exec(command.toString('latin1')) ?? [];
    if (answered[refusing]?.test(name)) return void redis.write(command);
    client.write(`-${refusing} ${refusalWords[refusing]}\r\n`);
  }

  async #reply(bytes: Buffer, client: net.Socket): Promise<void> {
    if (this.#fault === 'swallow') return void isStuck.add(client);
    if (this.#fault === 'delay') await pause(this.delayMs);
    if (this.#fault !== 'cut') return void client.write(bytes);
    client.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => client.destroy());
  }

  close(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    this.#server.close();
  }
}

const isStuck = new WeakSet<net.Socket>();

/** The end of the first complete command in the bytes; 0 if it is not complete yet. */
function commandEnd(bytes: Buffer): number {
  const lineEnd = (from: number) => bytes.indexOf('\r\n', from);
  const first = lineEnd(0);
  if (first < 0) return 0;
  let at = first + 2;
  for (let left = Number(bytes.toString('latin1', 1, first)); left > 0; left -= 1) {
    const end = lineEnd(at);
    if (end < 0) return 0;
    at = end + 2 + Number(bytes.toString('latin1', at + 1, end)) + 2;
    if (at > bytes.length) return 0;
  }
  return at;
}

export async function openRedisProxy(
  redisPort: number,
  after: After = onTestFinished as After,
): Promise<RedisProxy> {
  const proxy = new RedisProxy(redisPort);
  after(() => proxy.close());
  await proxy.listen();
  return proxy;
}
