import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import type * as z from 'zod/mini';
import { AlphaCreateBody } from '../../src/gateway/alpha/create.ts';
import { betaCreates } from '../../src/gateway/beta/create.ts';
import { strictOf } from '../../src/gateway/body.ts';
import { GammaCreateBody } from '../../src/gateway/gamma/create.ts';
import { ImageEditBody, ImageGenerateBody } from '../../src/gateway/image/create.ts';
import { imageModels } from '../../src/gateway/image/models.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';
import { alphaExamples, type Example } from './alpha-examples.ts';
import { betaExamples, flagsOfPath } from './beta-examples.ts';
import { gammaExamples } from './gamma-examples.ts';
import { imageEditExamples } from './image-edit-examples.ts';
import { imageExamples, img2, img25 } from './image-examples.ts';
import { expectRefusal } from './refusal.ts';

// Each literal body of a create is judged by gw's schema, by the sandbox over raw HTTP, and by the command, and all must agree.

interface Create {
  readonly route: string;
  readonly schema: z.ZodMiniType;
  readonly argv: readonly string[];
  readonly examples: readonly Example[];
  /** The reply of the sandbox to an accepted body; images come in one of several forms. */
  readonly reply?: object;
  /** The body that gw sends, if it adds fields to the literal one. */
  readonly sent?: (body: unknown) => unknown;
  /** The command fills in a model, so that it cannot send a body without one. */
  readonly hasDefaultModel?: true;
  /** The command is only shown with --dry-run, because it would draw images. */
  readonly isShown?: true;
}

/** gw adds an external ID, by which it finds the task of a lost reply. */
function withExternalId(body: unknown): unknown {
  const { options, ...rest } = body as { options?: { external_task_id?: string } };
  const external_task_id = options?.external_task_id ?? expect.stringMatching(/^gw-/);
  return { ...rest, options: { ...options, external_task_id } };
}

const creates: readonly Create[] = [
  {
    route: '/api/v3/contents/generations/tasks',
    schema: AlphaCreateBody,
    argv: ['video', 'alpha', 'create'],
    examples: alphaExamples,
    reply: { status: 'queued', progress: 0 },
    hasDefaultModel: true,
  },
  ...betaCreates.map(({ path: route, body }) => ({
    route,
    schema: body,
    argv: ['video', 'beta', 'create', ...(flagsOfPath[route] ?? [])],
    examples: betaExamples.filter((example) => example.path === route),
    reply: { code: 0, data: { id: expect.any(String), status: 'submitted' } },
    sent: withExternalId,
  })),
  {
    route: '/v2/video_generation',
    schema: GammaCreateBody,
    argv: ['video', 'gamma', 'create'],
    examples: gammaExamples,
    reply: { task_id: expect.stringMatching(/^[\w.-]+$/) },
    hasDefaultModel: true,
  },
  {
    route: '/v1/images/generations',
    schema: ImageGenerateBody,
    argv: ['image', 'create'],
    examples: imageExamples,
    hasDefaultModel: true,
    isShown: true,
  },
  {
    route: '/v1/images/edits',
    schema: ImageEditBody,
    argv: ['image', 'edit'],
    examples: imageEditExamples,
    hasDefaultModel: true,
    isShown: true,
  },
];

// External IDs are unique in an account, so the raw requests and those of the command go to separate sandboxes. Their speed is
// so high that no example reaches the limit of concurrent tasks.
const raw = await World.open({ speed: 1e9 });
const world = await World.open({ speed: 1e9 });

describe.each(creates)('literal bodies of POST $route', ({ route, schema, argv, examples, ...create }) => {
  const post = (body: unknown) => {
    raw.clock.ms += 10_000;
    return fetch(`${raw.sandbox.baseUrl}${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  };
  const command = (body: unknown, ...more: string[]) => {
    const file = path.join(world.cwd, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    world.clock.ms += 10_000;
    return world.gw([...argv, '--body', file, ...more]);
  };
  const accepted = examples.filter(({ refused }) => refused === undefined);
  const refused = examples.filter((example) => example.refused !== undefined);

  test.each(accepted)('accepted: $rule', async ({ body, notPosted }) => {
    expect(breachesOf(schema, body)).toEqual([]);
    expect(breachesOf(strictOf(schema), body)).toEqual([]);
    if (!notPosted) {
      const reply = await post(body);
      const text = await reply.text();
      expect(reply.status, text.slice(0, 500)).toBe(200);
      if (create.reply) expect(JSON.parse(text)).toMatchObject(create.reply);
    }
    const sent = create.sent?.(body) ?? body;
    const before = world.sandbox.requests.length;
    if (create.isShown || notPosted) {
      const shown = await command(body, '--dry-run', '--json');
      expect(shown.code, shown.err).toBe(0);
      expect(JSON.parse(shown.out).body).toEqual(sent);
      expect(world.sandbox.requests.length).toBe(before);
    } else {
      const run = await command(body);
      expect(run, run.err).toMatchObject({ code: 0, out: expect.stringMatching(/^[\w.:-]+\n$/) });
      expect(world.sandbox.requests.at(-1)).toMatchObject({ method: 'POST', path: route });
      expect(world.sandbox.requests.at(-1)?.body).toEqual(sent);
    }
  });

  test.each(refused)('refused: $rule', async ({ body, refused: rule }) => {
    const breaches = breachesOf(schema, body);
    expect(breaches.join('\n')).toMatch(rule as RegExp);
    const tasks = raw.sandbox.tasks().length;
    await expectRefusal(await post(body), breaches[0]);
    expect(raw.sandbox.tasks()).toHaveLength(tasks);
    if (create.hasDefaultModel && (body as { model?: unknown }).model === undefined) return;
    const before = world.requests().length;
    const run = await command(body);
    expect(run, run.err).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^error: /) });
    expect(run.err).toMatch(new RegExp(rule as RegExp, 'm'));
    // gw looks up an unknown model in the gateway's list.
    const sent = world.requests().slice(before);
    expect(sent.filter((line) => line !== 'GET /v1/models')).toEqual([]);
  });
});

test('a field that the document does not list is left to the gateway, and the strict sandbox refuses it', () => {
  const body = { ...(gammaExamples[0]?.body as object), seed: 1 };
  expect(breachesOf(GammaCreateBody, body)).toEqual([]);
  expect(breachesOf(strictOf(GammaCreateBody), body).join()).toMatch(/seed/);
});

test('img models of one kind share their limits, so that the literal bodies of one hold for all of them', () => {
  expect(img2.map((model) => imageModels[model] === imageModels['img-2'])).toEqual([true, true]);
  expect(img25.map((model) => imageModels[model] === imageModels['img-2.5-flare'])).toEqual(
    Array(4).fill(true),
  );
});
