import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import { openPlace, type Place, pause, type Running, sha256, sha256Of } from '../cli/place.ts';
import { openRedis } from '../machines/redis.ts';
import { createsOf, framesOf, ids, sentPicture, story } from '../shots/chain.ts';
import { type Round, torture } from './torture.ts';

// Runs five rows of one CSV until all are saved, while their processes are killed: an image, and four shots that each begin
// with the last frame of the row before. Each row must be made once. When a reply is lost with its process, the test resolves
// the row as a user would, by the tasks that the gateway shows.

type World = Awaited<ReturnType<typeof openPlace>>;

/** The most kills of one chain. Without a limit it might never end: on a busy machine a process may live too short for one step. */
const MOST_KILLS = 8;

function writeStory({ cwd }: Place): void {
  const names = [...new Set(story.flatMap((row) => Object.keys(row)))];
  const lines = story.map((row) => names.map((name) => (row as Record<string, unknown>)[name] ?? '').join());
  fs.writeFileSync(path.join(cwd, 'day.csv'), `${[names.join(), ...lines].join('\n')}\n`);
}

/** Resolves a row of unknown outcome as a user would, by what the gateway shows. Returns whether an image is made again. */
async function settle({ sandbox }: World, id: string, resolve: (as: string) => ReturnType<Place['run']>) {
  const [made] = createsOf(sandbox, id);
  // An image has no task that could be looked up.
  const isImage = id === ids[0];
  const { code, err } = await resolve((!isImage && made?.acceptedTaskId) || 'none');
  expect(code, err).toBe(0);
  return isImage && made !== undefined;
}

/** Checks that each row was made once, from exactly the bytes that the row before it saved. */
async function expectChain(place: World, again: readonly string[], { counts }: Round): Promise<void> {
  const { sandbox, temp } = place;
  for (const id of ids) {
    const [made, asked] = [createsOf(sandbox, id).length, 1 + again.filter((each) => each === id).length];
    if (made > asked) counts.doubled += 1;
    if (made === 0) counts.lost += 1;
  }
  const jobs = await place.jobs();
  const jobOf = (id: string) =>
    jobs.find(({ once, state }) => once?.key === `day/${id}` && state === 'succeeded');
  const saved = ids.map((id) => jobOf(id)?.files[0]);
  for (const file of saved) if (!file || sha256Of(file.path) !== file.sha256) counts.halfFiles += 1;
  const { sent, last, different } = framesOf(
    sandbox,
    saved.map((file) => file?.path ?? ''),
    temp,
  );
  expect([sent, different]).toEqual([last, 4]);
  for (const [at, id] of ids.entries()) {
    if (at === 0) continue;
    const [reference] = jobOf(id)?.references ?? [];
    const frame = at === 1 ? 'image' : 'last_frame';
    const { id: before, key } = jobOf(ids[at - 1] ?? '') ?? {};
    expect(reference).toEqual({
      name: `job:${before ?? key}#${frame}`,
      sha256: sha256(sentPicture(sandbox, id)),
    });
  }
  expect(sentPicture(sandbox, 's1').equals(fs.readFileSync(saved[0]?.path ?? ''))).toBe(true);
}

/** Kills a process at a random moment. Returns false if the process had already ended. */
async function killLater(
  { child, ended }: Running,
  mostMs: number,
  { random, counts }: Round,
): Promise<boolean> {
  await Promise.race([pause(50 + random() * mostMs), ended]);
  const isKilled = child.exitCode === null && child.kill('SIGKILL');
  if (isKilled) counts.kills += 1;
  await ended;
  return isKilled;
}

const onOneMachine = { short: 1, atOnce: 2, longestRoundMs: 240_000, tags: ['ffmpeg'] };
torture('kills of a chain on one machine', onOneMachine, async (round) => {
  const place = await openPlace({}, round.after);
  writeStory(place);
  const again: string[] = [];
  let kills = 0;
  for (let isOver = false; !isOver; ) {
    const run = place.start(['batch', 'run', 'day.csv', '--interval', '100ms']);
    if (kills < MOST_KILLS && (await killLater(run, 4_000, round))) {
      kills += 1;
      continue;
    }
    const { code, err } = await run.ended;
    isOver = code === 0;
    if (isOver) continue;
    expect([13, 14], err).toContain(code);
    const { out } = await place.run(['batch', 'status', 'day.csv', '--json']);
    const unknown = out.split('\n').flatMap((line) => (line.includes('"unknown"') ? JSON.parse(line) : []));
    expect(unknown.length, err).toBeGreaterThan(0);
    for (const { row_key: key } of unknown) {
      const id = key.replace('day/', '');
      if (await settle(place, id, (as) => place.run(['jobs', 'resolve', key, '--as', as]))) again.push(id);
    }
  }
  await expectChain(place, again, round);
});

torture(
  'kills of a chain that two workers on one disk make',
  {
    short: 0,
    atOnce: 2,
    longestRoundMs: 400_000,
    tags: ['ffmpeg', 'redis-server'],
  },
  async (round) => {
    const place = await openPlace({}, round.after);
    writeStory(place);
    const redis = await openRedis({ appendOnly: true }, round.after);
    const env = { GW_REDIS_URL: redis.url, GW_INTERVAL: '100ms' };
    const again: string[] = [];
    let isOver = false;
    let kills = 0;
    const worker = async (name: string) => {
      while (!isOver) {
        const running = place.start(['worker', '--redis', '--name', name], { env });
        if (kills < MOST_KILLS) kills += Number(await killLater(running, 15_000, round));
        else while (!isOver) await pause(200);
        running.child.kill('SIGKILL');
      }
    };
    const follower = async () => {
      for (;;) {
        const { code, err } = await place.run(['batch', 'run', 'day.csv', '--redis'], { env });
        if (code === 0) break;
        expect([13, 14], err).toContain(code);
        for (const id of ids) {
          const [row = ''] = await redis.client.keys(`*:row:day/${id}`);
          if ((await redis.client.hget(row, 'state')) !== 'unknown') continue;
          const words = ['jobs', 'resolve', `day/${id}`, '--redis', '--as'];
          if (await settle(place, id, (as) => place.run([...words, as], { env }))) again.push(id);
        }
      }
      isOver = true;
    };
    await Promise.all([worker('anna'), worker('bert'), follower()]);
    await expectChain(place, again, round);
  },
);
