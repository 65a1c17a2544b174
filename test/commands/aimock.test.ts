import * as fs from 'node:fs';
import * as path from 'node:path';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';
import { type OutputServer, startOutputServer } from '../helpers/output-server.ts';
import { tinyMp4, tinyPng } from '../jobs/save/tiny-media.ts';

// Paid jobs at a third-party mock server: its tasks have the paths and states of family A, and its images those of the img
// models.

const MODEL = 'alpha-video-2-5-260628';
const film = tinyMp4();
const mock = new LLMock({ port: 0, bytePlusVideo: { pollsBeforeInProgress: 1, pollsBeforeCompleted: 2 } });
let world: World;
let outputs: OutputServer;
let url = '';
beforeAll(async () => {
  outputs = await startOutputServer((_, response) => {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': film.length }).end(film);
  });
  const record = { status: 'succeeded', content: { video_url: `${outputs.url}/out.mp4` }, duration: 5 };
  mock.on(
    { endpoint: 'video', model: MODEL, userMessage: 'fox' },
    { json: { id: 'x', model: MODEL, ...record } },
  );
  mock.on(
    { endpoint: 'video', model: MODEL, userMessage: 'owl' },
    { json: { id: 'x', model: MODEL, status: 'failed', error: { code: 'Sensitive', message: 'not made' } } },
  );
  mock.on({ endpoint: 'image' }, { image: { b64Json: tinyPng.toString('base64') } });
  url = await mock.start();
  world = await World.open();
});
afterAll(async () => {
  await world.close();
  await mock.stop();
  await outputs.close();
});

const gw = (...words: string[]) => world.gw(words, { env: { GW_BASE_URL: url } });

test('a video is made, waited for and saved', async () => {
  const file = path.join(world.cwd, 'fox.mp4');
  const run = await gw('video', 'alpha', 'create', 'a fox', '--wait', '--interval', '10ms', '-o', file);
  expect({ code: run.code, out: run.out }, run.err).toEqual({ code: 0, out: `${file}\n` });
  expect(fs.readFileSync(file)).toEqual(film);
  expect(outputs.gets).toHaveLength(1);
});

test('a video that fails says why', async () => {
  const run = await gw('video', 'alpha', 'create', 'an owl', '--wait', '--interval', '10ms');
  expect(run).toMatchObject({ out: '', err: expect.stringContaining('not made') });
  expect(run.code).toBe(9);
});

test('an image is made and saved', async () => {
  const file = path.join(world.cwd, 'fox.png');
  const run = await gw('image', 'create', 'a fox', '-m', 'img-2', '-o', file);
  expect({ code: run.code, out: run.out }, run.err).toEqual({ code: 0, out: `${file}\n` });
  expect(fs.readFileSync(file)).toEqual(tinyPng);
});
