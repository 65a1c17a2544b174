import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { restoreTerminal, Watchdog } from '../src/watchdog.ts';
import { newDir } from './helpers/new-dir.ts';

/** A thread that replaces the real one; it records the shared state, and ends when it is told to. */
const thread = `
const { parentPort, workerData } = require('node:worker_threads');
const fs = require('node:fs');
const pulse = new Int32Array(workerData);
parentPort.on('message', () => parentPort.postMessage('ready'));
setInterval(() => {
  if (fs.existsSync(__dirname + '/end')) {
    fs.rmSync(__dirname + '/told');
    process.exit();
  }
  fs.writeFileSync(__dirname + '/told', JSON.stringify([...pulse]));
}, 5);
`;

test('the thread is told of each interrupt from the first on, and of a terminal whose mode is changed', async () => {
  const dir = newDir();
  fs.writeFileSync(path.join(dir, 'watchdog-thread.js'), thread);
  const told = path.join(dir, 'told');
  onTestFinished(async () => {
    fs.writeFileSync(path.join(dir, 'end'), '');
    await vi.waitFor(() => expect(fs.existsSync(told)).toBe(false), 60_000);
  });
  const isTold = (pulse: unknown) =>
    vi.waitFor(() => expect(JSON.parse(fs.readFileSync(told, 'utf8'))).toEqual(pulse), 60_000);
  const watchdog = new Watchdog(dir);
  watchdog.interrupted();
  await isTold([0, 0, 1, 0]);
  watchdog.interrupted();
  await isTold([0, 0, 2, 0]);
  const letGo = await watchdog.guardTerminal();
  expect(watchdog.isGuarding).toBe(true);
  // The heartbeat runs while the terminal is guarded.
  await isTold([expect.toSatisfy((beat) => beat > 1), 1, 2, 0]);
  letGo();
  expect(watchdog.isGuarding).toBe(false);
  await isTold([expect.any(Number), 0, 2, 0]);
});

test('a terminal gets its cursor back, and what line editing marks alone where there was some', () => {
  expect([false, true].map(restoreTerminal)).toEqual(['\x1b[?25h', '\x1b[?25h\x1b[?2004l']);
});
