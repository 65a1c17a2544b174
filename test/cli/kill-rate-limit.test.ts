import * as fs from 'node:fs';
import type { ServerResponse } from 'node:http';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openServer, sendJson, TASK_ID } from './fake-gateway.ts';
import { Place, until } from './place.ts';

const ways = {
  'a video': ['video', 'alpha', 'create', 'a fox', '--no-validate'],
  'a video that waits for a slot': ['video', 'alpha', 'create', 'a fox', '--no-validate', '--queue'],
  'an image': ['image', 'create', 'a fox'],
};
const image = {
  data: [
    {
      b64_json:
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPj/HwADAgH/p8qY0gAAAABJRU5ErkJggg==',
    },
  ],
};

/** A gateway whose creates are answered in order, each as the test says; the last answer repeats. */
async function scene(argv: readonly string[], ...answers: ((response: ServerResponse) => void)[]) {
  const gateway = await openServer((request, response) => {
    if (request.method !== 'POST') return sendJson(response, 404, {});
    answers[Math.min(creates().length, answers.length) - 1]?.(response);
  });
  const creates = () => gateway.seen.filter(({ method }) => method === 'POST');
  const place = new Place(gateway);
  const words = [...argv, '--once', 'k1'];
  const running = place.start(words, { isKilled: true });
  const kill = async () => {
    running.child.kill('SIGKILL');
    await running.ended;
    const { out } = await place.run(['jobs', 'list', '--json']);
    return JSON.parse(out)[0];
  };
  return { place, words, running, creates, kill };
}

const limited = (seconds: string) => (response: ServerResponse) =>
  sendJson(response, 429, { error: { message: 'slow down' } }, { 'retry-after': seconds });
const never = () => {};
const fine = (response: ServerResponse) =>
  sendJson(response, 200, { id: TASK_ID, task_id: TASK_ID, status: 'queued', ...image });

describe.each(Object.entries(ways))('a create of %s that meets a 429', (_, argv) => {
  test('killed while it waits: it was not sent, and the same command makes it once', async () => {
    const { place, words, running, creates, kill } = await scene(argv, limited('60'), fine);
    await until('gw waits', () => /trying again at/.test(running.err()));
    expect(await kill()).toMatchObject({ status: 'not_sent' });
    const { code, err } = await place.run(words);
    expect(code, err).toBe(0);
    expect(creates()).toHaveLength(2);
  });

  test('the same asked for meanwhile by another gw: it is warned of', async () => {
    const { place, running, kill } = await scene(argv, limited('60'), fine);
    await until('gw waits', () => /trying again at/.test(running.err()));
    const { code, err } = await place.run(argv);
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('the same was asked for less than a minute ago'),
    ]);
    await kill();
  });

  test('killed in the next attempt: its outcome is unknown, and the same command sends nothing', async () => {
    const { place, words, creates, kill } = await scene(argv, limited('1'), never);
    await until('the second create arrived', () => creates().length === 2);
    expect(await kill()).toMatchObject({ status: 'unknown' });
    const { code, err } = await place.run(words);
    expect(code, err).toBe(14);
    expect(creates()).toHaveLength(2);
  });
});

test('a batch whose row another gw waits to send is warned of it', async () => {
  const argv = ['video', 'alpha', 'create', 'a fox'];
  const { place, running, kill } = await scene(argv, limited('60'), fine);
  await until('gw waits', () => /trying again at/.test(running.err()));
  const row = { command: 'video alpha', prompt: 'a fox' };
  fs.writeFileSync(path.join(place.cwd, 'day.jsonl'), `${JSON.stringify(row)}\n`);
  const { err } = await place.run(['batch', 'check', 'day.jsonl']);
  expect(err).toContain('1 row was made before as k1');
  await kill();
});
