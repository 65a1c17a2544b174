import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { hostOf } from '../../src/disk/lock-file.ts';
import { cmd } from '../helpers/cmd.ts';
import { test, World } from '../helpers/gw.ts';

// "Saved" means the same in every command (the contract, section "jobs"). The tables list commands, states of the disk and
// families. An entry of `facts` states the expected result for every command; `ways` adds what a command prints differently.

/** Each video family, plus images that arrive as data or as links. */
const rows: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  alpha: { command: 'video alpha', duration: 4, resolution: '480p' },
  beta: { command: 'video beta', duration: 3 },
  gamma: { command: 'video gamma', resolution: '768P', duration: 4, ratio: '16:9' },
  'image data': { command: 'image create', size: '1024x1024' },
  'image link': { command: 'image create', model: 'legacy-image-3', 'response-format': 'url' },
  'native image': { command: 'image native' },
};
type FamilyRow = keyof typeof rows & string;
const commandOf = (family: FamilyRow) => String(rows[family]?.command).split(' ');
const isVideo = (family: FamilyRow) => commandOf(family)[0] === 'video';

/** The create command of a row, as typed words. */
function typed(family: FamilyRow): string[] {
  const { command: _, ...fields } = rows[family] ?? {};
  const words = isVideo(family) ? [...commandOf(family), 'create'] : commandOf(family);
  return [
    ...words,
    'a fox',
    ...Object.entries(fields).flatMap(([name, value]) => [`--${name}`, String(value)]),
  ];
}

interface Way {
  readonly argv: (family: FamilyRow, id: string) => readonly string[];
  /** The command prints nothing for an output that is already saved. */
  readonly isSilent?: boolean;
  /** The command names no job, so it skips an output that nobody can fetch any more. */
  readonly namesNone?: boolean;
  /** The command skips a job that another process holds, without failing. */
  readonly leavesHeld?: boolean;
  /** The command checks only file sizes: the commands over thousands of jobs do so, and `open`. */
  readonly isBySize?: boolean;
  /** For a command that fetches nothing: the output path that it reports. */
  readonly sees?: (out: string) => string | undefined;
  readonly isFor?: (family: FamilyRow) => boolean;
}
const ways: Readonly<Record<string, Way>> = {
  'jobs wait': { argv: (_, id) => ['jobs', 'wait', id] },
  'jobs download': { argv: (_, id) => ['jobs', 'download', id] },
  'video wait': { argv: (family, id) => [...commandOf(family), 'wait', id], isFor: isVideo },
  'video download': { argv: (family, id) => [...commandOf(family), 'download', id], isFor: isVideo },
  'the create again under --once': {
    argv: (family) => [...typed(family), '--once', 'day/fox', ...(isVideo(family) ? ['--wait'] : [])],
  },
  'jobs sync': {
    argv: () => ['jobs', 'sync'],
    isSilent: true,
    isBySize: true,
    namesNone: true,
    leavesHeld: true,
  },
  'jobs wait --all': {
    argv: () => ['jobs', 'wait', '--all'],
    isSilent: true,
    isBySize: true,
    namesNone: true,
  },
  'batch run again': { argv: () => ['batch', 'run', 'day.jsonl'], isSilent: true, isBySize: true },
  open: { argv: (_, id) => ['open', id], isBySize: true, sees: (out) => out.trim() || undefined },
  'jobs show': {
    argv: (_, id) => ['jobs', 'show', id, '--json'],
    sees(out) {
      const { saved, files } = JSON.parse(out) as { saved: boolean; files: { path: string }[] };
      return saved ? files.map((file) => file.path).join() : undefined;
    },
  },
  gallery: {
    argv: () => ['gallery'],
    isBySize: true,
    sees(out) {
      const page = readFileSync(out.trim(), 'utf8');
      const links = [...page.matchAll(/"href":"([^"]+)"/g)].map(([, link = '']) => decodeURIComponent(link));
      return links.map((link) => path.resolve(path.dirname(out.trim()), link)).join() || undefined;
    },
  },
};

