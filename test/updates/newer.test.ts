import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { formats } from '../../src/formats.ts';
import { openRedis } from '../machines/redis.ts';
import { lefts, openHome, plantRows } from './left.ts';

// gw must refuse an entry of a newer gw anywhere in a store, with one sentence and before it pays for anything, and must not
// change the entry. A line, file or hash gives its format before all else.

const state = '.local/state/gw';
const newerLine =
  '{"v":2,"t":1795445585168,"job":"gw-0000000000000000000000000x","event":"what a newer gw does"}';
const create = ['video', 'beta', 'create', 'a newer boat', '--duration', '3', '--sandbox'];
const places = ['first', 'middle', 'last'] as const;

/** Inserts an entry among others. */
const among = <T>(entries: readonly T[], added: T, place: (typeof places)[number]): T[] => {
  const at = { first: 0, middle: entries.length >> 1, last: entries.length }[place];
  return [...entries.slice(0, at), added, ...entries.slice(at)];
};

interface Cell {
  readonly store: string;
  readonly where: string;
  /** Writes an entry of a newer gw into the home. */
  readonly write: (home: string) => void;
  /** The commands to try, each of which must be refused. */
  readonly asked: readonly (readonly string[])[];
}

function lineCells(store: string, folder: string, asked: Cell['asked'], names?: RegExp): Cell[] {
  return places.map((place) => ({
    ...{ store, where: `${place} line`, asked },
    write(home) {
      const dir = path.join(home, folder);
      const [name = ''] = fs.readdirSync(dir).filter((each) => names?.test(each) ?? true);
      const file = path.join(dir, name);
      const lines = fs
        .readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      fs.writeFileSync(
        file,
        among(lines, newerLine, place)
          .map((line) => `${line}\n`)
          .join(''),
      );
    },
  }));
}

const fileCell = (store: string, where: string, name: string, text: string, asked: Cell['asked']): Cell => ({
  ...{ store, where, asked },
  write(home) {
    const file = path.join(home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    fs.writeFileSync(file, text, { mode: 0o600 });
  },
});

const readsLedger = [['jobs', 'list'], ['jobs', 'sync', '--sandbox'], create, [...create, '--once', 'new']];
const talks = [['chat', '--session', 'trip', 'and home?', '--sandbox']];
const cells: Cell[] = [
  ...lineCells('ledger', `${state}/ledger`, readsLedger),
  ...['2026-10', '2026-12', '9999-12'].map((month) =>
    fileCell('ledger', `journal ${month}`, `${state}/ledger/${month}.jsonl`, `\n${newerLine}\n`, readsLedger),
  ),
  ...lineCells('talks', `${state}/chat/sessions`, talks, /^trip\.jsonl$/),
  fileCell('settings', 'the file', '.config/gw/config.json', '{"version":2,"profiles":{}}', [
    ['video', 'alpha', 'create', 'x'],
  ]),
  fileCell('keys', 'the file', '.config/gw/keys.json', '{"version":2,"keys":{}}', [
    ['video', 'alpha', 'create', 'x', '--base-url', 'http://127.0.0.1:9'],
  ]),
  fileCell('listeners', 'beside', `${state}/listeners/ffff.json`, '{"v":2,"url":"new"}', [
    [...create, '--callback-url', 'auto'],
  ]),
  ...lineCells('handovers', `${state}/queues`, [['batch', 'run', 'queued.jsonl', '--sandbox']]),
  ...['tasks/vb-0', 'tasks/vz-9', 'documents/beta-external-id/gw-0'].map((name) =>
    fileCell('sandbox', name, `${state}/sandbox/${name}.json`, '{"v":2,"plan":{}}', [create]),
  ),
  fileCell('presets', 'a flag that is not known', '.config/gw/presets/small.yaml', 'mood: 2\n', [
    ['video', 'alpha', 'create', 'x', '--preset', 'small', '--sandbox'],
  ]),
];

/** Every file of a home except locks and caches, with its content. */
function snapshot(home: string): Record<string, string> {
  const names = (fs.readdirSync(home, { recursive: true }) as string[]).filter(
    (name) => !/(^|\/)(locks|cache|\.cache)(\/|$)/.test(name) && fs.statSync(path.join(home, name)).isFile(),
  );
  return Object.fromEntries(names.map((name) => [name, fs.readFileSync(path.join(home, name), 'latin1')]));
}

const expectRefusal = ({ code, err }: { readonly code: number; readonly err: string }, what: string) => {
  expect(code, `${what}: ${err}`).toBe(2);
  const errors = err.split('\n').filter((line) => line.startsWith('error:'));
  expect(errors, what).toHaveLength(1);
  expect(errors[0], what).toMatch(
    /was written by a newer gw \(format \d, this gw reads format \d\)|is no flag of gw/,
  );
};

describe.each(lefts)('beside what $version left, what a newer gw wrote', (left) => {
  test.each(cells)('$store, $where: is refused, nothing is sent, and it stays', async ({ write, asked }) => {
    const world = await openHome(left);
    write(world.dir);
    const before = snapshot(world.dir);
    for (const argv of asked) {
      expectRefusal(await world.gw(argv, { bare: true }), argv.join(' '));
      expect(snapshot(world.dir), argv.join(' ')).toEqual(before);
    }
  });

  test.each(['row:queued/q1', 'row:queued/q4', 'meta'])(
    'on the queue, %s: is refused',
    { tags: ['redis-server'] },
    async (name) => {
      const world = await openHome(left, { ticks: true });
      const redis = await openRedis();
      await plantRows(left, redis.client);
      const [prefix = ''] = /^gw:\w+/.exec(left.redis[0]?.key ?? '') ?? [];
      const { format = 1 } = name === 'meta' ? formats.queue : formats.rows;
      await redis.client.hset(`${prefix}:${name}`, 'v', format + 1);
      const left4 = async () => {
        const keys = (await redis.client.keys('*:row:*')).sort();
        const rows = await Promise.all(keys.map((key) => redis.client.hgetall(key)));
        return [rows, fs.readdirSync(path.join(world.dir, state, 'sandbox/tasks')).sort()];
      };
      const before = await left4();
      const queue = ['--redis', redis.url, '--sandbox'];
      for (const command of ['run', 'status']) {
        const refused = await world.gw(['batch', command, 'queued.jsonl', ...queue], { bare: true });
        expectRefusal(refused, `batch ${command}`);
      }
      expect(await left4()).toEqual(before);
      // One row of a newer format does not stop a worker.
      if (name !== 'meta') return;
      expectRefusal(await world.gw(['worker', ...queue], { bare: true }), 'worker');
      const paidFor = before[1]?.length ?? 0;
      expect((await left4())[1]).toHaveLength(paidFor);
      expect(await redis.client.hgetall(`${prefix}:row:queued/q4`)).toEqual(before[0]?.[3]);
    },
  );
});

test('every store of which a newer format is refused is among these', () => {
  const tried = new Set([...cells.map(({ store }) => store), 'rows', 'queue']);
  const refused = Object.entries(formats).filter(([, { newer }]) => newer === 'refused');
  expect(refused.map(([name]) => name).filter((name) => !tried.has(name))).toEqual([]);
});
