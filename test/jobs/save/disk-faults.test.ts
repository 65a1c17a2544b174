import nodeFs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { json } from '../../helpers/fault-server.ts';
import { serveFile } from '../../helpers/output-server.ts';
import { listing, outputServer, tempDir } from './harness.ts';
import { sha256, tinyMp4, tinyPng } from './tiny-media.ts';

// Makes each call of saving fail in each way, on the disk of the target only. Before the payment, gw must find another way
// or send nothing. After it, the output must be saved, or rescued and moved to its place once the disk works again.

/** The call that fails, its error code, and the directory in which it fails. */
let fault: { readonly call: Fault; readonly code: string; readonly dir: string } | undefined;

/** The functions of Node behind each kind of call. */
const calls = {
  'a second name': ['linkSync'],
  'a rename': ['renameSync'],
  'a look at a name': ['lstatSync'],
  permissions: ['fchmodSync'],
  'the sync of a directory': ['fsync', 'fsyncSync'],
  'reading back': ['readSync', 'read'],
  'the sync of a file': ['fsync', 'fsyncSync', 'fdatasyncSync'],
  writing: ['writeSync'],
} as const;
type Call = keyof typeof calls;
type Named = (typeof calls)[Call][number];

/** A fault seen with the driver of a memory card: the rename fails, and both files are gone. */
const LOSING = 'a rename that loses both files';
type Fault = Call | typeof LOSING;

const codes = ['EIO', 'EPERM', 'ENOSYS', 'EOPNOTSUPP', 'EINVAL', 'EROFS', 'ENOSPC', 'EDQUOT'];

function failsAt(name: Named, [file, to]: unknown[]): Error | undefined {
  const failing: readonly Named[] = { ...calls, [LOSING]: ['linkSync', 'renameSync'] as const }[
    fault?.call ?? 'a rename'
  ];
  if (!fault || !failing.includes(name)) return undefined;
  const at = typeof file === 'number' ? nodeFs.readlinkSync(`/proc/self/fd/${file}`) : String(file);
  if (at !== fault.dir && path.dirname(at) !== fault.dir) return undefined;
  const isDirectory = at === fault.dir;
  if (fault.call.startsWith('the sync') && isDirectory !== (fault.call === 'the sync of a directory'))
    return undefined;
  if (fault.call === LOSING && name === 'renameSync')
    for (const lost of [file, to]) nodeFs.unlinkSync(String(lost));
  const errno = -((os.constants.errno as unknown as Record<string, number>)[fault.code] ?? 0);
  // Node has no name for some codes.
  const code = fault.code === 'EDQUOT' ? 'UNKNOWN' : fault.code;
  return Object.assign(new Error(`${code}: injected`), { code, errno, syscall: name });
}

type Callable = (...args: unknown[]) => unknown;
for (const name of new Set(Object.values(calls).flat())) {
  const real = nodeFs[name] as unknown as Callable;
  const failing: Callable = (...args) => {
    const error = failsAt(name, args);
    if (!error) return real(...args);
    const done = args.at(-1);
    if (typeof done !== 'function') throw error;
    process.nextTick(done as Callable, error);
    return undefined;
  };
  Object.assign(nodeFs, { [name]: failing });
}
syncBuiltinESMExports();
afterEach(() => {
  fault = undefined;
});

// Import after the functions of Node are replaced, because some modules copy them when they load.
const { checkTarget } = await import('../../../src/jobs/save/check-target.ts');
const { run } = await import('./harness.ts');
const { world, serve } = await import('../image/harness.ts');
const { syncImageJob } = await import('../../../src/jobs/image/sync-image-job.ts');

type Outcome = 'nothing sent' | 'saved' | 'rescued';
const counts: Record<Outcome, number> = { 'nothing sent': 0, saved: 0, rescued: 0 };

/** Returns true if the check refuses the target, in which case gw would send nothing. */
function isRefused(target: string, family: string): boolean {
  try {
    const before = { family, model: 'm', atMs: 0, outputsExpected: 1 };
    checkTarget({ target, force: false, download: true }, before);
    return false;
  } catch (error) {
    expect(error).toMatchObject({ kind: 'usage' });
    return true;
  }
}

const file = tinyMp4(20_000);

