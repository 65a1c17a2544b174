import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ImageEditBody, ImageGenerateBody } from '../../src/gateway/image/create.ts';
import { breachesOf } from '../helpers/breaches.ts';
import { KEY, World } from '../helpers/gw.ts';
import { imageEditExamples } from './image-edit-examples.ts';
import { imageExamples } from './image-examples.ts';

const world = await World.open({ speed: 1e9 });

const endpoints = [
  { words: 'create', route: '/v1/images/generations', schema: ImageGenerateBody, examples: imageExamples },
  { words: 'edit', route: '/v1/images/edits', schema: ImageEditBody, examples: imageEditExamples },
] as const;

describe.each(endpoints)('literal requests of POST $route', ({ words, route, schema, examples }) => {
  const post = (body: unknown) =>
    fetch(`${world.sandbox.baseUrl}${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const command = (body: unknown, ...more: string[]) => {
    const file = path.join(world.cwd, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    return world.gw(['image', words, '--body', file, ...more]);
  };

  test.each(examples.filter((example) => !example.refused))('accepted: $rule', async ({ body, notDrawn }) => {
    expect(breachesOf(schema, body)).toEqual([]);
    const before = world.sandbox.requests.length;
    const shown = await command(body, '--dry-run', '--json');
    expect(shown.code, shown.err).toBe(0);
    // --dry-run must print exactly the literal body and send nothing.
    expect(JSON.parse(shown.out).body).toEqual(body);
    expect(world.sandbox.requests.length).toBe(before);
    if (notDrawn) return;
    const reply = await post(body);
    const text = await reply.text();
    expect(reply.status, text.slice(0, 500)).toBe(200);
  });

  test.each(examples.filter((example) => example.refused))('refused: $rule', async ({ body, refused }) => {
    expect(breachesOf(schema, body).join('\n')).toMatch(refused as RegExp);
    const reply = await post(body);
    const error = await reply.json();
    expect(reply.status, JSON.stringify(error).slice(0, 500)).toBe(400);
    expect(error).toMatchObject({ error: { message: expect.any(String), code: expect.any(String) } });
    const before = world.sandbox.requests.length;
    const run = await command(body);
    expect(run.code, run.err).toBe(2);
    expect(run.out).toBe('');
    expect(run.err).toMatch(/^error: /);
    expect(world.sandbox.requests.length).toBe(before);
  });
});
