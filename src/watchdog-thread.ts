import { spawn, spawnSync } from 'node:child_process';
import { openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { parentPort, workerData } from 'node:worker_threads';
import { showKeys } from './terminal-keys.ts';
import { type Pulse, restoreTerminal } from './watchdog.ts';

// This thread ends gw at a second interrupt while the main thread is busy. Node delivers signals only to an idle main
// thread and never to other threads, so a shell in the same process group receives the terminal's signals and reports
// them. The shell exits when its stdin closes, however gw ends.
const LISTEN = `
  trap 'echo heard' INT TERM HUP
  exec 3<&0
  cat <&3 >/dev/null &
  echo ready
  while kill -0 $! 2>/dev/null; do wait $!; done`;

/** The time in which the main thread can end gw by itself. */
const GRACE_MS = 400;
/** The interval between checks of the pulse; two checks without a change mean that the main thread is busy. */
const LOOK_MS = 250;

const pulse: Pulse = new Int32Array(workerData as SharedArrayBuffer);
let terminal: number | undefined;
/** The terminal's mode from `stty -g`: before line editing, and during it. */
let modeBefore = '';
let modeOfEditing = '';
let signals = 0;

const shell = spawn('/bin/sh', ['-c', LISTEN], {
  stdio: ['pipe', 'pipe', 'ignore'],
  env: { PATH: '/usr/bin:/bin' },
});
// Without such a shell gw goes on unwatched.
shell.on('error', () => {});
shell.stdout.setEncoding('utf8').on('data', (said: string) => {
  for (const word of said.trim().split('\n')) {
    // Signals before `ready` were counted by the main thread only; from now on this thread counts each one itself.
    signals = word === 'ready' ? Atomics.load(pulse, 2) : signals + 1;
    if (word === 'heard' && signals === 2) setTimeout(end, GRACE_MS);
  }
});

/** Node can set the terminal's mode only in the thread that reads from the terminal, so this calls stty. */
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
    // Without a terminal or stty there is no mode to restore.
  }
  parentPort?.postMessage('ready');
});

/** In raw mode a busy thread does not read Ctrl-C; this makes it a signal until the thread is idle. */
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
