import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';

// Every wait has an end (promises, section 5). This table names each file that waits and what ends its waits besides Ctrl-C; a
// new file fails the test until it is added here.

const ends: Readonly<Record<string, string>> = {
  'agents/desk.ts': '40 s of a call',
  'assets/create-once.ts': 'a fixed number of looks for what may have been made',
  'chat/repl/show-answer.ts': 'the answer, whose pieces it draws',
  'chat/session/session.ts': '10 s for the lock of a talk',
  'commands/batch/run.ts': '--wait-timeout of the row, for a 429',
  'commands/jobs/list.ts': 'the user: gw jobs watch goes on until Ctrl-C',
  'commands/listen.ts': 'two pauses for an ID that is not known yet',
  'commands/machines/follow.ts': 'the rows, or --timeout without Redis',
  'commands/machines/hands.ts': 'the pause of one refusal',
  'commands/machines/observe.ts': 'the end of the task, or what the worker is told',
  'commands/machines/worker-run.ts':
    'the user: gw worker goes on until it is told to end; SIGTERM within 10 s',
  'commands/open.ts': 'a moment, after which the opener is taken to run',
  'commands/queue/serve.ts': '20 s for redis-server to be ready, 8 s for it to end',
  'commands/video/create.ts': 'nothing waits: that an answer is awaited is told again and again',
  'config/change-config.ts': '10 s for the lock of the configuration',
  'config/keys.ts': '10 s for the command of a key, 10 minutes for one that uploads',
  'disk/durable-directory.ts': 'a fixed number of pauses for a file that Windows holds',
  'disk/lock-file.ts': '10 s for a lock that is held for a moment',
  'disk/other-gw.ts': '--wait-timeout, or --timeout without a sign of life of the other gw',
  'entry.ts': 'nothing waits: the watchdog begins a moment later',
  'host.ts': 'as whoever says so while it sleeps',
  'http/http-client.ts': '--retries',
  'http/round-trip.ts': '--timeout without a byte',
  'http/socket.ts': 'the longest time of a connection',
  'io/awaited.ts': 'nothing waits: a spinner begins a moment later',
  'io/progress-lines.ts': 'nothing waits: a sign of life comes again and again',
  'jobs/create/budget.ts': '10 s for the lock of the budget',
  'jobs/create/hold-job.ts': 'as disk/other-gw.ts',
  'jobs/create/look-up.ts': '--wait-timeout, and five rounds of looking for a lost create',
  'jobs/create/make.ts': '--wait-timeout, for a slot that a 429 refused',
  'jobs/create/once.ts': 'as disk/other-gw.ts',
  'jobs/create/slots.ts': '--wait-timeout; one in the line that is silent for --timeout is passed over',
  'jobs/save/fetch-output.ts': 'six downloads a run and job',
  'jobs/watch/looker.ts': 'the interval between two looks',
  'jobs/watch/poll.ts': '--wait-timeout; a minute for a task that is young',
  'machines/door.ts': 'the longest answer of Redis; after a refusal the pause before the next question',
  'media/in-worker.ts': '5 s for a reader of media',
  'media/piped-prompt.ts': "the user's own program, whose output is the prompt; said after 2 s",
  'shots/frames.ts': '20 s for ffmpeg',
  'watchdog-thread.ts': 'a moment after the second interrupt, when gw is ended',
  'watchdog.ts': 'nothing waits: the thread that ends gw is told again and again that it lives',
};

// Waits are sleeps, timers, started programs, and waits for another gw; a gallery page is not part of gw.
const waits =
  /\.sleep\(|Atomics\.wait\(|\b(sleepAloud|waitFor(Other|Lock)|setTimeout|setInterval|spawn|execFile)\(/;

const src = path.join(import.meta.dirname, '../src');

test('every file that waits says what ends its waits', () => {
  const files = (readdirSync(src, { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts') && !/^(sandbox|gallery)\b/.test(file))
    .filter((file) => waits.test(readFileSync(path.join(src, file), 'utf8')));
  expect(files.map((file) => file.split(path.sep).join('/')).sort()).toEqual(Object.keys(ends).sort());
});
