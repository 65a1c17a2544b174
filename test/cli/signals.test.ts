import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { signalExitCodes } from '../../src/errors.ts';
import {
  create,
  creates,
  fetches,
  openPlace,
  pause,
  type Running,
  sha256AtServer,
  sha256Of,
  until,
} from './place.ts';

const slow = 'echo begun >&2; sleep 30';

/** True if gw waits for bytes on stdin: an epoll instance of its process watches file descriptor 0. */
function readsStdin({ pid }: Running): boolean {
  const dir = `/proc/${pid}/fdinfo`;
  try {
    return fs.readdirSync(dir).some((fd) => /^tfd: +0 /m.test(fs.readFileSync(path.join(dir, fd), 'utf8')));
  } catch {
    return false; // it has closed a file meanwhile
  }
}

describe('a signal while gw waits', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends it with %i, and says how to pick the job up', async (signal, code) => {
    const place = await openPlace({ speed: 1 });
    const running = place.start([...create, 'a fox']);
    await until('it polls', () => /: (queued|running)/.test(running.err()));
    running.child.kill(signal);
    const ended = await running.ended;
    const [task] = place.sandbox.tasks();
    expect(ended).toMatchObject({ code, signal: null, out: '' });
    expect(ended.err).toContain(
      `error: interrupted${signal === 'SIGINT' ? '' : ` by ${signal}`}; the job goes on\n`,
    );
    expect(ended.err).toContain(`pick it up with: gw video alpha wait ${task?.id}\n`);
    expect(await place.jobs()).toMatchObject([{ id: task?.id, state: 'running' }]);
  });

  test.each([
    ['login', '--with-key', '--base-url', 'https://gateway.example'],
    ['models', '--api-key-file', '-', '--base-url', 'https://gateway.example'],
  ])('%s %s ends while it waits for the key on stdin', async (...argv) => {
    const place = await openPlace();
    const running = place.start(argv, { stdin: 'open' });
    await until('it waits for the key', () => readsStdin(running));
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, signal: null, err: 'error: interrupted\n' });
  });

  test.each([
    ['a key command', ['models'], 'SIGINT', 130],
    ['a command after a file was saved', ['image', 'create', 'a fox', '--exec', slow], 'SIGTERM', 143],
  ] as const)('%s ends with gw, whose exit code is that of the signal', async (what, argv, signal, code) => {
    const place = await openPlace();
    if (what === 'a key command')
      for (const [name, value] of Object.entries({ base_url: place.sandbox.baseUrl, key_command: slow }))
        expect((await place.run(['config', 'set', name, value])).code).toBe(0);
    const env = what === 'a key command' ? { GW_API_KEY: undefined } : {};
    const running = place.start(argv, { env });
    await until('the command runs', () => running.err().includes('begun'));
    running.child.kill(signal);
    expect(await running.ended).toMatchObject({ code, signal: null });
  });

  test("Windows' Ctrl-Break is heard as SIGTERM", { tags: ['node'] }, async () => {
    const place = await openPlace({ speed: 1 });
    const sends = path.join(place.dir, 'break.cjs');
    fs.writeFileSync(sends, "process.on('SIGUSR2', () => process.emit('SIGBREAK', 'SIGBREAK'));");
    const running = place.start([...create, 'a fox'], { env: { NODE_OPTIONS: `--require=${sends}` } });
    await until('it polls', () => /: (queued|running)/.test(running.err()));
    running.child.kill('SIGUSR2');
    expect(await running.ended).toMatchObject({
      code: 143,
      err: expect.stringContaining('interrupted by SIGTERM'),
    });
  });

  test('with --json the error is one line of JSON, and the job is printed in full', async () => {
    const place = await openPlace({ speed: 1 });
    const running = place.start([...create, 'a fox', '--json']);
    await until('it polls', () => /: (queued|running)/.test(running.err()));
    running.child.kill('SIGINT');
    const { code, out, err } = await running.ended;
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({ id: place.sandbox.tasks()[0]?.id, files: [] });
    expect(JSON.parse(err.trim().split('\n').at(-1) ?? '')).toMatchObject({ error: { exit_code: 130 } });
  });

  test('so are the jobs of a wait, of which another gw is still making one', async () => {
    const place = await openPlace({ speed: 1, fault: 'create:hang:x1' });
    place.start(['video', 'alpha', 'create', 'a hare']);
    await until('one is being made', () => creates(place.sandbox).length === 1);
    await place.run(['video', 'alpha', 'create', 'a fox']);
    const running = place.start(['jobs', 'wait', '--all', '--json']);
    await until('it waits', () => ['waiting for it', 'queued'].every((word) => running.err().includes(word)));
    running.child.kill('SIGINT');
    const { code, out, err } = await running.ended;
    expect(code).toBe(130);
    const printed = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const jobs = (await place.jobs()).map(({ id, key }) => ({ id: id ?? key, files: [] }));
    expect(printed.sort((one, other) => (one.id < other.id ? 1 : -1))).toMatchObject(jobs);
    expect(err).toContain('interrupted; 2 jobs go on');
  });
});

