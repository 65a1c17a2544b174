import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { openPlace, type Place, pause } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { isWhole, kinds, takenOf } from './rows.ts';
import { isLong, type Round, tell, torture } from './torture.ts';

// Kills a batch of three families and images on a personal account at random moments and runs it again each time. Also runs
// two batches of one manifest at once. Afterwards each row has one task and the gateway's file, and no create got a 429.

type World = Place & { readonly sandbox: Sandbox };

const fields = ['command', 'model', 'resolution', 'duration', 'ratio', 'size', 'id', 'prompt'] as const;

function manifest(place: World, rows: number, asCsv: boolean): string {
  const all = Array.from(
    { length: rows },
    (_, at): Record<string, string | number | undefined> => ({
      ...kinds[at % kinds.length],
      id: `r${at}`,
      prompt: `fox number ${at}.`,
    }),
  );
  const name = asCsv ? 'day.csv' : 'day.jsonl';
  const lines = asCsv
    ? [fields.join(','), ...all.map((row) => fields.map((field) => row[field] ?? '').join(','))]
    : all.map((row) => JSON.stringify(row));
  fs.writeFileSync(path.join(place.cwd, name), `${lines.join('\n')}\n`);
  return name;
}

async function expectOnce(place: World, rows: number, { counts }: Round): Promise<number> {
  const wrong: string[] = [];
  const jobs = await place.jobs();
  let unknown = 0;
  for (let at = 0; at < rows; at += 1) {
    const taken = takenOf(place.sandbox, at);
    const mine = jobs.filter(({ once, state }) => once?.key === `day/r${at}` && state !== 'not_sent');
    if (taken > 1) counts.doubled += 1;
    if (taken > 1 || mine.length > 1) wrong.push(`row ${at}: ${taken} creates, ${mine.length} jobs`);
    const [job] = mine;
    // The process was killed between sending and the reply: gw neither guesses the result nor sends again.
    if (job?.state === 'unknown') {
      unknown += 1;
      continue;
    }
    if (taken === 0 || job?.files.length !== 1) {
      counts.lost += 1;
      wrong.push(`row ${at}: ${taken} creates, ${job?.state ?? 'no job'}, ${job?.files.length ?? 0} files`);
    }
    for (const file of job?.files ?? []) {
      if (await isWhole(file, job)) continue;
      counts.halfFiles += 1;
      wrong.push(`row ${at}: ${file.path} is not what was recorded, or not what the gateway has`);
    }
  }
  const limited = place.sandbox.requests.filter(({ status }) => status === 429);
  if (limited.length > 0) {
    const asked = limited.map(
      ({ method, path: to, verdict, atMs }) => `${method} ${to} at ${atMs}: ${verdict}`,
    );
    wrong.push(`${limited.length} replies 429: ${asked.join(', ')}`);
  }
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return unknown;
}

const finish = async (place: World, argv: readonly string[], rows: number) => {
  const { code, err } = await place.run(argv);
  expect([0, 13, 14], err).toContain(code);
  expect(err).toContain(`${rows} rows: `);
};

/** Long enough for 200 rows on the three slots of a personal account, and 30 kills. */
const LONGEST_BATCH_MS = 900_000;

torture(
  'a batch killed at random moments and run again',
  { short: 2, longestRoundMs: LONGEST_BATCH_MS },
  async (round) => {
    const [rows, kills] = isLong ? [200, 30] : [24, 4];
    const place = await openPlace({ account: 'personal', speed: isLong ? 20 : 300 }, round.after);
    const argv = ['batch', 'run', manifest(place, rows, round.index % 2 === 1), '-o', 'out/'];
    let killed = 0;
    while (killed < kills) {
      const running = place.start(argv);
      await Promise.race([pause(300 + round.random() * 3_000), running.ended]);
      const isKilled = running.child.kill('SIGKILL');
      await running.ended;
      if (!isKilled) break;
      killed += 1;
    }
    round.counts.kills += killed;
    await finish(place, argv, rows);
    const unknown = await expectOnce(place, rows, round);
    const { requests } = place.sandbox;
    const limited = requests.filter(({ status }) => status === 429).length;
    const tasks = place.sandbox.tasks().length;
    tell('rows of the batches', { rows, killed, tasks, unknown, limited, requests: requests.length });
  },
);

torture('two runs of one manifest at once, beside other creates', { short: 1 }, async (round) => {
  const rows = isLong ? 60 : 12;
  const place = await openPlace({ account: 'personal', speed: isLong ? 60 : 300 }, round.after);
  const argv = ['batch', 'run', manifest(place, rows, false), '-o', 'out/'];
  const beside = Array.from({ length: isLong ? 6 : 2 }, (_, at) =>
    place.run(cmd`video alpha create "hare ${at}" -m 2.0-fast --duration 4 --wait --queue`),
  );
  await Promise.all([finish(place, argv, rows), finish(place, argv, rows)]);
  for (const { code, err } of await Promise.all(beside)) expect(code, err).toBe(0);
  await expectOnce(place, rows, round);
});
