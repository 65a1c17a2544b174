import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { betaCreates } from '../../src/gateway/beta/create.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';
import { betaExamples, flagsOfPath } from './beta-examples.ts';

// External IDs are unique in an account, so the raw requests and those of the command go to separate accounts.
const raw = await World.open({ speed: 1e9 });
const world = await World.open({ speed: 1e9 });

const post = (at: string, body: unknown) => {
  raw.clock.ms += 10_000;
  return fetch(`${raw.sandbox.baseUrl}${at}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
};

const create = (at: string, body: unknown) => {
  const file = path.join(world.cwd, 'body.json');
  writeFileSync(file, JSON.stringify(body));
  world.clock.ms += 10_000;
  return world.gw(['video', 'beta', 'create', ...(flagsOfPath[at] ?? []), '--body', file]);
};

const schemaOf = (at: string) => {
  const endpoint = betaCreates.find((each) => each.path === at);
  if (!endpoint) throw new Error(`no endpoint has the path ${at}`);
  return endpoint.body;
};

describe('literal requests of family B', () => {
  test.each(betaExamples.filter((example) => !example.refused))(
    'accepted: $rule',
    async ({ path: at, body }) => {
      expect(breachesOf(schemaOf(at), body)).toEqual([]);
      const reply = await post(at, body);
      expect({ status: reply.status, body: await reply.json() }).toMatchObject({
        status: 200,
        body: { code: 0, data: { id: expect.any(String), status: 'submitted' } },
      });
      const run = await create(at, body);
      expect(run, run.err).toMatchObject({ code: 0, out: expect.stringMatching(/^[\w.:-]+\n$/) });
      // gw must send exactly the literal body, plus the external ID by which it finds the task of a lost reply.
      const sent = world.sandbox.requests.at(-1);
      expect(sent?.path).toBe(at);
      const { options, ...rest } = body as { options?: { external_task_id?: string } };
      expect(sent?.body).toEqual({
        ...rest,
        options: { ...options, external_task_id: options?.external_task_id ?? expect.stringMatching(/^gw-/) },
      });
    },
  );

  test.each(betaExamples.filter((example) => example.refused))(
    'refused: $rule',
    async ({ path: at, body, refused }) => {
      expect(breachesOf(schemaOf(at), body).join('\n')).toMatch(refused as RegExp);
      const reply = await post(at, body);
      const answer = (await reply.json()) as { code: unknown; message: unknown };
      expect(answer.code).not.toBe(0);
      expect(answer.message).toEqual(expect.any(String));
      const before = world.sandbox.requests.length;
      const run = await create(at, body);
      // gw may fill in a duration that the shots imply, but nothing else.
      expect(run.code, run.err).toBe(2);
      expect(run.out).toBe('');
      expect(run.err).toMatch(/^error: /);
      expect(world.sandbox.requests.length).toBe(before);
    },
  );
});
