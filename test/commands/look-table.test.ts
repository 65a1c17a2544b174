import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Fault, honest, startFaultProxy } from '../helpers/fault-proxy.ts';
import { replyBytes } from '../helpers/fault-server.ts';
import { World } from '../helpers/gw.ts';

// When the gateway does not show a task yet, or shows it succeeded without an output address, every command looks again
// (promises, section 2). A task that no longer exists ends the same way everywhere. The tables list commands, facts and families.

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
  'video download, on another machine': (family, id) => ['video', family, 'download', id],
  'the create again under --once': (family) => [...(creates[family] ?? []), '--once', 'day/fox', '--wait'],
  'batch run again': () => ['batch', 'run', 'day.jsonl'],
};
/** The same creates as rows of a batch. */
const rows: Readonly<Record<string, object>> = {
  alpha: { command: 'video alpha', prompt: 'a fox', duration: 4, resolution: '480p' },
  beta: { command: 'video beta', prompt: 'a fox', duration: 3 },
  gamma: { command: 'video gamma', prompt: 'fox', resolution: '768P', duration: 4, ratio: '16:9' },
};

const unknown: Readonly<Record<string, readonly [status: number, body: string]>> = {
  alpha: [404, '{"error":{"message":"no such task"}}'],
  beta: [200, '{"code":0,"data":[]}'],
  gamma: [400, '{"error":{"message":"no such task"}}'],
};
interface Fact {
  /** The gateway's answer to the first looks, in place of its normal answer. */
  readonly says: (family: string, text: string, look: number) => readonly [status: number, body: string];
  /** The number of looks that get this answer; 2 when absent. */
  readonly times?: number;
  /** The age of the task; gw treats a task as young for a minute. */
  readonly ageMs?: number;
  /** The exit code when no output is saved. */
  readonly code?: number;
}
const facts: Readonly<Record<string, Fact>> = {
  'not shown yet': { says: (family) => unknown[family] ?? [404, ''] },
  'asked to wait (429)': { says: () => [429, '{"error":{"message":"slow down"}}'] },
  'broken (503)': { says: () => [503, '{"error":{"message":"broken"}}'] },
  'no address yet': {
    says: (_, text) => [200, text.replace(/"(video_url|url|watermark_url)":"[^"]*"/g, '"$1":""')],
  },
  'no address ever': {
    says: (_, text) => [200, text.replace(/"(video_url|url|watermark_url)":"[^"]*"/g, '"$1":""')],
    times: 1_000,
    code: 12,
  },
  'not known any more': {
    says: (family) => unknown[family] ?? [404, ''],
    times: 1_000,
    ageMs: 3_600_000,
    code: 4,
  },
  // Each look may be retried four times: the looks that found no task do not count.
  'not shown five times, then broken': {
    says: (family, _, look) => (look <= 5 && unknown[family]) || [503, '{"error":{"message":"broken"}}'],
    times: 6,
    ageMs: 1_000,
  },
};

/** A ledger that does not know the task does not know its age either. */
const isElsewhere = (way: string) => way.endsWith('on another machine');
/** The families take turns, so every command meets every fact, and every family meets every fact and every command. */
const waysOf = (family: string, fact: string) =>
  Object.keys(ways).filter((way, at) => {
    const turn = at + Object.keys(facts).indexOf(fact) + Object.keys(creates).indexOf(family);
    return isElsewhere(way) ? fact.startsWith('no address') : turn % 3 === 0;
  });

let cells = 0;
afterAll(() => console.info(`looked at again: ${cells} cells`));

describe.each(Object.keys(creates))('%s', (family) => {
  describe.each(Object.keys(facts))('%s', (fact) => {
    test.each(waysOf(family, fact))('gw %s', async (way) => {
      const world = await World.open();
      const { says, times = 2, ageMs = 40_000, code = 0 } = facts[fact] ?? { says: () => [500, ''] };
      let looks = 0;
      let isMade = false;
      const first: Fault = async (socket, forward) => {
        const [status, body] = says(family, (await forward()).body.toString(), looks);
        socket.write(replyBytes(status, body));
      };
      const proxy = await startFaultProxy(world.sandbox.baseUrl, {
        faultOf: ({ method }) => {
          if (method === 'GET' && isMade) looks += 1;
          return method === 'GET' && isMade && looks <= times ? first : honest;
        },
      });
      const env = { GW_BASE_URL: proxy.url };
      const made = await world.gw([...(creates[family] ?? []), '--once', 'day/fox'], { env });
      const row = `${JSON.stringify({ id: 'fox', ...rows[family] })}\n`;
      writeFileSync(path.join(world.cwd, 'day.jsonl'), row);
      isMade = true;
      const id = made.out.trim();
      world.clock.ms += ageMs;
      const state = isElsewhere(way) ? { GW_STATE_DIR: path.join(world.dir, 'other') } : {};
      const run = await world.gw(ways[way]?.(family, id) ?? [], { env: { ...env, ...state } });
      const out = code === 0 ? `${path.join(world.cwd, id)}.mp4\n` : '';
      expect([run.code, run.out], run.err).toEqual([code, out]);
      if (code === 0) expect(looks).toBe(times + 1);
      cells += 1;
    });
  });
});
