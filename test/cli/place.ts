import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { alphaTasksPath } from '../../src/gateway/alpha/task.ts';
import type { Job } from '../../src/ledger/event.ts';
import { journalNameAt } from '../../src/ledger/journal-files.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { parseFaults } from '../../src/sandbox/faults.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts';
import { wasmDir } from '../helpers/assets-dir.ts';
import { closing } from '../helpers/closing.ts';
import { builtGw } from './built.ts';

// Runs gw as a process, with its own home and working directory and a gateway in the test's process.

export const KEY = 'canary-key-5f1d8c7e9ab24d60';
export const create = ['video', 'alpha', 'create', '--interval', '100ms', '--wait'];
const clipsDir = path.join(import.meta.dirname, '../../src/sandbox/clips');

// The suite also runs with a shifted date; these variables pass libfaketime, which shifts the clock, on to gw.
const shifting = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC'];
const shiftedClock = Object.fromEntries(shifting.map((name) => [name, process.env[name]]));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface StartOptions {
  readonly env?: Record<string, string | undefined>;
  /** Text for stdin; `open` keeps the pipe open; when absent, stdin is empty. */
  readonly stdin?: string | 'open';
  /** A command that runs gw, for example `strace …`. */
  readonly wrap?: readonly string[];
  readonly cwd?: string;
  /** The `bin/gw.js` of another version. */
  readonly script?: string;
  /** The test will kill this run, so even a `NearPlace` starts a process for it. */
  readonly isKilled?: boolean;
}

export interface Running {
  readonly child: ChildProcess;
  /** The process ID of gw, or of the command that runs gw. */
  readonly pid: number;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<Ended>;
}

export class Place {
  readonly dir = fs.mkdtempSync(path.join(tmpdir(), 'gw-cli-'));
  readonly home = path.join(this.dir, 'home');
  readonly cwd = path.join(this.dir, 'work');
  readonly temp = path.join(this.dir, 'temp');
  readonly state = path.join(this.home, '.local/state/gw');

  private readonly running = new Set<ChildProcess>();

  constructor(readonly sandbox?: Pick<Sandbox, 'baseUrl'>) {
    for (const dir of [this.home, this.cwd, this.temp]) fs.mkdirSync(dir);
    closing(this);
  }

  /** The environment of a run, without the test's own variables. */
  env(more: StartOptions['env'] = {}): Record<string, string> {
    const { command, cacheDir } = builtGw();
    const all = {
      PATH: process.env.PATH,
      HOME: this.home,
      TMPDIR: this.temp,
      ...shiftedClock,
      XDG_CACHE_HOME: cacheDir,
      GW: command.join(' '),
      ...(this.sandbox && { GW_BASE_URL: this.sandbox.baseUrl, GW_API_KEY: KEY }),
      ...more,
    };
    return Object.fromEntries(
      Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
  }

  start(argv: readonly string[], options: StartOptions = {}): Running {
    const [command = '', ...args] = [
      ...(options.wrap ?? []),
      ...(options.script === undefined ? builtGw().command : [process.execPath, options.script]),
      ...argv,
    ];
    return this.spawn(command, args, options);
  }

  run(argv: readonly string[], options: StartOptions = {}): Promise<Ended> {
    return this.start(argv, options).ended;
  }

  /** Runs a line of bash in which `$GW` is gw. Only gw's clock is shifted, because libfaketime can end a process in a pipe. */
  shell(line: string, { env, ...options }: StartOptions = {}): Promise<Ended> {
    const { LD_PRELOAD, GW = '', ...rest } = this.env(env);
    const shifted = LD_PRELOAD ? `env LD_PRELOAD=${LD_PRELOAD} ${GW}` : GW;
    return this.command('bash', ['-c', line], {
      ...options,
      env: { ...rest, LD_PRELOAD: undefined, GW: shifted },
    });
  }

  command(name: string, args: string[], options: StartOptions = {}): Promise<Ended> {
    return this.spawn(name, args, options).ended;
  }

  spawn(command: string, args: string[], options: StartOptions): Running {
    const { stdin } = options;
    const child = spawn(command, args, {
      cwd: options.cwd ?? this.cwd,
      env: this.env(options.env),
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let [out, err] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.stdin?.on('error', () => {});
    this.running.add(child);
    child.on('close', () => this.running.delete(child));
    if (stdin !== undefined && stdin !== 'open') child.stdin?.end(stdin);
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => resolve({ code, signal, out, err }));
    });
    return { child, pid: child.pid ?? 0, out: () => out, err: () => err, ended };
  }

  /** The path of this month's journal. */
  get journal(): string {
    return path.join(this.state, 'ledger', journalNameAt(Date.now()));
  }

  /** The jobs in the ledger, newest first. */
  jobs(state = this.state): Promise<Job[]> {
    return openLedger({ dir: state, clock: { now: Date.now }, keepPrompts: true }).find();
  }

  /** The names in the working directory. */
  files(dir = this.cwd): string[] {
    return fs.readdirSync(dir).sort();
  }

