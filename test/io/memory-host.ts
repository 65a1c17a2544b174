import { PassThrough, Writable } from 'node:stream';
import type { IoOptions } from '../../src/io/create-io.ts';
import { createIo } from '../../src/io/create-io.ts';
import type { Io, OutputMode } from '../../src/io/io.ts';

/** A stream that remembers what was written, and may be a terminal. */
export class MemoryStream extends Writable {
  readonly chunks: Buffer[] = [];
  /** When set, every write fails with this error. */
  failWith: Error | undefined;
  /** When set, a write is accepted only once this promise resolves. */
  hold: Promise<void> | undefined;
  constructor(
    readonly isTTY: boolean,
    public columns = 80,
    public rows = 24,
  ) {
    super({ decodeStrings: true, autoDestroy: false });
  }
  get text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.failWith === undefined) this.chunks.push(chunk);
    if (this.hold === undefined) done(this.failWith);
    else void this.hold.then(() => done());
  }
}

/** A clock whose steady time stands still until a test moves it. */
export class HandClock {
  nowMs = 1_000_000;
  now(): number {
    return this.nowMs;
  }
  steady(): number {
    return this.nowMs;
  }
  sleep(): Promise<void> {
    return Promise.reject(new Error('nothing in io sleeps'));
  }
}

export interface TestIoOptions {
  readonly mode?: Partial<OutputMode>;
  /** Says which streams are terminals. */
  readonly stdout?: 'terminal' | 'pipe';
  readonly stderr?: 'terminal' | 'pipe';
  readonly env?: Record<string, string>;
  readonly noColor?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export interface TestIo {
  readonly io: Io;
  readonly stdout: MemoryStream;
  readonly stderr: MemoryStream;
  readonly clock: HandClock;
}

export function testIo(options: TestIoOptions = {}): TestIo {
  const stdout = new MemoryStream(options.stdout === 'terminal', options.columns, options.rows);
  const stderr = new MemoryStream(options.stderr === 'terminal', options.columns, options.rows);
  const clock = new HandClock();
  const host: IoOptions['host'] = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: options.env ?? {},
    platform: 'linux',
    clock,
  };
  const mode: OutputMode = { json: false, quiet: false, verbose: false, bars: false, ...options.mode };
  return { io: createIo({ host, mode, noColor: options.noColor }), stdout, stderr, clock };
}

/** Every combination that changes how output looks. */
export function allModes(): TestIoOptions[] {
  const truths = [false, true];
  const modes: TestIoOptions[] = [];
  for (const json of truths) {
    for (const quiet of truths) {
      for (const verbose of truths) {
        for (const place of ['terminal', 'pipe'] as const) {
          modes.push({ mode: { json, quiet, verbose }, stdout: place, stderr: place });
        }
      }
    }
  }
  return modes;
}
