import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { beforeWrites } from '../helpers/before-writes.ts';
import { World } from '../helpers/gw.ts';
import { ledgerOf } from './jobs-seed.ts';

// The disk becomes full exactly when gw writes the ID of a paid job, or the reply with the links to its images.

/** Makes every write of these ledger events (`a|b`) fail while `isFull` returns true. */
const fullFor = (events: string, isFull: () => boolean): void =>
  beforeWrites((text) => {
    if (new RegExp(`"event":"(${events})"`).test(text) && isFull())
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
  });

/** Calls `act` once, as soon as the writer of such a ledger event has ended its turn. */
function onceWritten(event: string, act: () => void): void {
  let isDue = true;
  beforeWrites((text) => {
    if (!isDue || !text.includes(`"event":"${event}"`)) return;
    isDue = false;
    setImmediate(act);
  });
}

async function openWorld() {
  const world = await World.open();
  return { world, reserve: path.join(world.dir, '.local/state/gw/ledger/reserve') };
}

test('the reserve is given up for the ID, and the wait goes on to the file', async () => {
  const { world, reserve } = await openWorld();
  fullFor('accepted', () => fs.existsSync(reserve));
  const run = await world.gw(['video', 'alpha', 'create', 'a fox', '--wait']);
  expect([run.code, Object.keys(world.files())], run.err).toEqual([0, [expect.stringMatching(/\.mp4$/)]]);
  expect(await ledgerOf(world).find()).toMatchObject([{ state: 'succeeded', files: [{}] }]);
});

test.each([
  ['with --wait the file is saved', ['--wait'], 1],
  ['without, nothing is on stdout', [], 0],
])(
  'where there is no room at all: %s, the ID stands on stderr, and the exit code tells',
  async (_, flags, files) => {
    const { world } = await openWorld();
    fullFor('accepted', () => true);
    const run = await world.gw(['video', 'alpha', 'create', 'a fox', '-q', ...flags]);
    expect([run.code, Object.keys(world.files()).length], run.err).toEqual([12, files]);
    expect(run.err).toMatch(
      /^warning: task vt-\S+ is not in the ledger; .*the disk is full.*: note its ID$/m,
    );
    expect(run.err).toMatch(/^hint: .*, then tell the ledger of it: gw jobs resolve gw-\w+ --as vt-\S+$/m);
    expect(run.err.includes(`; its output is saved as ${run.out.trimEnd()}\n`)).toBe(files === 1);
    expect(run.out).toMatch(files === 1 ? /\.mp4\n$/ : /^$/);
  },
);

const linked = ['image', 'create', 'a fox', '-m', 'legacy-image-3', '--response-format', 'url'];

test('the reserve is given up for the links to images', async () => {
  const { world, reserve } = await openWorld();
  fullFor('final', () => fs.existsSync(reserve));
  const run = await world.gw(linked);
  expect([run.code, Object.keys(world.files())], run.err).toEqual([0, [expect.stringMatching(/\.png$/)]]);
  expect(await ledgerOf(world).find()).toMatchObject([{ state: 'succeeded', files: [{}] }]);
});

test('where there is no room for the links, the image is saved all the same, and the exit code tells', async () => {
  const { world } = await openWorld();
  fullFor('final|get', () => true);
  const run = await world.gw(linked);
  expect([run.code, Object.keys(world.files())], run.err).toEqual([12, [expect.stringMatching(/\.png$/)]]);
  expect(run.err).toMatch(/the disk is full.*\n.*what came is saved/);
  expect(run.err).not.toContain('gw jobs sync');
});

const putFileAt = (place: string) => {
  fs.renameSync(place, `${place}-away`);
  fs.writeFileSync(place, '');
};
const newer = '{"v":2,"t":1,"job":"gw-0000000000000000000000000x","event":"what a newer gw does"}\n';

describe.each([
  ['a file is in the place of the state directory', (ledger: string) => putFileAt(path.dirname(ledger))],
  ['a file is in the place of the ledger', putFileAt],
  [
    'a directory is in the place of the journal',
    (ledger: string) => {
      const [name = ''] = fs.readdirSync(ledger).filter((each) => each.endsWith('.jsonl'));
      fs.renameSync(path.join(ledger, name), path.join(ledger, 'away'));
      fs.mkdirSync(path.join(ledger, name));
    },
  ],
  [
    'a newer gw writes into the journal',
    (ledger: string) => {
      const [name = ''] = fs.readdirSync(ledger).filter((each) => each.endsWith('.jsonl'));
      fs.appendFileSync(path.join(ledger, name), newer);
    },
  ],
])('after a paid create %s', (_, harm) => {
  test.each([
    ['a video', ['video', 'alpha', 'create', 'a fox', '--wait'], 'accepted', '.mp4'],
    ['an image', ['image', 'create', 'a fox'], 'sent', '.png'],
  ])(
    '%s is saved, and under --force beside the file that another job may own',
    async (_, argv, event, end) => {
      const { world, reserve } = await openWorld();
      const target = path.join(world.cwd, `fox${end}`);
      fs.writeFileSync(target, 'mine');
      onceWritten(event, () => harm(path.dirname(reserve)));
      const run = await world.gw([...argv, '--force', '-o', target]);
      expect([0, 12], run.err).toContain(run.code);
      expect(run.out, run.err).toBe(`${path.join(world.cwd, `fox-1${end}`)}\n`);
      expect(fs.readFileSync(target, 'utf8')).toBe('mine');
    },
  );
});

test.each([
  ['create', ['video', 'alpha', 'create', 'a fox']],
  ['create --once', ['video', 'alpha', 'create', 'a fox', '--once', 'k']],
  ['image create --once', ['image', 'create', 'a fox', '--once', 'k']],
  ['batch run', ['batch', 'run', 'day.csv']],
])('where no lock can be made, gw %s says what to do, and sends nothing', async (_, argv) => {
  const { world } = await openWorld();
  fs.writeFileSync(path.join(world.cwd, 'day.csv'), 'command,prompt\nimage create,a fox\n');
  const { openSync } = fs;
  onTestFinished(() => {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  });
  fs.openSync = (file, ...rest) => {
    if (/\.lock\b/.test(String(file)))
      throw Object.assign(new Error('EROFS'), { code: 'EROFS', syscall: 'open' });
    return openSync(file, ...rest);
  };
  syncBuiltinESMExports();
  const run = await world.gw(argv);
  expect([run.code, run.err]).toEqual([2, expect.stringContaining('the file system is read-only (EROFS)')]);
  expect(run.err).toContain('GW_STATE_DIR');
  expect(world.requests()).toEqual([]);
});
