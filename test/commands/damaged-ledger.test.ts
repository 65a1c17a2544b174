import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { seededRandom } from '../../src/sandbox/seeded.ts';
import { test, World } from '../helpers/gw.ts';

// A damaged ledger line may be the only trace of a paid job, so gw warns before it makes another paid request.

const journalOf = (world: World) => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  const [name = ''] = fs.readdirSync(dir).filter((each) => each.endsWith('.jsonl'));
  return path.join(dir, name);
};

async function inWorld(act: (world: World, paid: () => number) => Promise<void>): Promise<void> {
  const world = await World.open();
  const paid = () => world.sandbox.requests.filter(({ method }) => method === 'POST').length;
  try {
    await act(world, paid);
  } finally {
    await world.close();
  }
}

const make = ['video', 'alpha', 'create', 'a fox', '--duration', '4'];

test.each([[[]], [['-q']]])('a create names a line that cannot be read %j', (flags) =>
  inWorld(async (world) => {
    await world.gw(make);
    fs.appendFileSync(journalOf(world), '\n{"v":1,"t":\n');
    const lines = fs.readFileSync(journalOf(world), 'utf8').split('\n');
    const { err } = await world.ok([...make, ...flags]);
    expect(err).toContain(`${journalOf(world)}:${lines.indexOf('{"v":1,"t":') + 1} cannot be read`);
  }),
);

test('a key whose job has no line left is free once somebody has said so, as the hint names it', () =>
  inWorld(async (world, paid) => {
    const once = [...make, '--once', 'shots/1'];
    await world.gw(once);
    fs.writeFileSync(journalOf(world), '\0');
    for (const argv of [once, [...once, '--again']]) {
      const { code, err } = await world.gw(argv);
      expect(code, err).toBe(14);
      expect(err).toContain('what the ledger had of it is gone or cannot be read');
      expect(paid()).toBe(1);
    }
    const [, key = ''] = /gw jobs resolve (gw-\w+) --as/.exec((await world.gw(once)).err) ?? [];
    expect((await world.gw(['jobs', 'list'])).out).toContain(key);
    expect((await world.gw(['jobs', 'sync'])).code).not.toBe(1);
    await world.ok(['jobs', 'resolve', key, '--as', 'none']);
    await world.ok(once);
    expect(paid()).toBe(2);
  }));

// Whatever damage the ledger has, neither a create nor a batch pays again for a job under a key without a warning.

const DAMAGES = process.env.GW_TORTURE ? 500 : 20;

type Damage = (bytes: Buffer, random: (most: number) => number) => Buffer;
const around = (bytes: Buffer, at: number, length: number, between: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), between, bytes.subarray(at + length)]);
const alike = (byte: number, random: (most: number) => number): number => {
  const sort = [/[0-9]/, /[a-z]/, /[A-Z]/].find((each) => each.test(String.fromCharCode(byte)));
  const all = [...'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'].filter((each) =>
    sort?.test(each),
  );
  return sort ? (all[random(all.length)] ?? '').charCodeAt(0) : byte ^ 1;
};
const lineAt = (bytes: Buffer, at: number): readonly [number, number] => {
  const end = bytes.indexOf('\n', at);
  return [bytes.lastIndexOf('\n', at) + 1, end < 0 ? bytes.length : end];
};
const damages: Readonly<Record<string, Damage>> = {
  'another byte': (bytes, random) => around(bytes, random(bytes.length), 1, Buffer.from([random(256)])),
  'another character of its kind': (bytes, random) => {
    const at = random(bytes.length);
    return around(bytes, at, 1, Buffer.from([alike(bytes[at] ?? 0, random)]));
  },
  'characters of their kind in the head of each line': (bytes, random) => {
    const damaged = Buffer.from(bytes);
    for (let at = damaged.indexOf('{'); at >= 0; at = damaged.indexOf('\n{', at + 1)) {
      const hit = at + 10 + random(60);
      damaged[hit] = alike(damaged[hit] ?? 0, random);
    }
    return damaged;
  },
  'cut short': (bytes, random) => bytes.subarray(0, random(bytes.length)),
  'a line cut short': (bytes, random) => {
    const [start, end] = lineAt(bytes, random(bytes.length));
    const kept = random(Math.max(1, end - start));
    return around(bytes, start + kept, end - start - kept, Buffer.alloc(0));
  },
  'a line gone': (bytes, random) => {
    const [start, end] = lineAt(bytes, random(bytes.length));
    return around(bytes, start, end - start, Buffer.alloc(0));
  },
  'a stretch gone': (bytes, random) =>
    around(bytes, random(bytes.length), random(bytes.length / 2), Buffer.alloc(0)),
  'a stretch of zeros': (bytes, random) => {
    const length = random(bytes.length);
    return around(bytes, random(bytes.length - length), length, Buffer.alloc(length));
  },
  'a stretch of letters': (bytes, random) => {
    const length = random(bytes.length / 2);
    return around(bytes, random(bytes.length - length), length, Buffer.alloc(length, 'x'));
  },
  'a stretch in place of another': (bytes, random) => {
    const length = random(bytes.length / 3);
    const from = random(bytes.length - length);
    return around(bytes, random(bytes.length - length), length, bytes.subarray(from, from + length));
  },
};

