import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { onTestFinished } from 'vitest';
import { pause } from '../cli/place.ts';
import { tempDir } from './fixtures.ts';

const LONGEST_MS = 60_000;
let count = 0;

/** A program on its own terminal (tmux), into which a test types and whose screen it reads. */
export class Terminal {
  readonly #socket: string;

  constructor(command: string, { columns = 60, rows = 24 } = {}) {
    count += 1;
    this.#socket = `gw-test-${process.pid}-${count}`;
    // When the program has ended, the screen also shows its exit code and the terminal's mode, and stays.
    const shown = `${command}; echo "[exit $?]"; stty -a | grep -o '.icanon'; exec sleep 1000`;
    const size = ['-x', `${columns}`, '-y', `${rows}`];
    this.#tmux(
      ...['-f', '/dev/null', 'new-session', '-d', ...size, shown],
      ...[';', 'set-option', '-s', 'set-clipboard', 'on'],
    );
    onTestFinished(() => void spawnSync('tmux', ['-L', this.#socket, 'kill-server'], { stdio: 'ignore' }));
  }

  /** Presses keys by their names (`Enter`, `C-c`), and types everything else as text. */
  keys(...keys: string[]): void {
    const commands = keys.map((key) => {
      const isName = /^(?:[CM]-.+|Enter|Tab|Up|Down|Home|End|Left)$/.test(key);
      return ['send-keys', ...(isName ? [] : ['-l']), '--', key];
    });
    this.#tmux(...commands.flatMap((command, at) => (at === 0 ? command : [';', ...command])));
  }

  /** Types a line and presses Enter. */
  line(text: string): void {
    this.keys(...(text === '' ? [] : [text]), 'Enter');
  }

  /** Pastes as a terminal does: between paste marks, if the program has asked for them. */
  paste(text: string): void {
    this.#tmux('set-buffer', '--', text, ';', 'paste-buffer', '-p', '-r');
  }

  resize(columns: number, rows = 24): void {
    this.#tmux('resize-window', '-x', `${columns}`, '-y', `${rows}`);
  }

  /** The lines on the screen, without the empty ones at the end. */
  screen(): string {
    return this.#tmux('capture-pane', '-p')
      .replace(/[ \t]+$/gm, '')
      .trimEnd();
  }

  /** Everything since the start, including scrolled lines, with wrapped lines joined. */
  all(): string {
    return this.#tmux('capture-pane', '-p', '-J', '-S', '-')
      .replace(/[ \t]+$/gm, '')
      .trimEnd();
  }

  /** The text that the program has put on the terminal's clipboard. */
  clipboard(): string {
    return this.#tmux('show-buffer');
  }

  /** Resolves with the screen as soon as it matches. Rejects with the screen if it never does. */
  async shows(wanted: RegExp | string): Promise<string> {
    const endMs = performance.now() + LONGEST_MS;
    for (;;) {
      const screen = this.screen();
      if (typeof wanted === 'string' ? screen.includes(wanted) : wanted.test(screen)) return screen;
      if (performance.now() > endMs) throw new Error(`never shown: ${wanted}\n${screen}`);
      // Each look starts a process.
      await pause(100);
    }
  }

  #tmux(...args: string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...args], {
      encoding: 'utf8',
      // libfaketime, which shifts the clock, sometimes ends a shell or tmux.
      env: { ...process.env, LD_PRELOAD: undefined },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

/** A home for conversations, and a function that starts one there. */
export function openPlaceFor(script: string) {
  const dir = tempDir();
  const stateDir = path.join(dir, 'state');
  const start = (
    args = '',
    { env = '', ...size }: { env?: string; columns?: number; rows?: number } = {},
  ): Terminal => {
    const own = `HOME=${dir} GW_STATE_DIR=${stateDir} ${env}`;
    return new Terminal(`cd ${dir} && env -u CI ${own} ${process.execPath} ${script} ${args}`, size);
  };
  return { dir, stateDir, start, file: (name: string) => fs.readFileSync(path.join(dir, name), 'utf8') };
}