async function saveVideo(call: Fault, code: string, before?: Call): Promise<Outcome> {
  const [dir, refuge] = [tempDir(), path.join(tempDir(), 'rescued')];
  nodeFs.writeFileSync(path.join(dir, 'fox.mp4'), 'mine');
  const plan = { target: path.join(dir, 'fox.mp4'), force: false, download: true };
  if (before) fault = { call: before, code, dir };
  if (isRefused(plan.target, 'alpha')) return 'nothing sent';
  fault = { call, code, dir };
  const server = await outputServer((request, response) =>
    serveFile(file, request, response, { etag: '"1"' }),
  );
  const first = await run({ dir, url: server.url, plan, refuge });
  fault = undefined;
  const [saved] = first.files;
  expect(sha256(nodeFs.readFileSync(saved?.path ?? '')), String(first.failures[0]?.error)).toBe(sha256(file));
  if (saved?.rescued) {
    expect(first.failures[0]?.error).toMatchObject({
      kind: 'download',
      message: expect.stringContaining(saved.path),
    });
    const asked = server.gets.length;
    const again = await run({ dir, url: server.url, plan, refuge, journal: first.journal.snapshot() });
    expect([again.failures, server.gets.length]).toEqual([[], asked]);
    expect(sha256(nodeFs.readFileSync(again.files[0]?.path ?? ''))).toBe(sha256(file));
    expect(listing(refuge)).toEqual([]);
  } else expect(first.failures).toEqual([]);
  expect(listing(dir).filter((name) => !name.endsWith('.part'))).toEqual(['fox-1.mp4', 'fox.mp4']);
  expect(nodeFs.readFileSync(path.join(dir, 'fox.mp4'), 'utf8')).toBe('mine');
  return saved?.rescued ? 'rescued' : 'saved';
}

async function saveImage(call: Fault, code: string, before?: Call): Promise<Outcome> {
  const server = await serve([json(200, { data: [{ b64_json: tinyPng.toString('base64') }] })]);
  const here = world(server.url);
  const { dir } = here;
  nodeFs.writeFileSync(path.join(dir, 'fox.png'), 'mine');
  if (before) fault = { call: before, code, dir };
  if (isRefused(path.join(dir, 'fox.png'), 'image')) return 'nothing sent';
  fault = { call, code, dir };
  const first = await here.create();
  fault = undefined;
  const [saved] = first.files;
  expect(sha256(nodeFs.readFileSync(saved?.path ?? '')), String(first.error)).toBe(sha256(tinyPng));
  if (saved?.rescued) {
    expect(first.error).toMatchObject({ kind: 'download', message: expect.stringContaining(saved.path) });
    const synced = await syncImageJob(await here.job(), here.deps);
    expect(synced?.error).toBeUndefined();
    expect(nodeFs.existsSync(saved.path)).toBe(false);
  } else expect(first.error).toBeUndefined();
  const [kept, ...more] = (await here.job()).files;
  expect([kept?.path, more]).toEqual([path.join(dir, 'fox-1.png'), []]);
  expect(sha256(nodeFs.readFileSync(kept?.path ?? ''))).toBe(sha256(tinyPng));
  expect(listing(dir).filter((name) => !name.endsWith('.part'))).toEqual(['fox-1.png', 'fox.png']);
  expect(nodeFs.readFileSync(path.join(dir, 'fox.png'), 'utf8')).toBe('mine');
  return saved?.rescued ? 'rescued' : 'saved';
}

describe.each([
  ['video', saveVideo],
  ['image', saveImage],
] as const)('of a disk that a %s is saved to', (_, save) => {
  describe.each([
    ['before the payment', true],
    ['after the payment', false],
  ])('%s', (_when, isBefore) => {
    test.each(Object.keys(calls) as Call[])('%s fails in eight ways, and nothing is lost', async (call) => {
      for (const code of codes) counts[await save(call, code, isBefore ? call : undefined)] += 1;
    });
  });

  test('a rename that fails and loses both files costs the place alone', async () => {
    expect(await save(LOSING, 'EPERM', 'a second name')).toBe('rescued');
  });
});

test('every failure was met, and nothing was refused that can be done another way', () => {
  const cells = Object.keys(calls).length * codes.length * 4;
  const outcomes = Object.values(counts).reduce((sum, count) => sum + count, 0);
  // gw refuses a disk on which it cannot write, sync a file, read a file back or look at a name.
  expect([outcomes, counts['nothing sent']]).toEqual([cells, 4 * codes.length * 2]);
  console.info(`disk faults: ${cells} cells, ${JSON.stringify(counts)}`);
});