const alpha = ['video', 'alpha', 'create', 'a fox', '--duration', '4'];
const keyed: Readonly<Record<string, readonly string[]>> = {
  alpha: [...alpha, '--wait', '--once', 'one/alpha'],
  beta: ['video', 'beta', 'create', 'an owl', '--duration', '3', '--once', 'one/beta'],
  image: ['image', 'create', 'a moth', '--once', 'one/image'],
};
const rows = [
  { command: 'video alpha', id: 'alpha', prompt: 'a hen', duration: 4 },
  { command: 'video gamma', id: 'gamma', prompt: 'a cat', resolution: '768P', duration: 4, ratio: '16:9' },
  { command: 'image create', id: 'image', prompt: 'an ant' },
];

test(`${DAMAGES} damages of a ledger: no job under a key is paid for twice unsaid`, {
  timeout: 600_000,
}, async ({ world }) => {
  const paid = () =>
    world.sandbox.requests.filter((each) => each.acceptedTaskId !== undefined || /images/.test(each.path))
      .length;
  const state = path.join(world.dir, '.local/state/gw/ledger');
  const kept = path.join(world.dir, 'kept');
  const outcomes: Record<string, number> = {};
  const unsaid: string[] = [];
  try {
    fs.writeFileSync(
      path.join(world.cwd, 'day.jsonl'),
      rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
    );
    await world.gw(alpha);
    // A failed create under the same key comes first and makes nothing.
    await world.gw([...(keyed.alpha ?? [])], { env: { GW_BASE_URL: 'http://127.0.0.1:9' } });
    const ways = { ...keyed, batch: ['batch', 'run', 'day.jsonl'] };
    for (const argv of Object.values(ways)) await world.ok(argv);
    fs.cpSync(state, kept, { recursive: true });
    const begun = paid();
    const random = seededRandom(40);
    const below = (most: number) => Math.floor(random() * most);
    for (let at = 0; at < DAMAGES; at += 1) {
      const kinds = Object.keys(damages);
      const kind = kinds[at % kinds.length] ?? '';
      for (const [way, argv] of Object.entries(ways)) {
        fs.rmSync(state, { recursive: true });
        fs.cpSync(kept, state, { recursive: true });
        if (below(2) === 0) fs.rmSync(path.join(state, 'contents'), { force: true });
        const [name = ''] = fs.readdirSync(state).filter((each) => each.endsWith('.jsonl'));
        const journal = path.join(state, name);
        fs.writeFileSync(journal, damages[kind]?.(fs.readFileSync(journal), below) ?? '');
        const before = paid();
        const { code, err } = await world.gw(argv);
        const isPaid = paid() > before;
        const isSaid = err.includes('cannot be read');
        const outcome = `${isPaid ? 'paid again' : 'not paid again'}, ${isSaid ? 'said' : 'unsaid'}, exit ${code}`;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        if (isPaid) unsaid.push(`${at} ${kind}, ${way}: ${outcome}: ${err}`);
        if (code === 1) unsaid.push(`${at} ${kind}, ${way}: ${err}`);
      }
    }
    console.log(
      `${DAMAGES} damages x ${Object.keys(ways).length} ways, ${begun} jobs before: ${JSON.stringify(outcomes, null, 2)}`,
    );
    console.log(unsaid.slice(0, 20).join('\n'));
    expect(unsaid).toEqual([]);
  } finally {
    await world.close();
  }
});
