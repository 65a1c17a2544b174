import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import type { Job } from '../../src/ledger/event.ts';
import { NearPlace } from '../cli/near-place.ts';
import { control, creates, held, openSandbox, type Running, until } from '../cli/place.ts';
import { make } from '../media/fixtures.ts';
import { openRedis } from './redis.ts';

// @module-tag redis-server
// A row gives the same result on one machine and on many. One manifest runs on one machine, on a worker with a different
// profile, and on a worker that continues another worker's row; then all that each row leaves is compared.

const alpha = { command: 'video alpha', resolution: '480p', duration: 4 };
const everyKind = [
  { id: 'profile', ...alpha, image: ['fox.png'] },
  { id: 'set', command: 'video alpha', model: '2.0', duration: 4, set: { resolution: '4k' } },
  { id: 'body', command: 'video alpha', model: '2.0', body: { resolution: '4k', duration: 5 } },
  { id: 'broken', ...alpha, duration: 3, set: { model: 'alpha-video-2-0' } },
  { id: 'file', command: 'video beta', duration: 3, 'prompt-file': 'words.txt' },
  { id: 'default', command: 'video gamma', resolution: '768P', ratio: '16:9', 'first-frame': 'fox.png' },
  {
    id: 'image',
    command: 'image create',
    image: ['fox.png'],
    model: 'delta-image-5-0-pro-260628',
    size: '2K',
  },
  { id: 'texts', ...alpha, set: { 'content.1': { type: 'text', text: 'a hare' } } },
  { id: 'shots', command: 'video beta', shot: ['3:a fox, shots', '2:a hare'] },
  { id: 'own', ...alpha, out: 'clips/own/{key}.{ext}', 'return-last-frame': true },
  { id: 'edit', command: 'image edit', image: ['fox.png'], model: 'img-2', n: 2 },
].map((row) => ({
  ...('prompt-file' in row || 'shot' in row ? {} : { prompt: `a fox, ${row.id}` }),
  ...row,
}));

type Facts = Record<string, Record<string, unknown>>;
type Way = 'one machine' | 'worker' | 'change of hands';

/** What the ledger says of a job, whichever machine made it. */
const jobFields = 'endpoint model prompt settings media references request once state status family'.split(
  ' ',
) as (keyof Job)[];

