import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { creates, openPlace, openSandbox, Place } from '../cli/place.ts';
import { openRedis } from '../machines/redis.ts';
import { lefts } from '../updates/left.ts';
import { type Round, torture } from './torture.ts';

// @module-tag redis-server

// Runs the version of each fixture, built from the history, beside this version in one home and on one queue. Neither version
// may miss a job of the other, and nothing may be made twice.

const root = path.join(import.meta.dirname, '../..');
const LONGEST_BUILD_MS = 300_000;
const built = new Map<string, string>();

/** Path of `bin/gw.js` at an earlier commit, which is built once. Needs the history of the project. */
function gwOf(commit: string): string {
  const known = built.get(commit);
  if (known !== undefined) return known;
  const dir = fs.mkdtempSync(path.join(tmpdir(), `gw-before-${commit}-`));
  const options = { cwd: root, maxBuffer: 1 << 28 };
  const tar = execFileSync(
    'git',
    ['archive', commit, 'bin', 'src', 'package.json', 'tsconfig.json', 'LICENSE'],
    options,
  );
  execFileSync('tar', ['-x', '-C', dir], { input: tar });
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
  execFileSync(process.execPath, ['bin/build.js'], { cwd: dir, timeout: LONGEST_BUILD_MS, stdio: 'ignore' });
  const script = path.join(dir, 'bin/gw.js');
  built.set(commit, script);
  return script;
}

const before = lefts.at(-1)?.version ?? '';
const waiting = ['--interval', '100ms', '--wait'];
const faults = ['create:reset-after:50%', 'create:cut:50%', 'create:slow:50%'];

/** Runs gw in the older or the newer version. */
const eitherIn = (place: Place, { random }: Round) => {
  const old = gwOf(before);
  return (argv: readonly string[], version = random() < 0.5 ? 'older' : 'newer') =>
    place.run(argv, version === 'older' ? { script: old } : {});
};

torture(
  'an older gw and this one, side by side in one home',
  { short: 0, longestRoundMs: 300_000 },
  async (round) => {
    const { counts, pick } = round;
    const place = await openPlace({ fault: pick(faults) }, round.after);
    const run = eitherIn(place, round);
    const jobs = Array.from({ length: 10 }, (_, at) => `${round.index}-${at}`);
    // Each name is used twice at once, by random versions: the second run must find the job of the first.
    await Promise.all(
      [...jobs, ...jobs].map((name) => {
        const beta = ['video', 'beta', 'create', `fox ${name}`, '--duration', '3'];
        return run([...beta, '--once', name, ...waiting]);
      }),
    );
    for (let syncs = 0; syncs < 3; syncs += 1) await run(['jobs', 'sync']);
    const tasks = place.sandbox.tasks();
    const sent = creates(place.sandbox);
    counts.faults += sent.filter(({ fault }) => fault !== undefined).length;
    const prompts = sent
      .filter(({ acceptedTaskId }) => acceptedTaskId !== undefined)
      .map(({ body }) => /fox [\d-]+/.exec(JSON.stringify(body))?.[0]);
    counts.doubled += prompts.length - new Set(prompts).size;
    const listed: Record<string, Set<string>> = {};
    for (const version of ['older', 'newer']) {
      const { out, err } = await run(['jobs', 'list', '--json', '--limit', '1000'], version);
      if (!out.startsWith('[')) throw new Error(`${version}: ${err}`);
      listed[version] = new Set((JSON.parse(out) as { id: string }[]).map(({ id }) => id));
    }
    const hidden = tasks.filter(({ id }) => Object.values(listed).some((ids) => !ids.has(id)));
    counts.lost += hidden.length;
    if (hidden.length > 0)
      throw new Error(`hidden: ${JSON.stringify({ hidden, listed: Object.keys(listed) })}`);
  },
);

torture('an older worker and this one finish a batch, each row once', { short: 0 }, async (round) => {
  const { counts } = round;
  const sandbox = await openSandbox({}, round.after);
  const redis = await openRedis({ appendOnly: true }, round.after);
  const places = [0, 1, 2].map(() => new Place(sandbox));
  for (const place of places) round.after(() => place.close());
  const [laptop, ...machines] = places as [Place, Place, Place];
  const rows = Array.from({ length: 12 }, (_, at) => ({
    ...{ id: `r${at}`, command: at % 3 === 0 ? 'video alpha' : 'video beta', prompt: `fox ${at}.` },
    duration: at % 3 === 0 ? 4 : 3,
  }));
  fs.writeFileSync(
    path.join(laptop.cwd, 'day.jsonl'),
    rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  );
  const env = { GW_INTERVAL: '100ms', GW_REDIS_URL: redis.url };
  const old = gwOf(before);
  const workers = machines.map((place, at) =>
    place.start(['worker', '--redis'], { env, ...(at === 0 && { script: old }) }),
  );
  const followed = await laptop.run(['batch', 'run', 'day.jsonl', '--redis'], { env });
  for (const worker of workers) worker.child.kill('SIGTERM');
  await Promise.all(workers.map(({ ended }) => ended));
  const made = sandbox.tasks().length;
  if (made > rows.length) counts.doubled += made - rows.length;
  if (followed.code !== 0 || made !== rows.length)
    throw new Error(`${followed.code}, ${made} tasks: ${followed.err}`);
});
