import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { strictOf } from '../../src/gateway/body.ts';
import { GammaCreateBody } from '../../src/gateway/gamma/create.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';
import { gammaExamples } from './gamma-examples.ts';

const world = await World.open({ speed: 1e9 });

const post = (body: unknown) =>
  fetch(`${world.sandbox.baseUrl}/v2/video_generation`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const create = (body: unknown) => {
  const file = path.join(world.cwd, 'body.json');
  writeFileSync(file, JSON.stringify(body));
  return world.gw(['video', 'gamma', 'create', '--body', file]);
};

const accepted = gammaExamples.filter((example) => !example.refused);
const refused = gammaExamples.filter((example) => example.refused);

/** Whether a body has Base64 data. It is no real medium: the schema checks only its form, and the sandbox also its bytes. */
const holdsData = (body: unknown) => JSON.stringify(body).includes(';base64,');

describe('literal requests of family C: the schema', () => {
  test.each(accepted)('accepted: $rule', ({ body }) => {
    expect(breachesOf(GammaCreateBody, body)).toEqual([]);
    expect(breachesOf(strictOf(GammaCreateBody), body)).toEqual([]);
  });

  test.each(refused)('refused: $rule', ({ body, refused: wanted }) => {
    expect(breachesOf(GammaCreateBody, body).join('\n')).toMatch(wanted as RegExp);
  });

  test('a field that the document does not list is left to the gateway, and the sandbox refuses it', () => {
    const body = { ...(accepted[0]?.body as object), seed: 1 };
    expect(breachesOf(GammaCreateBody, body)).toEqual([]);
    expect(breachesOf(strictOf(GammaCreateBody), body).join()).toMatch(/seed/);
  });
});

describe('literal requests of family C: the sandbox over HTTP', () => {
  test.each(accepted.filter(({ body }) => !holdsData(body)))('accepted: $rule', async ({ body }) => {
    const reply = await post(body);
    expect({ status: reply.status, body: await reply.json() }).toEqual({
      status: 200,
      body: { task_id: expect.stringMatching(/^[\w.-]+$/) },
    });
  });

  test.each(refused)('refused: $rule', async ({ body }) => {
    const reply = await post(body);
    expect({ status: reply.status, body: await reply.json() }).toMatchObject({
      status: 400,
      body: { error: { message: expect.any(String), code: expect.any(String) } },
    });
  });
});

describe('literal requests of family C: the command', () => {
  test.each(accepted.filter(({ body }) => !holdsData(body)))('sent as written: $rule', async ({ body }) => {
    const run = await create(body);
    expect(run, run.err).toMatchObject({ code: 0, out: expect.stringMatching(/^[\w.-]+\n$/) });
    expect(world.sandbox.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v2/video_generation' });
    expect(world.sandbox.requests.at(-1)?.body).toEqual(body);
  });

  // The command fills in a default model, so bodies without a model are left out.
  test.each(refused.filter(({ body }) => (body as { model?: unknown }).model !== undefined))(
    'refused, and nothing is sent: $rule',
    async ({ body }) => {
      const before = world.sandbox.requests.length;
      const run = await create(body);
      expect(run, run.err).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^error: /) });
      // gw looks up an unknown model in the gateway's list.
      const sent = world.requests().slice(before);
      expect(sent.filter((line) => line !== 'GET /v1/models')).toEqual([]);
    },
  );
});
