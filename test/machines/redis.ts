import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from '../helpers/free-port.ts';

// A real redis-server that belongs to one test, on a free port.

type After = (clean: () => unknown) => void;

export class TestRedis {
  readonly dir = fs.mkdtempSync(path.join(tmpdir(), 'gw-redis-'));
  readonly client: Redis;
  #child: ChildProcess | undefined;

  constructor(
    readonly port: number,
    readonly appendOnly: boolean,
  ) {
    this.client = new Redis(port, '127.0.0.1', { lazyConnect: true, maxRetriesPerRequest: null });
    this.client.on('error', () => {});
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts the server; in append-only mode it keeps its earlier data. */
  async start(): Promise<void> {
    const options = {
      port: this.port,
      bind: '127.0.0.1',
      save: '',
      appendonly: this.appendOnly ? 'yes' : 'no',
      // `gw queue serve` sets this too: `everysec` acknowledges a write up to two seconds before a slow disk has it.
      appendfsync: 'always',
    };
    const child = spawn(
      'redis-server',
      Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
      {
        cwd: this.dir,
        // libfaketime, which shifts the clock, clashes with Redis's allocator. Redis keeps the real time: machines may differ.
        env: { PATH: process.env.PATH ?? '' },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      let said = '';
      child.on('error', reject);
      child.on('close', () => reject(new Error(`redis-server ended: ${said}`)));
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (/Ready to accept connections/.test(said)) resolve();
      });
    });
  }

  /** Ends the server and waits until it has ended. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await ended;
  }

  /** `SIGSTOP` makes the server silent and keeps its connections; `SIGCONT` resumes it. */
  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Every key with its value, as text. */
  async everything(): Promise<string> {
    const found: string[] = [];
    for (const key of await this.client.keys('*')) {
      const type = await this.client.type(key);
      const value =
        type === 'hash'
          ? await this.client.hgetall(key)
          : type === 'list'
            ? await this.client.lrange(key, 0, -1)
            : type === 'zset'
              ? await this.client.zrange(key, '0', '-1')
              : type === 'set'
                ? await this.client.smembers(key)
                : type === 'stream'
                  ? await this.client.xrange(key, '-', '+')
                  : await this.client.get(key);
      found.push(`${key} ${JSON.stringify(value)}`);
    }
    return found.join('\n');
  }

  async close(): Promise<void> {
    this.client.disconnect();
    await this.stop();
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Starts a server; `after` decides when it ends, by default after the test. */
export async function openRedis(
  { appendOnly = false }: { readonly appendOnly?: boolean } = {},
  after: After = onTestFinished as After,
): Promise<TestRedis> {
  const redis = new TestRedis(await freePort(), appendOnly);
  after(() => redis.close());
  await redis.start();
  await redis.client.connect();
  return redis;
}
