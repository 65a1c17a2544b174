import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import type { IntentEvent, LedgerEvent } from '../../src/ledger/event.ts';
import { journalNameAt } from '../../src/ledger/journal-files.ts';
import { serialize } from '../../src/ledger/serialize.ts';
import { writeModelCache } from '../../src/models/model-cache.ts';
import { builtGw } from '../cli/built.ts';

// A home with a profile, a ledger and a list of models. The gw on the PATH really answers completion; for other commands it
// only prints how it was called.

const terminal = path.join(import.meta.dirname, '../cli/terminal.py');

export const taskId = 'vt-20261120120000-0123456789abcdef0123';
const intent: IntentEvent = {
  event: 'intent',
  family: 'alpha',
  endpoint: 'alpha.create',
  model: 'alpha-video-2-5-260628',
  prompt: 'a paper boat',
  settings: {},
  media: [],
  bodySha256: '0'.repeat(64),
  profile: 'studio',
  gateway: 'https://gateway.example.com',
  save: { target: '/tmp/', force: false, download: true },
};

export class CompletionPlace {
  readonly dir = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), 'gw-completion-')));
  readonly home = path.join(this.dir, 'home');
  readonly cwd = path.join(this.dir, 'work');
  readonly env: Readonly<Record<string, string>> = {
    PATH: `${path.join(this.dir, 'bin')}:${process.env.PATH ?? ''}`,
    HOME: this.home,
    TERM: 'xterm',
    LANG: 'C.UTF-8',
  };
  readonly command = builtGw().command;
  private timeMs = Date.UTC(2026, 10, 20, 12);

  constructor() {
    for (const dir of [this.home, this.cwd, path.join(this.dir, 'bin')]) fs.mkdirSync(dir);
    const gw = `#!/bin/sh\ncase $1 in complete|completion) exec ${this.command.join(' ')} "$@" ;; esac\n`;
    const say = `printf 'RAN'; printf '<%s>' "$@"; printf 'END\\n'\n`;
    fs.writeFileSync(path.join(this.dir, 'bin', 'gw'), gw + say, { mode: 0o755 });
  }

  write(file: string, text: string): void {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }

  inHome = (...names: string[]): string => path.join(this.home, ...names);

  /** Adds an event to the ledger in the ledger's own format. */
  append(job: string, event: LedgerEvent): void {
    this.timeMs += 1000;
    const file = this.inHome('.local/state/gw/ledger', journalNameAt(this.timeMs));
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const line = serialize(job, this.timeMs, event, { hideSecret: (text) => text, keepPrompts: true });
    fs.appendFileSync(file, `${line}\n`);
  }

  /** Stores a gateway's list of models, as `gw models` does. */
  models(ids: readonly string[]): void {
    const host = { env: this.env, cwd: this.cwd, platform: process.platform, homeDir: this.home };
    writeModelCache(host, 'https://gateway.example.com', { fetchedAtMs: this.timeMs, ids });
  }

  /** Runs the real gw. */
  spawn(argv: readonly string[], options: { cwd?: string; env: NodeJS.ProcessEnv }) {
    const [file, ...first] = this.command;
    return spawnSync(file, [...first, ...argv], { ...options, encoding: 'utf8' });
  }

  /** Runs gw and throws unless it succeeds. */
  run(...argv: readonly string[]): void {
    const run = this.spawn(argv, { env: this.env });
    if (run.status !== 0) throw new Error(run.stderr);
  }

  job(key: string, id: string | undefined, over: Partial<IntentEvent> = {}): void {
    this.append(key, { ...intent, ...over });
    this.append(key, { event: 'sent' });
    if (id !== undefined) this.append(key, { event: 'accepted', id });
  }

  /** The answer to a script's question: its first line, and the values of the other lines. */
  ask(
    words: readonly string[],
    current: string,
  ): { kind: string; before: string; values: string[]; text: string } {
    const run = this.spawn(['complete', `--at=${current}`, ...words], { cwd: this.cwd, env: this.env });
    if (run.stderr !== '' || run.status !== 0) throw new Error(`${run.status}: ${run.stderr}`);
    const [head = '', ...lines] = run.stdout.split('\n').slice(0, -1);
    const [kind = '', before = ''] = head.split('\t');
    return { kind, before, values: lines.map((line) => line.split('\t')[0] ?? ''), text: run.stdout };
  }

  /** Types on a terminal on which a shell runs. Returns what the terminal showed. */
  type(argv: readonly string[], types: readonly (readonly [string, string])[]): string {
    const order = JSON.stringify({ argv, columns: 120, rows: 40, types });
    const run = spawnSync('python3', [terminal, order], {
      cwd: this.cwd,
      env: this.env,
      encoding: 'utf8',
      timeout: 120_000,
    });
    if (run.error) throw new Error(`${run.error.message}\n${run.stdout}`);
    return run.stdout;
  }

  close(): void {
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}