/** The path of the job's one output, the path of its copy, and the output's bytes. */
interface Places {
  readonly first: string;
  readonly copy: string;
  readonly whole: Buffer;
  readonly world: World;
  /** gw's own key of the job. */
  readonly key: string;
}
const stateOf = ({ dir }: World) => path.join(dir, '.local/state/gw');
/** A running process, whose ID a lock can name as its holder. */
const sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
afterAll(() => sleeper.kill());
interface Fact {
  /** Changes the disk before each command runs. */
  readonly make: (places: Places) => unknown;
  /** True if a check of file sizes alone does not notice the change. */
  readonly isUnseenBySize?: boolean;
  /** The path that commands report; `fetched` means a new download to a free path, `held` that another gw has the job. */
  readonly told: 'first' | 'copy' | 'fetched' | 'held';
}
const damaged = (whole: Buffer) =>
  Buffer.from(whole.map((byte, at) => (at === whole.length - 1 ? byte ^ 1 : byte)));
const facts: Readonly<Record<string, Fact>> = {
  'whole, and copied elsewhere': { make: () => {}, told: 'first' },
  'the copy gone': { make: ({ copy }) => rmSync(copy), told: 'first' },
  'gone, with a copy': { make: ({ first }) => rmSync(first), told: 'copy' },
  'cut, with a copy': { make: ({ first }) => writeFileSync(first, 'cut 6b'), told: 'copy' },
  'gone, and the copy too': {
    make: ({ first, copy }) => {
      rmSync(first);
      rmSync(copy);
    },
    told: 'fetched',
  },
  'cut, and the copy gone': {
    make: ({ first, copy }) => {
      writeFileSync(first, 'cut 6b');
      rmSync(copy);
    },
    told: 'fetched',
  },
  'whole, with a budget that is reached': {
    make: ({ world }) => world.gw(['config', 'set', 'budget.jobs', '1/month']),
    told: 'first',
  },
  'whole, with another default for --out': {
    make: ({ world }) => world.gw(['config', 'set', 'out', 'other/{id}.{ext}']),
    told: 'first',
  },
  'whole, with a damaged line': {
    make({ world, key }) {
      const dir = path.join(stateOf(world), 'ledger');
      const [name = ''] = readdirSync(dir).filter((each) => each.endsWith('.jsonl'));
      const journal = path.join(dir, name);
      const intent = new RegExp(`^.*"${key}","event":"intent".*$`, 'm');
      writeFileSync(
        journal,
        readFileSync(journal, 'utf8').replace(intent, (line) => line.slice(0, -40)),
      );
    },
    told: 'first',
  },
  'gone, with the copy, and held by another gw': {
    make({ world, key, first, copy }) {
      rmSync(first);
      rmSync(copy, { force: true });
      const lock = path.join(stateOf(world), 'locks', `${key}.lock`);
      writeFileSync(lock, JSON.stringify({ pid: sleeper.pid, host: hostOf(), started: '', nonce: 'ab12' }));
    },
    told: 'held',
  },
  'changed at the same length, and the copy gone': {
    make: ({ first, copy, whole }) => {
      writeFileSync(first, damaged(whole));
      rmSync(copy);
    },
    told: 'fetched',
    isUnseenBySize: true,
  },
};

/** A job that a batch made and saved, and that was copied elsewhere; `again` restores this state. */
async function openWorld(family: FamilyRow) {
  const world = await World.open();
  writeFileSync(
    path.join(world.cwd, 'day.jsonl'),
    `${JSON.stringify({ id: 'fox', prompt: 'a fox', ...rows[family] })}\n`,
  );
  const made = await world.ok(['batch', 'run', 'day.jsonl']);
  const first = made.out.trim();
  const job = JSON.parse((await world.gw(cmd`jobs show last --json`)).out) as {
    id: string;
    job: string;
  };
  const whole = readFileSync(first);
  const copy = path.join(world.cwd, `copy${path.extname(first)}`);
  if (isVideo(family)) {
    const copied = await world.gw(['jobs', 'download', job.id, '-o', copy]);
    expect([copied.code, copied.out], copied.err).toEqual([0, `${copy}\n`]);
  }
  const kept = `${world.dir}-kept`;
  const replace = (to: string, from: string) => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true, preserveTimestamps: true });
  };
  replace(kept, world.dir);
  const again = () => replace(world.dir, kept);
  return { world, id: job.id, key: job.job, first, copy, whole, again };
}

