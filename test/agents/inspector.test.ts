// @module-tag matrix
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { builtGw } from '../cli/built.ts';
import { Place } from '../cli/place.ts';
import { key, served } from '../sdk/served.ts';

// The MCP inspector's command line, one process per call, against `gw sandbox serve`; `npm run matrix` installs it.

const launcher = path.join(
  import.meta.dirname,
  '../../.ci/matrix/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);
const gateway = served();

/** Each call and the expected part of its answer; later calls name the jobs of earlier ones. */
const calls: readonly (readonly [tool: string, args: object, said: object])[] = [
  ['make_video', { family: 'beta', prompt: 'a boat', key: 'boat' }, { key: 'boat', status: 'succeeded' }],
  ['make_video', { family: 'beta', prompt: 'a boat', key: 'boat' }, { key: 'boat', status: 'succeeded' }],
  ['make_image', { prompt: 'a fox' }, { family: 'image', status: 'succeeded' }],
  ['make_again', { id: 'boat', prompt: 'a boat at night' }, { family: 'beta', status: 'succeeded' }],
  ['wait_for_job', { id: 'boat' }, { key: 'boat', files: [{ type: 'video/mp4' }] }],
  ['get_job', { id: 'boat' }, { prompt: 'a boat' }],
  ['list_jobs', {}, { jobs: [{ family: 'beta' }, { family: 'image' }, { family: 'beta' }] }],
  ['list_models', { family: 'gamma' }, { models: expect.arrayContaining([expect.anything()]) }],
  ['get_balance', {}, { hard_limit_usd: expect.any(Number) }],
];

test.each(['legacy', 'modern'])('every tool, by the %s protocol', async (era) => {
  const place = new Place(gateway);
  const asked = [launcher, '--cli', '--quiet', '--format', 'json', '--protocol-era', era];
  const env = [`GW_BASE_URL=${gateway.baseUrl}`, `GW_API_KEY=${key}`].flatMap((each) => ['-e', each]);
  const inspect = async (...words: string[]) => {
    const gw = [...builtGw().command, 'mcp'];
    const { code, out, err } = await place.command(process.execPath, [...asked, ...env, ...words, ...gw]);
    expect(code, out + err).toBe(0);
    return JSON.parse(out).result;
  };
  const { tools } = await inspect('--method', 'tools/list', '--strict');
  expect(new Set(calls.map(([tool]) => tool))).toEqual(
    new Set(tools.map(({ name }: { name: string }) => name)),
  );
  for (const [tool, args, said] of calls) {
    const words = ['--tool-name', tool, '--tool-args-json', JSON.stringify(args)];
    const { content } = await inspect('--method', 'tools/call', ...words);
    expect(JSON.parse(content[0].text)).toMatchObject(said);
  }
});
