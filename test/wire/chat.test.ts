import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ChatApi } from '../../src/chat/chat.ts';
import { loadSurface } from '../../src/chat/surface.ts';
import { issuesOf, strictOf } from '../../src/gateway/body.ts';
import { CompletionsBody } from '../../src/gateway/chat/completions.ts';
import { GeoBody } from '../../src/gateway/chat/geo.ts';
import { MessagesBody } from '../../src/gateway/chat/messages.ts';
import { KEY, World } from '../helpers/gw.ts';
import { type ChatExample, chatExamples } from './chat-examples.ts';

const strict = {
  completions: strictOf(CompletionsBody),
  messages: strictOf(MessagesBody),
  geo: strictOf(GeoBody),
};

const world = await World.open({ speed: 1e9 });
const strictWorld = await World.open({ speed: 1e9, strict: true });
await world.gw(['config', 'set', 'provider_version', '2026-01-31']);

const paths: Record<ChatApi, string> = {
  completions: '/v1/chat/completions',
  messages: '/v1/messages',
  geo: '/v1beta/models/{model}:generateContent',
};
const credentials: Record<ChatApi, Record<string, string>> = {
  completions: { authorization: `Bearer ${KEY}` },
  messages: { 'x-api-key': KEY, 'provider-version': '2026-01-31' },
  geo: { 'x-geo-api-key': KEY },
};

/** Sends a literal request over raw HTTP. */
const post = ({ api, model = '', body }: ChatExample, { sandbox } = world) =>
  fetch(`${sandbox.baseUrl}${paths[api].replace('{model}', model)}`, {
    method: 'POST',
    headers: { ...credentials[api], 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** The field at which a schema refuses a body. Undefined if the schema accepts the body. */
async function breachAt({ api, model, body }: ChatExample, isStrict: boolean): Promise<string | undefined> {
  const schema = isStrict ? strict[api] : (await loadSurface(api)).schema(model ?? 'm');
  return issuesOf(schema, body).broken[0]?.path.join('.');
}

const accepted = chatExamples.filter(({ refused }) => refused === undefined);
describe('literal chat requests', () => {
  test.each(accepted)('$api accepts: $rule', async (example) => {
    expect(await breachAt(example, false)).toBeUndefined();
    expect(await breachAt(example, true)).toBeUndefined();
  });

  test.each(accepted)('gw sends to $api what is in a body, to the letter: $rule', async (example) => {
    const file = path.join(world.cwd, 'body.json');
    writeFileSync(file, JSON.stringify(example.body));
    const model = example.model ? ['-m', example.model] : [];
    const hasStream = (example.body as { stream?: boolean }).stream;
    const stream = hasStream ? [] : ['--no-stream'];
    const words = ['chat', '--api', example.api, '--body', file, '--json', '--dry-run'];
    const run = await world.gw([...words, ...model, ...stream]);
    expect(run.err.replace(/^warning:.*\n/gm, '')).toBe('');
    const { body: sent } = JSON.parse(run.out) as { body: unknown };
    expect(sent).toEqual(example.body);
  });

  test.each(chatExamples.filter(({ strictly }) => !strictly))(
    'gw and the sandbox judge alike on $api: $rule',
    async (example) => {
      const at = await breachAt(example, false);
      if (example.refused === undefined) return expect(at).toBeUndefined();
      expect(at?.startsWith(example.refused), at).toBe(true);
      const reply = await post(example);
      expect(reply.status, await reply.text()).toBe(400);
      const verdict = reply.headers.get('x-sandbox-verdict')?.replaceAll(/\[(\d+)\]/g, '.$1');
      expect(verdict).toBe(`refused InvalidParameter ${at}`);
    },
  );

  test.each(chatExamples.filter(({ strictly }) => strictly))(
    'the strict sandbox refuses on $api what gw lets pass: $rule',
    async (example) => {
      expect(await breachAt(example, false)).toBeUndefined();
      expect(await breachAt(example, true)).toBe('');
      expect((await post(example, strictWorld)).status).toBe(400);
    },
  );
});
