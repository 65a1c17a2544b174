import { spawn, spawnSync } from 'node:child_process';
import { openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { parentPort, workerData } from 'node:worker_threads';
import { showKeys } from './terminal-keys.ts';
import { type Pulse, restoreTerminal } from './watchdog.ts';

// The thread that ends gw at a second interrupt while the main thread is busy: signals that are handled reach that one
// only when it rests, and no thread is given any. A shell in the same process group gets what the terminal sends there,
// and tells it; the shell ends with its input, however gw ends.
const LISTEN = `
  trap 'echo heard' INT TERM HUP
  exec 3<&0
  cat <&3 >/dev/null &
  echo ready
  while kill -0 $! 2>/dev/null; do wait $!; done`;

/** The main thread ends gw by itself within this, where it can. */
const GRACE_MS = 400;
/** How often the pulse is felt; a thread whose pulse stands still twice is busy. */
const LOOK_MS = 250;

const pulse: Pulse = new Int32Array(workerData as SharedArrayBuffer);
let terminal: number | undefined;
/** The terminal's mode before the main thread changed it, and while that was busy, as stty writes it. */
let modeBefore = '';
let modeOfEditing = '';
let signals = 0;

const shell = spawn('/bin/sh', ['-c', LISTEN], {
  stdio: ['pipe', 'pipe', 'ignore'],
  env: { PATH: '/usr/bin:/bin' },
});
// Where there is no such shell, gw goes on without.
shell.on('error', () => {});
shell.stdout.setEncoding('utf8').on('data', (said: string) => {
  for (const word of said.trim().split('\n')) {
    // From here on each signal is heard twice, by the main thread and here; those before, by that one alone.
    signals = word === 'ready' ? Atomics.load(pulse, 2) : signals + 1;
    if (word === 'heard' && signals === 2) setTimeout(end, GRACE_MS);
  }
});

/** Node changes the mode of a terminal only for the thread that reads from it. */
const stty = (mode: string): string =>
  spawnSync('/bin/stty', [mode], {
    stdio: [terminal, 'pipe', 'ignore'],
    env: {},
    encoding: 'utf8',
  }).stdout.trim();

parentPort?.on('message', () => {
  try {
    terminal ??= openSync('/dev/tty', 'r+');
    modeBefore = stty('-g');
  } catch {
    // No terminal of its own, or no stty: there is nothing to give back.
  }
  parentPort?.postMessage('ready');
});

/** Where Ctrl-C is a key that a busy thread does not read, it is made a signal until the thread rests. */
let last = -1;
let standsStill = 0;
setInterval(() => {
  const beat = Atomics.load(pulse, 0);
  standsStill = beat === last ? standsStill + 1 : 0;
  last = beat;
  if (Atomics.load(pulse, 1) === 0 || modeBefore === '') return;
  if (standsStill === 2) {
    modeOfEditing = stty('-g');
    stty(modeBefore);
  } else if (standsStill === 0 && modeOfEditing !== '') {
    stty(modeOfEditing);
    modeOfEditing = '';
  }
}, LOOK_MS);

function end(): void {
  const isGuarded = Atomics.load(pulse, 1) === 1;
  if (isGuarded && modeBefore !== '') stty(modeBefore);
  if (Atomics.load(pulse, 3) > 0) showKeys();
  const fd = [2, 1].find(isatty);
  if (fd !== undefined) writeSync(fd, restoreTerminal(isGuarded));
  process.kill(process.pid, 'SIGKILL');
}
