import * as path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Fault, honest, startFaultProxy } from '../helpers/fault-proxy.ts';
import { replyBytes } from '../helpers/fault-server.ts';
import { World } from '../helpers/gw.ts';

// A task that the gateway does not show yet, and one that succeeded and names no output yet, is looked at again on every way
// that asks for it (promises, section 2): a table of ways, facts and families.

const creates: Readonly<Record<string, readonly string[]>> = {
  alpha: ['video', 'alpha', 'create', 'a fox', '--duration', '4', '--resolution', '480p'],
  beta: ['video', 'beta', 'create', 'a fox', '--duration', '3'],
  gamma: 'video gamma create fox --resolution 768P --duration 4 --ratio 16:9'.split(' '),
};
const ways: Readonly<Record<string, (family: string, id: string) => readonly string[]>> = {
  'jobs wait': (_, id) => ['jobs', 'wait', id],
  'jobs download': (_, id) => ['jobs', 'download', id],
  'jobs sync': () => ['jobs', 'sync'],
  'video wait': (family, id) => ['video', family, 'wait', id],
  'video download': (family, id) => ['video', family, 'download', id],
  'the create again under --once': (family) => [...(creates[family] ?? []), '--once', 'fox', '--wait'],
};

const unknown: Readonly<Record<string, readonly [status: number, body: string]>> = {
  alpha: [404, '{"error":{"message":"no such task"}}'],
  beta: [200, '{"code":0,"data":[]}'],
  gamma: [400, '{"error":{"message":"no such task"}}'],
};
/** What the gateway says to the first looks, in place of what it would say. */
const facts: Readonly<Record<string, (family: string, text: string) => readonly [number, string]>> = {
  'not shown yet': (family) => unknown[family] ?? [404, ''],
  'asked to wait (429)': () => [429, '{"error":{"message":"slow down"}}'],
  'no address yet': (_, text) => [200, text.replace(/"(video_url|url|watermark_url)":"[^"]*"/g, '"$1":""')],
};

let cells = 0;
afterAll(() => console.info(`looked at again: ${cells} cells`));

describe.each(Object.keys(creates))('%s', (family) => {
  describe.each(Object.keys(facts))('%s', (fact) => {
    test.each(Object.keys(ways))('gw %s', async (way) => {
      const world = await World.open();
      let looks = 0;
      let isMade = false;
      const first: Fault = async (socket, forward) => {
        const [status, body] = facts[fact]?.(family, (await forward()).body.toString()) ?? [500, ''];
        socket.end(replyBytes(status, body));
      };
      const proxy = await startFaultProxy(world.sandbox.baseUrl, {
        faultOf: ({ method }) => {
          if (method === 'GET' && isMade) looks += 1;
          return method === 'GET' && isMade && looks <= 2 ? first : honest;
        },
      });
      const env = { GW_BASE_URL: proxy.url };
      const made = await world.gw([...(creates[family] ?? []), '--once', 'fox'], { env });
      isMade = true;
      const id = made.out.trim();
      // Finished, and young.
      world.clock.ms += 40_000;
      const run = await world.gw(ways[way]?.(family, id) ?? [], { env });
      expect([run.code, run.out], run.err).toEqual([0, `${path.join(world.cwd, id)}.mp4\n`]);
      expect(looks).toBe(3);
      cells += 1;
    });
  });
});
