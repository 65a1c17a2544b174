import * as fs from 'node:fs';
import * as path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { rowReader } from '../../src/commands/machines/open.ts';
import { decode } from '../../src/machines/decode.ts';
import { encode, rowStates } from '../../src/machines/row.ts';
import { openSandbox, Place, until } from '../cli/place.ts';
import { statusOf } from '../helpers/status-of.ts';
import { fuzz } from '../torture/torture.ts';
import { openRedis } from './redis.ts';

test('a worker shows whether it works, and figures that agree with the gateway', {
  tags: ['redis-server'],
}, async () => {
  const sandbox = await openSandbox();
  const redis = await openRedis({ appendOnly: true });
  const place = new Place(sandbox);
  fs.writeFileSync(path.join(place.dir, 'url'), `${redis.url}\n`);
  const env = { GW_INTERVAL: '100ms', GW_REDIS_URL: `file:${path.join(place.dir, 'url')}` };
  const row = { command: 'image create', prompt: 'a fox', size: '256x256' };
  fs.writeFileSync(
    path.join(place.cwd, 'day.jsonl'),
    `${JSON.stringify(row)}\n${JSON.stringify({ ...row, id: 'b' })}\n`,
  );
  expect((await place.run(['worker', '--listen', '192.0.2.1:8080', '--redis'], { env })).err).toContain(
    'error: --listen 192.0.2.1: not an address of this machine (EADDRNOTAVAIL)\n',
  );
  const worker = place.start(['worker', '--listen', '0', '--redis'], { env });
  await until('it listens', () => /metrics, health/.test(worker.err()));
  const [, url = ''] = /(http:\S+)\/metrics/.exec(worker.err()) ?? [];
  const { code, err } = await place.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  expect(code, err).toBe(0);
  const health = await fetch(`${url}/healthz`);
  expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
  const text = await (await fetch(`${url}/metrics`)).text();
  for (const line of [
    'gw_rows{state="saved"} 2',
    'gw_creates_total 2',
    'gw_replies_429_total 0',
    'gw_downloads_total 2',
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).toMatch(/gw_slots_allowed\{pool="alpha"\} 3\n/);
  expect(text).toMatch(/gw_step_seconds_count\{step="create"\} 2\n/);
  expect((await fetch(`${url}/other`)).status).toBe(404);
  expect(await statusOf(url, '//')).toBe(404);
  const page = await fetch(`${url}/metrics`, { headers: { origin: 'http://page.example' } });
  expect([page.status, await page.text()]).toEqual([403, 'wrong origin\n']);
  await redis.stop();
  await vi.waitFor(async () => expect((await fetch(`${url}/healthz`)).status).toBe(503), { timeout: 60_000 });
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(143);
  expect(worker.err()).not.toContain('Warning');
});

describe('a row that anybody may have changed', () => {
  const row = {
    ...{ row: 1, line: 1, key: 'day/a', command: 'video gamma', set: [], flags: {} },
    said: { prompt: 'a fox', duration: 5, resolution: '768P', ratio: '16:9' },
  };
  const whole = encode({
    ...{ state: 'waiting', round: 0, row, rows: 1, named: 'day.jsonl', again: false },
    ...{ family: 'gamma', pool: 'gamma', files: [] },
  });
  const hostile = fc.oneof(
    fc.string(),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.constantFrom('{', '[]', 'null', '-1', '1e999', '{"__proto__":{"a":1}}', '\u0000', 'x'.repeat(9_999)),
  );
  const said = fc.dictionary(
    fc.constantFrom(
      'prompt',
      'out',
      'force',
      'exec',
      'first-frame',
      'prompt-file',
      'callback-url',
      'sidecar',
      'count',
      'x',
    ),
    fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('/etc/passwd', '../x', 'clips/', '-', true, 'https://x/y?sig=1'),
    ),
  );
  const change = fc.oneof(
    fc.tuple(
      fc.constantFrom(...Object.keys(whole), 'id', 'job', 'files', 'error', 'sender', 'wanted'),
      hostile,
    ),
    hostile.filter((text) => !/^\d+$/.test(text)).map((format): [string, string] => ['v', format]),
    said.map((flags): [string, string] => [
      'row',
      JSON.stringify({ ...row, said: { ...row.said, ...flags } }),
    ]),
    fc.constantFrom(...rowStates).map((state): [string, string] => ['state', state]),
  );

  test('is read as a row that keeps to its folder, or has a fault that names it; nothing is thrown', () => {
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const read = decode('day/a', { ...whole, ...Object.fromEntries(changes) }, rowReader);
        expect(read?.row.key).toBe('day/a');
        if (read?.fault) {
          expect(read.error?.message).toContain('day/a');
          return;
        }
        const { flags = {} } = read?.row ?? {};
        for (const name of ['force', 'exec', 'notify', 'callbackUrl', 'once', 'count'])
          expect(flags).not.toHaveProperty(name);
        for (const name of ['out', 'promptFile', 'firstFrame'])
          expect(String(flags[name] ?? '')).not.toMatch(/^\/|(^|\/)\.\.(\/|$)/);
      }),
      fuzz(400),
    );
  });
});