/** Runs a manifest in one of the ways and returns what it leaves for each row. */
async function left(
  way: Way,
  rows: readonly (Record<string, unknown> & { readonly id: string })[],
  fault?: string,
): Promise<{ code: number | null; facts: Facts; adopted: unknown }> {
  // For a change of hands, tasks end only when the sandbox's time is moved on.
  const isHeld = way === 'change of hands';
  const sandbox = await openSandbox({ speed: isHeld ? held.speed : 300, ...(fault && { fault }) });
  const machine = async (isOwn: boolean) => {
    const place = new NearPlace(sandbox);
    fs.writeFileSync(path.join(place.cwd, 'words.txt'), 'a fox, file');
    make(place.cwd, 'fox.png', '-f', 'lavfi', '-i', 'testsrc=size=768x432', '-frames:v', '1');
    const settings = isOwn
      ? [
          'models.alpha alpha-video-2-0-fast-260128',
          'defaults.video.gamma.duration 5',
          'sidecar on',
          'account enterprise',
        ]
      : ['models.alpha alpha-video-2-5-260628', 'defaults.video.gamma.duration 6', 'account enterprise'];
    for (const setting of settings) {
      const set = await place.run(['config', 'set', ...setting.split(' ')]);
      expect(set.code, set.err).toBe(0);
    }
    return place;
  };
  const laptop = await machine(true);
  fs.writeFileSync(
    path.join(laptop.cwd, 'day.jsonl'),
    rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  );
  const typed = ['batch', 'run', 'day.jsonl', '--no-validate', '-o', 'clips/{key}.{ext}'];
  const env: Record<string, string> = { GW_INTERVAL: '100ms' };
  const places = [laptop];
  const workers: Running[] = [];
  let moving: NodeJS.Timeout | undefined;
  if (way !== 'one machine') {
    const redis = await openRedis({ appendOnly: true });
    env.GW_REDIS_URL = redis.url;
    const work = async (name: string) => {
      const place = await machine(false);
      places.unshift(place);
      const worker = place.start(['worker', '--redis', '--name', name], { env });
      workers.push(worker);
      return worker;
    };
    const anna = await work('anna');
    if (isHeld) {
      const detached = await laptop.run([...typed, '--redis', '--detach'], { env });
      expect(detached.code, detached.err).toBe(0);
      const made = () => new Set(anna.err().match(/day\/\w+(?=: (task|saved))|(?<=error: )day\/\w+/g)).size;
      // Of the two rows at 4k one waits until the other's task has ended.
      await until('the others are made', () => made() >= rows.length - 1, 240_000);
      anna.child.kill('SIGTERM');
      await anna.ended;
      await work('bert');
      const runs = () => sandbox.tasks().some(({ status }) => !/^(succeeded|failed)$/.test(status));
      // Time stands still while outputs are saved, so that no link expires.
      moving = setInterval(() => void (runs() && control(sandbox, 'POST time', { forward: 100 })), 500);
    }
    typed.push('--redis');
  }
  const { code, out, err } = await laptop.run([...typed, '--events'], { env });
  clearInterval(moving);
  for (const worker of workers) worker.child.kill('SIGTERM');
  const printed = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const facts: Facts = {};
  for (const { id } of rows) {
    const key = `day/${id}`;
    const told = printed.filter((each) => each.row_key === key);
    const line = told.find(({ event }) => event === 'result');
    expect(line, `${way} ${id}: ${err}\n${workers.map((each) => each.err()).join('\n')}`).toBeDefined();
    let job: Job | undefined;
    let where = laptop;
    for (const place of places) {
      const found = (await place.jobs()).find(({ once }) => once?.key === key);
      if (!found || job?.files.length) continue;
      [job, where] = [found, place];
    }
    const same = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value ?? null)
          .replaceAll(where.cwd, 'CWD')
          .replaceAll(/"(bert|anna):/g, '"')
          .replaceAll(sandbox.baseUrl, 'GATEWAY')
          .replaceAll(new URL(sandbox.baseUrl).host, 'GATEWAY')
          .replaceAll(/gw-[0-9a-z]{26}/g, 'KEY')
          .replaceAll(job?.id ?? 'no task', 'TASK'),
      );
    const files = (job?.files ?? []).map((file) => file.path);
    const again = await where.run([
      'again',
      files[0] ?? job?.id ?? job?.key ?? '',
      '--dry-run',
      '--json',
      '--no-validate',
      '--yes',
    ]);
    const sidecar =
      files[0] && fs.existsSync(`${files[0]}.json`) && fs.readFileSync(`${files[0]}.json`, 'utf8');
    facts[id] = {
      sent: same(
        creates(sandbox)
          .filter(({ body }) => JSON.stringify(body ?? '').includes(`a fox, ${id}`))
          .map(({ path: to, body }) => [to, body]),
      ),
      names: files.map((file) => path.relative(where.cwd, file)),
      sidecar: sidecar && { ...JSON.parse(sidecar), id: 0, created_at: 0, sha256: 0, seed: 0, usage: 0 },
      ledger: same(jobFields.map((field) => job?.[field])),
      plan: same({
        ...job?.save,
        sidecar: job?.save.sidecar !== undefined,
        target: job?.save.target.split('clips')[1],
      }),
      // A run that follows a worker hears only later events, the steps instead of every
      // look, and a video's download only when it is complete.
      events: isHeld
        ? undefined
        : same(
            told
              // A task that gw finds again may already have ended.
              .filter(
                ({ event, status }) =>
                  event !== 'status' || (!fault?.startsWith('create') && /^(succeeded|failed)$/.test(status)),
              )
              .filter(({ event, family }) => event !== 'download' || family !== 'image')
              .map(({ event, id, model, error }) => [event, Boolean(id), model, error?.kind]),
          ),
      keys: same([...new Set(told.map((each) => each.key))]),
      json: same({
        ...line,
        t: 0,
        record: 0,
        error: line.error && [line.error.kind, line.error.message, line.error.task_id],
        files: line.files.map((file: { path: string }) => file.path),
      }),
      again: same(again.code === 0 ? JSON.parse(again.out).body : again.err),
    };
  }
  for (const worker of workers) await worker.ended;
  const adopted = (await places[0]?.jobs())?.filter(({ bodySha256 }) => bodySha256 === '');
  return { code, facts, adopted: adopted?.map(({ once }) => once?.key).sort() };
}

/** Compares the other ways with the run on one machine. */
function compare(alone: Awaited<ReturnType<typeof left>>, of: Partial<Record<Way, typeof alone>>): number {
  let cells = 0;
  for (const [way, { code, facts }] of Object.entries(of)) {
    for (const [id, row] of Object.entries(facts))
      for (const [fact, value] of Object.entries(row).filter(([, each]) => each !== undefined)) {
        cells += 1;
        expect.soft(value, `${way}: ${id}: ${fact}`).toEqual(alone.facts[id]?.[fact]);
      }
    cells += 1;
    expect.soft(code, way).toBe(alone.code);
  }
  return cells;
}

test('a row leaves the same on one machine, by a worker, and after a change of hands', {
  tags: ['ffmpeg'],
}, async () => {
  const [alone, worker, hands] = await Promise.all([
    left('one machine', everyKind),
    left('worker', everyKind),
    left('change of hands', everyKind),
  ]);
  console.log(`${compare(alone, { worker, 'change of hands': hands })} cells`);
  // The second worker went on with every task that the first one had made.
  const made = ['default', 'file', 'own', 'profile', 'shots', 'texts'].map((id) => `day/${id}`);
  expect(hands.adopted).toEqual(expect.arrayContaining(made));
});

test.each(['task:fail=ContentPolicy', 'create:400', 'create:reset-after'])(
  'a row that goes wrong (%s) is told the same on one machine and by a worker',
  { tags: ['ffmpeg'] },
  async (fault) => {
    const some = everyKind.filter(({ id }) => /^(profile|file|default|edit)$/.test(id));
    const [alone, worker] = await Promise.all([
      left('one machine', some, fault),
      left('worker', some, fault),
    ]);
    console.log(`${compare(alone, { worker })} cells`);
  },
);