/** Families whose outputs come in one way. Each family of a group takes its turn, so every pair of a table is tried once. */
const alike: readonly (readonly FamilyRow[])[] = [
  ['beta', 'gamma', 'alpha'],
  ['image data', 'native image'],
  ['image link'],
];
function isTurn(family: FamilyRow, way: string, fact: string): boolean {
  const group = alike.find((each) => each.includes(family)) ?? [family];
  const turn = group.indexOf(family) + Object.keys(ways).indexOf(way) + Object.keys(facts).indexOf(fact);
  return turn % group.length === 0;
}

let cells = 0;
afterAll(() => console.info(`saved means whole: ${cells} cells`));

describe.each(Object.keys(rows))('%s', (family) => {
  const named = Object.entries(ways).filter(([, { isFor }]) => isFor?.(family) ?? true);
  const meant = Object.entries(facts).filter(
    ([what]) => isVideo(family) || !/^(whole, and copied|the copy|.*with a copy)/.test(what),
  );
  let opened: Awaited<ReturnType<typeof openWorld>>;
  beforeAll(async () => {
    opened = await openWorld(family);
  });
  test.each(named)('%s', async (name, way) => {
    const { id, again, ...places } = opened;
    const { world, first, copy, whole } = places;
    const cameOnce = family === 'image data' || family === 'native image';
    for (const [what, fact] of meant.filter(([each]) => isTurn(family, name, each))) {
      again();
      writeFileSync(copy, whole);
      await fact.make(places);
      const before = world.sandbox.requests.length;
      const left = existsSync(first) ? readFileSync(first) : undefined;
      const run = await world.gw(way.argv(family, id), { env: { GW_TIMEOUT: '2s' } });
      const here = `${family}, ${name}: ${what}\n${run.err}`;
      const sent = world.sandbox.requests.slice(before);
      const posts = sent.filter(({ method }) => method === 'POST');
      expect(posts, here).toEqual([]);
      // Whatever is downloaded again, the file at the first path stays as it is.
      if (left) expect(readFileSync(first).equals(left), here).toBe(true);
      const isSeen = !(fact.isUnseenBySize && way.isBySize);
      const isTold = fact.told === 'first' || fact.told === 'copy' || !isSeen;
      const told = fact.told === 'copy' ? copy : first;
      if (isTold && !what.endsWith('damaged line')) expect(sent, here).toEqual([]);
      if (way.sees) {
        expect([run.code, way.sees(run.out)], here).toEqual(
          isTold ? [0, told] : [name === 'open' ? 4 : 0, undefined],
        );
      } else if (fact.told === 'held' ? way.leavesHeld : !isTold && cameOnce && way.namesNone) {
        expect([run.code, run.out], here).toEqual([0, '']);
      } else if (fact.told === 'held') {
        expect([run.code, run.out], here).toEqual([10, '']);
        expect(run.err, here).toContain(`another gw (process ${sleeper.pid})`);
      } else if (isTold) {
        expect([run.code, run.out], here).toEqual([0, way.isSilent ? '' : `${told}\n`]);
      } else if (cameOnce) {
        expect([run.code, run.out], here).toEqual([12, '']);
        expect(run.err, here).toMatch(
          /is gone, unreadable or not what was saved.*\n(hint: |.*"hint":").*pay for a new one: (run the batch again with --redo|gw again gw-)/,
        );
      } else {
        const path = run.out.trim();
        expect([run.code, existsSync(path)], here).toEqual([0, true]);
        expect(digest(readFileSync(path)), here).toBe(digest(whole));
      }
      cells += 1;
    }
  });
});

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

const forced: Readonly<Record<string, (ids: readonly string[]) => readonly string[]>> = {
  'download of two': (ids) => ['jobs', 'download', ...ids, '-o', '{family}.{ext}', '--force'],
  'wait of two': (ids) => ['jobs', 'wait', ...ids, '-o', '{family}.{ext}', '--force'],
  'a create of two': () => [...typed('alpha'), '--count', '2', '--wait', '-o', '{family}.{ext}', '--force'],
  'images of two rows': () => ['batch', 'run', 'images.jsonl', '-o', 'one.png', '--force'],
  'videos of two rows': () => ['batch', 'run', 'videos.jsonl', '-o', 'one.mp4', '--force'],
};
const under = ['--count', '2', '--once', 'k', '--wait', '-o', '{family}.{ext}', '--force'];
const lines = (text: string) => text.trim().split('\n');
describe('--force replaces what was there before, and no other output of the command', () => {
  test.each(Object.keys(forced))('%s', async (name) => {
    const { world, id } = await openWorld('alpha');
    const other = await world.gw([...typed('alpha'), '--json', '--wait']);
    const manifest = (family: FamilyRow) =>
      ['a', 'b'].map((prompt) => `${JSON.stringify({ id: prompt, prompt, ...rows[family] })}\n`).join('');
    writeFileSync(path.join(world.cwd, 'videos.jsonl'), manifest('alpha'));
    writeFileSync(path.join(world.cwd, 'images.jsonl'), manifest('image data'));
    for (const old of ['alpha.mp4', 'one.png', 'one.mp4']) writeFileSync(path.join(world.cwd, old), 'old');
    const ids = [id, (JSON.parse(other.out) as { id: string }).id];
    for (const _ of [1, 2]) {
      const run = await world.ok(forced[name]?.(ids) ?? []);
      const paths = run.out.trim().split('\n').filter(Boolean);
      // A batch prints nothing on its second run.
      if (paths.length === 0) break;
      expect(new Set(paths).size, run.err).toBe(2);
      const [first = '', second = ''] = paths.sort((one, two) => two.length - one.length);
      expect([path.basename(second), first], run.err).toEqual([
        expect.stringMatching(/^(alpha|one)\.(mp4|png)$/),
        second.replace(/(\.\w+)$/, '-1$1'),
      ]);
      expect(readFileSync(first).length).toBeGreaterThan(10);
      expect(readFileSync(second).length).toBeGreaterThan(10);
    }
  });

  test.for([true, false])(
    'nor what another gw saved since it began (ended before: %s)',
    async (endedBefore, { world }) => {
      const unsaved = [...typed('alpha'), '--wait', '--no-download', '--json'];
      const before = endedBefore ? await world.ok(unsaved) : undefined;
      const stdin = new PassThrough();
      const words = typed('alpha').filter((word) => word !== 'a fox');
      const forcing = world.gw([...words, '--wait', '-o', 'x.mp4', '--force'], { stdin });
      while (stdin.listenerCount('end') === 0) await new Promise(setImmediate);
      world.clock.ms += 1000;
      const { id } = JSON.parse((before ?? (await world.ok(unsaved))).out) as { id: string };
      await world.ok(['jobs', 'download', id, '-o', 'x.mp4']);
      stdin.end('a hare');
      const { out, err } = await forcing;
      expect(out, err).toBe(`${path.join(world.cwd, 'x-1.mp4')}\n`);
    },
  );

  test.each(['images of two rows', 'videos of two rows', 'a create of two under a key'])(
    'nor what an earlier run of it saved: %s',
    async (name) => {
      const { world } = await openWorld('alpha');
      for (const [file, family] of [
        ['videos', 'alpha'],
        ['images', 'image link'],
      ] as const)
        writeFileSync(
          path.join(world.cwd, `${file}.jsonl`),
          ['a', 'b'].map((id) => `${JSON.stringify({ id, prompt: id, ...rows[family] })}\n`).join(''),
        );
      const argv = forced[name]?.([]) ?? [...typed('alpha'), ...under];
      const [kept = '', gone = ''] = lines((await world.ok(argv)).out).sort((a, b) => a.length - b.length);
      const digests = [kept, gone].map((file) => digest(readFileSync(file)));
      rmSync(gone);
      for (const _ of [1, 2]) {
        await world.ok(argv);
        expect([kept, gone].map((file) => digest(readFileSync(file)))).toEqual(digests);
      }
    },
  );

  test.each([
    ['jobs', 'sync'],
    ['jobs', 'wait', 'last'],
    ['jobs', 'download', 'last'],
    ['video', 'alpha', 'wait', 'last'],
    ['video', 'alpha', 'download', 'last'],
  ])('only in the command that it is typed for: not in a later gw %s %s %s %s', async (...typed) => {
    const later = typed.filter((word) => word !== undefined);
    const world = await World.open();
    const file = path.join(world.cwd, 'x.mp4');
    const saveAs = (...words: string[]) => world.ok(cmd`video alpha create ${words} -o x.mp4 --force`);
    await saveAs('a fox', '--wait', '--duration', '4');
    const { err } = await saveAs('a hare', '--duration', '6');
    expect(err).toMatch(/wait for it and save it with: gw video alpha wait \S+ --force\n/);
    world.clock.ms += 3_600_000;
    writeFileSync(file, 'of the user');
    expect(lines((await world.ok(later)).out)).toContain(path.join(world.cwd, 'x-1.mp4'));
    for (const _ of [1, 2]) await world.ok(['jobs', 'sync']);
    expect(readFileSync(file, 'utf8')).toBe('of the user');
    expect((await world.ok(['jobs', 'download', 'last', '--force'])).out).toBe(`${file}\n`);
  });

  test.each(['jobs download last --force', `${typed('image link').join(' ')} --once k -o x.png --force`])(
    'of an image whose link was left: gw %s',
    async (later) => {
      const world = await World.open({ fault: 'output:404:x1' });
      expect((await world.gw([...typed('image link'), '--once', 'k', '-o', 'x.png'])).code).toBe(12);
      writeFileSync(path.join(world.cwd, 'x.png'), 'old');
      expect((await world.ok(later.split(' '))).out).toBe(`${path.join(world.cwd, 'x.png')}\n`);
      expect(Object.keys(world.files())).toEqual(['x.png']);
    },
  );

  test.each(['download', 'wait'])('nor what the later one of two had saved: jobs %s', async (word) => {
    const world = await World.open();
    const file = path.join(world.cwd, 'x.mp4');
    const ids: string[] = [];
    for (const duration of ['4', '6']) {
      const argv = ['video', 'alpha', 'create', 'a fox', '--duration', duration, '-o', 'x.mp4', '--force'];
      ids.push(JSON.parse((await world.ok([...argv, '--wait', '--json'])).out).id);
      world.clock.ms += 60_000;
    }
    const later = digest(readFileSync(file));
    for (const order of [ids, ids.toReversed()]) {
      const { out } = await world.ok(['jobs', word, ...order, '--force']);
      expect(lines(out).sort()).toEqual([path.join(world.cwd, 'x-1.mp4'), file]);
      expect(digest(readFileSync(file))).toBe(later);
    }
    await world.close();
  });

  test('also after a first try that took the next name', async () => {
    const { world, id, whole } = await openWorld('alpha');
    const final = path.join(world.cwd, 'fin.mp4');
    writeFileSync(final, 'old');
    const argv = ['jobs', 'download', id, '-o', 'fin.mp4'];
    expect((await world.gw(argv)).out).toBe(`${path.join(world.cwd, 'fin-1.mp4')}\n`);
    expect((await world.gw([...argv, '--force'])).out).toBe(`${final}\n`);
    expect(digest(readFileSync(final))).toBe(digest(whole));
  });

  test.each(['alpha', 'image link'])('also after a sync that took the next name: %s', async (family) => {
    const world = await World.open(isVideo(family) ? {} : { fault: 'output:404:x1' });
    const [name, next] = isVideo(family) ? ['x.mp4', 'x-1.mp4'] : ['x.png', 'x-1.png'];
    const [file = '', copy = ''] = [name, next].map((each) => path.join(world.cwd, each));
    writeFileSync(file, 'old');
    const argv = [...typed(family), '--once', 'k', '-o', name, '--force'];
    await world.gw(argv);
    world.clock.ms += 600_000;
    await world.ok(['jobs', 'sync']);
    const before = [readFileSync(file, 'utf8'), world.requests().length];
    for (const _ of [1, 2])
      expect((await world.ok([...argv, ...(isVideo(family) ? ['--wait'] : [])])).out).toBe(`${file}\n`);
    expect([...before, digest(readFileSync(file))]).toEqual([
      'old',
      world.requests().length,
      digest(readFileSync(copy)),
    ]);
  });

  test.each(['alpha', 'image link'])('also after a sync: batch run of %s', async (family) => {
    const world = await World.open(isVideo(family) ? {} : { fault: 'output:404:x2' });
    const [one = '', two = '', three = ''] = ['', '-1', '-2'].map((end) =>
      path.join(world.cwd, `x${end}.${isVideo(family) ? 'mp4' : 'png'}`),
    );
    writeFileSync(one, 'old');
    const manifest = ['a', 'b'].map((id) => `${JSON.stringify({ id, prompt: id, ...rows[family] })}\n`);
    writeFileSync(path.join(world.cwd, 'day.jsonl'), manifest.join(''));
    const argv = ['batch', 'run', 'day.jsonl', '-o', path.basename(one), '--force'];
    expect((await world.gw(isVideo(family) ? [...argv, '--wait-timeout', '1s'] : argv)).code).not.toBe(0);
    world.clock.ms += 600_000;
    await world.ok(['jobs', 'sync']);
    const saved = [two, three].map((file) => digest(readFileSync(file)));
    const before = [readFileSync(one, 'utf8'), world.requests().length];
    expect(lines((await world.ok(argv)).out)).toContain(one);
    const first = digest(readFileSync(one));
    expect((await world.ok(argv)).out).toBe('');
    expect([...before, [two, three].map((file) => digest(readFileSync(file)))]).toEqual([
      'old',
      world.requests().length,
      saved,
    ]);
    expect(saved).toContain(first);
    expect(digest(readFileSync(one))).toBe(first);
  });

  test('A name that ends in -1 by itself is no next name: batch run', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'x.mp4'), 'a file of the user');
    writeFileSync(
      path.join(world.cwd, 'day.jsonl'),
      `${JSON.stringify({ prompt: 'a fox', ...rows.alpha })}\n`,
    );
    const argv = ['batch', 'run', 'day.jsonl', '-o', 'x-1.mp4', '--force'];
    expect((await world.ok(argv)).out).toBe(`${path.join(world.cwd, 'x-1.mp4')}\n`);
    const { length } = world.requests();
    expect((await world.ok(argv)).out).toBe('');
    expect(world.requests()).toHaveLength(length);
    expect(readFileSync(path.join(world.cwd, 'x.mp4'), 'utf8')).toBe('a file of the user');
  });
});

test.each(Object.keys(rows))('%s: a name of another kind than the bytes are is told', async (family) => {
  const world = await World.open();
  const file = path.join(world.cwd, isVideo(family) ? 'fox.png' : 'fox.jpg');
  const { code, out, err } = await world.gw(cmd`
    ${typed(family)} ${isVideo(family) ? ['--wait'] : []} -o ${path.basename(file)}
  `);
  expect([code, out], err).toEqual([0, `${file}\n`]);
  const [id = ''] = (await world.gw(['jobs', 'list', '-q'])).out.split('\n');
  const copied = await world.gw(['jobs', 'download', id, '-o', `copy${path.extname(file)}`]);
  for (const [each, told] of [
    [file, err],
    [copied.out.trim(), copied.err],
  ])
    expect(told).toContain(`${each} holds ${isVideo(family) ? 'MP4' : 'PNG'}, whatever its name says`);
});