  /** The size of the part file in the working directory; 0 if there is none. */
  partBytes(): number {
    const name = this.files().find((each) => each.endsWith('.part'));
    if (name === undefined) return 0;
    return fs.statSync(path.join(this.cwd, name), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Ends the processes that a failed test left running, and removes everything. */
  close(): void {
    for (const child of this.running) child.kill('SIGKILL');
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Registers a function that runs when the test, or one round of a longer test, is over. */
export type After = (clean: () => unknown) => void;

/** A sandbox that records its requests, closed after the test. */
export async function openSandbox(
  options: Partial<SandboxOptions> & { readonly fault?: string } = {},
  after: After = onTestFinished as After,
): Promise<Sandbox> {
  const { fault, ...rest } = options;
  const sandbox = await startSandbox({
    key: KEY,
    account: 'enterprise',
    speed: 300,
    faults: fault === undefined ? [] : parseFaults(fault),
    clipsDir,
    wasmDir,
    keepRequests: true,
    control: true,
    slowGapMs: 20,
    ...rest,
  });
  after(() => sandbox.close());
  return sandbox;
}

/** Options for tasks that end only when {@link forward} is called, however slow this machine is. */
export const held = { speed: 0.1 };

/** Asks the sandbox itself: `control(sandbox, 'PUT faults', { faults: '' })` ends its faults. */
export async function control(
  { baseUrl }: Pick<Sandbox, 'baseUrl'>,
  what: string,
  body: object,
): Promise<void> {
  const [method = '', name] = what.split(' ');
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const reply = await fetch(`${baseUrl}/_sandbox/${name}`, { method, headers, body: JSON.stringify(body) });
  expect(reply.status, await reply.text()).toBe(200);
}

/** Moves the sandbox's clock on by 50 minutes: every task has ended, and no link has expired. */
export const forward = (sandbox: Pick<Sandbox, 'baseUrl'>) =>
  control(sandbox, 'POST time', { forward: 3_000 });

/** A place with its own sandbox, removed after the test. */
export async function openPlace(
  options: Parameters<typeof openSandbox>[0] = {},
  after: After = onTestFinished as After,
): Promise<Place & { readonly sandbox: Sandbox }> {
  const sandbox = await openSandbox(options, after);
  const place = new Place(sandbox);
  after(() => place.close());
  return Object.assign(place, { sandbox });
}

/** The requests to create tasks. */
export const creates = (sandbox: Sandbox) =>
  sandbox.requests.filter((request) => request.server === 'api' && request.method === 'POST');

/** The requests for outputs. */
export const fetches = (sandbox: Sandbox) =>
  sandbox.requests.filter((request) => request.server === 'output' && request.method === 'GET');

/** The SHA-256 of a task's video on the server. */
export async function sha256AtServer(sandbox: Sandbox, id: string): Promise<string> {
  const headers = { authorization: `Bearer ${KEY}` };
  const reply = await fetch(`${sandbox.baseUrl}${alphaTasksPath}/${id}`, { headers });
  const { content } = (await reply.json()) as { content?: { video_url?: string } };
  if (content?.video_url === undefined) throw new Error(`task ${id} has no video`);
  const output = await fetch(content.video_url);
  return sha256(Buffer.from(await output.arrayBuffer()));
}

/** The memory limit for a download of any length. Node 24 (170 MB, measured) and the one-file gw (180 MB) free buffers later. */
export const maxPeakKb =
  (process.env.GW_TEST_BINARY ? 256 : Number(process.versions.node.split('.')[0]) < 24 ? 150 : 200) * 1024;

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
export const sha256Of = (file: string): string => sha256(fs.readFileSync(file));

/** Resolves as soon as the condition holds; rejects after a time limit. */
export async function until(what: string, holds: () => unknown, longestMs = 60_000): Promise<void> {
  const endMs = performance.now() + longestMs;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`never happened: ${what}`);
    await pause(2);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs gw under strace, with faults (`write:error=ENOSPC:when=1`) injected into the system calls that name these paths. */
export function strace(inject: string | readonly string[], paths: readonly string[] = []): string[] {
  const injects = [inject].flat();
  return [
    ...['strace', '-f', '-qq', '-o', '/dev/null'],
    ...['-e', `trace=${injects.map((each) => each.split(':')[0]).join(',')}`],
    ...injects.flatMap((each) => ['-e', `inject=${each}`]),
    ...paths.flatMap((each) => ['-P', each]),
  ];
}

/** Works on the items, three at a time. */
export async function inThrees<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all([worker(), worker(), worker()]);
}

/**
 * Runs `gw jobs sync` until no job is open, as cron would, and returns everything that it printed. Throws if a job is still
 * open after a minute.
 */
export async function syncAll(
  place: Place,
  isOver: (job: Job) => boolean | Promise<boolean>,
  codes: readonly number[] = [0, 14],
): Promise<string> {
  let printed = '';
  for (const startMs = performance.now(); performance.now() - startMs < 60_000; await pause(50)) {
    const { code, out, err } = await place.run(['jobs', 'sync']);
    printed += out + err;
    expect(codes, err).toContain(code);
    const over = await Promise.all((await place.jobs()).map(isOver));
    if (over.every(Boolean)) return printed;
  }
  throw new Error(`jobs stay open after a minute of syncs: ${printed.slice(-2_000)}`);
}
