import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { expect, test as plainTest } from 'vitest';
import type { EndingSignal } from '../../src/errors.ts';
import type { Clock, Host } from '../../src/host.ts';
import { main } from '../../src/main.ts';
import { parseFaults } from '../../src/sandbox/faults.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts';
import { assetsDir, wasmDir } from './assets-dir.ts';
import { closing } from './closing.ts';

// Runs a whole command in process, with memory streams, a temporary home, a scripted clock, and a sandbox that counts requests.

export const KEY = 'canary-key-5f1d8c7e9ab24d60';
export const clipsDir = path.join(import.meta.dirname, '../../src/sandbox/clips');

/** Time that passes only when something sleeps; a world's sandbox shares this clock. */
export class ScriptedClock implements Clock {
  ms = Date.UTC(2026, 10, 20, 12);
  readonly slept: number[] = [];
  private readonly startMs = this.ms;
  now = (): number => this.ms;
  steady = (): number => this.ms - this.startMs;
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.ms += ms;
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
  }
}

class Sink extends Writable {
  text = '';
  constructor(
    readonly isTTY: boolean,
    readonly columns = 100,
    readonly rows = 30,
  ) {
    super();
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly stdin?: string | Readable;
  readonly terminal?: boolean;
  /** Receives a function that sends the run a signal. */
  readonly interrupts?: (send: (signal: EndingSignal) => void) => void;
  /** Runs without the base URL and key of the world's sandbox. */
  readonly bare?: boolean;
}

/** A home, a working directory, a clock and a sandbox that several runs share. */
export class World {
  readonly clock = new ScriptedClock();
  readonly dir = mkdtempSync(path.join(tmpdir(), 'gw-test-'));
  readonly cwd = path.join(this.dir, 'work');
  sandbox!: Sandbox;
  #isClosed = false;

  static async open(options: Partial<SandboxOptions> & { fault?: string } = {}): Promise<World> {
    const world = new World();
    mkdirSync(world.cwd);
    const { fault, ...rest } = options;
    world.sandbox = await world.#start({
      ...(fault !== undefined && { faults: parseFaults(fault) }),
      ...rest,
    });
    return closing(world);
  }

  /** Starts another sandbox with the world's clock. */
  async serve(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
    return closing(await this.#start(options));
  }

  #start(options: Partial<SandboxOptions>): Promise<Sandbox> {
    const { now } = this.clock;
    const usual = { key: KEY, account: 'enterprise' as const, speed: 10, faults: [], clipsDir, wasmDir, now };
    return startSandbox({ ...usual, ...options });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.sandbox.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Runs gw with these arguments and collects its output. */
  async gw(argv: readonly string[], options: RunOptions = {}): Promise<Run> {
    const host = this.host(options);
    const code = await main(argv, host);
    return { code, out: host.stdout.text, err: host.stderr.text };
  }

  /** Like `gw`, for a run that must succeed. */
  async ok(argv: readonly string[], options?: RunOptions): Promise<Run> {
    const run = await this.gw(argv, options);
    expect(run.code, run.err).toBe(0);
    return run;
  }

  /** The host that a run in this world gets. */
  host(options: RunOptions = {}) {
    const terminal = options.terminal ?? false;
    const stdout = new Sink(terminal);
    const stderr = new Sink(terminal);
    const stdin =
      options.stdin instanceof Readable
        ? options.stdin
        : Object.assign(
            options.stdin === undefined ? new PassThrough() : Readable.from([Buffer.from(options.stdin)]),
            { isTTY: options.stdin === undefined },
          );
    return {
      env: {
        HOME: this.dir,
        ...(!options.bare && { GW_BASE_URL: this.sandbox.baseUrl, GW_API_KEY: KEY }),
        ...options.env,
      },
      cwd: this.cwd,
      platform: process.platform,
      homeDir: this.dir,
      version: '0.0.0-test',
      assetsDir,
      stdin,
      stdout,
      stderr,
      clock: this.clock,
      random: () => 0.5,
      mayTouchFlags: () => false,
      guardTerminal: async () => () => {},
      endNow: () => {
        throw new Error('the run was ended by force');
      },
      onSignal: (heard) => {
        options.interrupts?.(heard);
        return () => {};
      },
    } satisfies Host;
  }

  /** The files in the working directory with their sizes. */
  files(): Record<string, number> {
    const names = readdirSync(this.cwd, { recursive: true }) as string[];
    return Object.fromEntries(
      names
        .filter((name) => statSync(path.join(this.cwd, name)).isFile())
        .map((name) => [name, statSync(path.join(this.cwd, name)).size]),
    );
  }

  /** The requests to the API so far, as `METHOD path`. */
  requests(): string[] {
    return this.sandbox.requests.map((request) => `${request.method} ${request.path}`);
  }
}

/** A test that can ask for a world of its own. */
export const test = plainTest.extend('world', () => World.open());