describe('a signal while the create is in flight', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('%s waits for the answer and records its ID', async (signal) => {
    const place = await openPlace({ fault: 'create:slow', slowGapMs: 50 });
    const running = place.start(['video', 'alpha', 'create', 'a fox']);
    await until('the create arrived', () => place.sandbox.tasks().length === 1);
    running.child.kill(signal);
    const ended = await running.ended;
    const [task] = place.sandbox.tasks();
    expect(ended.code).toBe(signal === 'SIGINT' ? 130 : 143);
    expect(ended.out).toBe('');
    expect(ended.err).toContain(`pick it up with: gw video alpha wait ${task?.id}\n`);
    expect(ended.err).toContain('waiting for the answer to a paid request');
    expect(await place.jobs()).toMatchObject([{ id: task?.id, state: 'running' }]);
    expect(creates(place.sandbox)).toHaveLength(1);
  });

  test('one that comes twice within a moment, from the terminal and from npx, is one', async () => {
    const place = await openPlace({ fault: 'create:slow', slowGapMs: 50 });
    const running = place.start(['video', 'alpha', 'create', 'a fox']);
    await until('the create arrived', () => place.sandbox.tasks().length === 1);
    // The kernel keeps both signals until gw runs again, and gw hears them at once.
    for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) running.child.kill(signal);
    const [task] = place.sandbox.tasks();
    expect((await running.ended).err).toContain(`pick it up with: gw video alpha wait ${task?.id}\n`);
    expect(await place.jobs()).toMatchObject([{ id: task?.id, state: 'running' }]);
  });

  test('a second one ends gw at once, and the job is not forgotten', async () => {
    const place = await openPlace({ fault: 'create:hang' });
    const running = place.start([...create, 'a fox', '--events']);
    await until('the create arrived', () => creates(place.sandbox).length === 1);
    running.child.kill('SIGINT');
    await until('the first was heard', () => running.err().includes('interrupt again'));
    await pause(120);
    expect(running.child.exitCode).toBeNull();
    running.child.kill('SIGINT');
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    const [job] = await place.jobs();
    expect(job).toMatchObject({ id: undefined, state: 'sent' });
    const told = ended.out.split('\n').map((line) => line && JSON.parse(line));
    const { key } = told[0];
    expect(key).toBe(job?.key);
    expect(told).toMatchObject([
      { event: 'intent' },
      { event: 'result', key, id: key, status: 'unknown' },
      '',
    ]);
    const sync = await place.run(['jobs', 'sync']);
    expect(sync.code).toBe(14);
    expect(sync.err).not.toMatch(/try again|run .* again/i);
    expect(await place.jobs()).toMatchObject([{ state: 'unknown' }]);
    expect(creates(place.sandbox)).toHaveLength(1);
  });
});

/** gw writes one byte beside the target before a job is paid for; a larger part file holds output. */
const PROBE_BYTES = 1;

describe('a signal while an output is saved', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s keeps the part, and sync goes on from it',
    async (signal) => {
      const place = await openPlace({ fault: 'output:slow:x1', slowGapMs: 60_000 });
      const running = place.start([...create, 'a fox']);
      await until('a part grows', () => place.partBytes() > PROBE_BYTES);
      running.child.kill(signal);
      const ended = await running.ended;
      expect(ended, ended.err).toMatchObject({ code: signalExitCodes[signal], out: '' });
      expect(place.files()).toEqual([expect.stringMatching(/\.part$/)]);
      const sync = await place.run(['jobs', 'sync']);
      expect(sync.code, sync.err).toBe(0);
      const [task] = place.sandbox.tasks();
      expect(place.files()).toEqual([`${task?.id}.mp4`]);
      const [, again] = fetches(place.sandbox);
      expect(again?.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
      expect(sha256Of(sync.out.trim())).toBe(await sha256AtServer(place.sandbox, task?.id ?? ''));
    },
  );
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'gw sandbox serve ends on %s, also with a client connected',
  async (signal) => {
    const place = await openPlace();
    const running = place.start(['sandbox', 'serve', '--fresh', '--json']);
    await until('it serves', () => running.out().includes('\n'));
    const { base_url } = JSON.parse(running.out());
    await fetch(`${base_url}/v1/models`);
    running.child.kill(signal);
    const { code, err } = await running.ended;
    expect(err).not.toMatch(/unexpected/);
    expect([0, signalExitCodes[signal]]).toContain(code);
  },
);

test('a signal before anything is sent costs nothing', async () => {
  const place = await openPlace();
  const running = place.start(['video', 'alpha', 'create'], { stdin: 'open' });
  await until('it waits for the prompt', () => running.err().includes('waiting for the prompt'));
  running.child.kill('SIGINT');
  const ended = await running.ended;
  expect(ended.code).toBe(130);
  expect(creates(place.sandbox)).toEqual([]);
  expect(await place.jobs()).toEqual([]);
});
