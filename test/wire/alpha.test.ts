import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';
import { alphaExamples } from './alpha-examples.ts';

// The speed is so high that no example reaches the limit of concurrent tasks.
const world = await World.open({ speed: 1e9 });

const post = async (body: unknown) => {
  world.clock.ms += 10_000;
  return fetch(`${world.sandbox.baseUrl}/api/v3/contents/generations/tasks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
};

describe('literal requests of family A', () => {
  test.each(alphaExamples.filter((example) => !example.refused))('accepted: $rule', async ({ body }) => {
    expect(breachesOf(AlphaCreateBody, body)).toEqual([]);
    const reply = await post(body);
    expect({ status: reply.status, body: await reply.json() }).toMatchObject({
      status: 200,
      body: { status: 'queued', progress: 0 },
    });
    const file = path.join(world.cwd, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    world.clock.ms += 10_000;
    const run = await world.gw(['video', 'alpha', 'create', '--body', file]);
    expect(run).toMatchObject({ code: 0, out: expect.stringMatching(/^[\w.-]+\n$/) });
    // gw must send exactly the literal body.
    expect(world.sandbox.requests.at(-1)?.body).toEqual(body);
  });

  test.each(alphaExamples.filter((example) => example.refused))(
    'refused: $rule',
    async ({ body, refused }) => {
      expect(breachesOf(AlphaCreateBody, body).join('\n')).toMatch(refused as RegExp);
      const reply = await post(body);
      expect(reply.status).toBe(400);
      expect(await reply.json()).toMatchObject({
        error: { message: expect.any(String), code: expect.any(String) },
      });
      // The command must end with a usage error and send no request.
      const file = path.join(world.cwd, 'body.json');
      writeFileSync(file, JSON.stringify(body));
      const before = world.sandbox.requests.length;
      const noModel = (body as { model?: unknown }).model === undefined;
      const run = await world.gw(['video', 'alpha', 'create', '--body', file]);
      if (noModel) return; // the command has a default model
      expect(run.code, run.err).toBe(2);
      expect(run.out).toBe('');
      expect(run.err).toMatch(/^error: /);
      // gw looks up an unknown model in the gateway's list.
      const sent = world.requests().slice(before);
      expect(sent.filter((line) => line !== 'GET /v1/models')).toEqual([]);
    },
  );
});
