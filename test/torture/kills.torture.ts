import * as fs from 'node:fs';
import * as path from 'node:path';
import { loadTaskFamily } from '../../src/gateway/families.ts';
import { secondOf, trialNames } from '../../src/jobs/save/disk-ways.ts';
import { isOpen } from '../../src/jobs/watch/sync.ts';
import type { Job } from '../../src/ledger/event.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { KEY, openPlace, type Place, pause, sha256, sha256Of, syncAll } from '../cli/place.ts';
import { cmd } from '../helpers/cmd.ts';
import { leaveOldJob } from '../ledger/fixtures.ts';
import { type Round, torture } from './torture.ts';

// Several gw use one ledger while the gateway fails now and then, and most of them are killed. Afterwards the syncs run that
// cron would run, and then everything in promises.md, section 3, must hold.

type World = Place & { readonly sandbox: Sandbox };

const waiting = ['--interval', '100ms', '--wait'];
const creates: Record<string, readonly string[]> = {
  alpha: ['video', 'alpha', 'create', ...waiting],
  'alpha, not waiting': ['video', 'alpha', 'create'],
  beta: ['video', 'beta', 'create', '--duration', '3', ...waiting],
  gamma: cmd`video gamma create --resolution 480P -m gamma-H3-Max --duration 5 --ratio 1:1 ${waiting}`,
  image: ['image', 'create', '-m', 'img-2', '--size', '256x256'],
  'image by link': cmd`image create -m legacy-image-2 --size 256x256 --response-format url`,
};
const others = [
  ['jobs', 'sync'],
  ['jobs', 'list'],
  // This prune removes the old job that each round leaves for it, and none of the counted jobs.
  ['jobs', 'prune', '--before', '1m', '--yes'],
  ['jobs', 'stats'],
];
const faults = [
  undefined,
  'create:reset-after:x1',
  'create:cut:x1',
  'create:slow:x2',
  'query:503:x2,output:cut:x1',
  'query:slow:20%',
  'output:slow:x3',
  'output:reset-after:x1,query:429+1:x1',
];

/** The output of a process, and the prompt of its create. */
interface Ran {
  readonly prompt: string | undefined;
  readonly printed: string;
}

torture('kills over mixed commands of several processes', { short: 4, atOnce: 2 }, async (round) => {
  const { random, pick, counts } = round;
  const fault = pick(faults);
  const place = await openPlace({ ...(fault !== undefined && { fault }), slowGapMs: 20 }, round.after);
  fs.writeFileSync(path.join(place.cwd, 'mine.txt'), 'of the user');
  if (fault !== undefined) counts.faults += 1;
  const ran: Ran[] = [];
  const batch = async (at: number) => {
    const isCreate = random() < 0.7;
    const prompt = isCreate ? `fox ${round.index}-${at}` : undefined;
    const argv = prompt ? [...(creates[pick(Object.keys(creates))] ?? []), '--prompt', prompt] : pick(others);
    if (argv.includes('prune')) leaveOldJob(place.state, 120_000);
    const running = place.start(argv);
    const [isKilled, afterMs] = [random() < 0.75, 50 + random() * 900];
    if (isKilled) {
      await Promise.race([pause(afterMs), running.ended]);
      if (running.child.kill('SIGKILL')) counts.kills += 1;
    }
    const { out, err } = await running.ended;
    ran.push({ prompt, printed: out + err });
  };
  const numbers = Array.from({ length: 6 }, (_, at) => at);
  await Promise.all(numbers.slice(0, 3).map(batch));
  await Promise.all(numbers.slice(3).map(batch));
  ran.push({
    prompt: undefined,
    printed: await syncAll(place, (job) => needsNothing(job, place), [0, 13, 14]),
  });
  await expectMended(place, ran, round);
});

async function needsNothing(job: Job, place: World): Promise<boolean> {
  // A create of family B that never arrived is looked for again after an hour, and no test waits that long.
  if (job.id === undefined && job.externalId !== undefined && acceptedOf(place, job.prompt).length === 0)
    return true;
  const family = job.family === 'image' ? await imageFamily() : await loadTaskFamily(job.family as 'alpha');
  return !isOpen(job, family, Date.now());
}

const imageFamily = async () => (await import('../../src/gateway/image/job.ts')).imageFamily;

/** Lists the creates of this prompt that the gateway accepted. */
const acceptedOf = ({ sandbox }: World, prompt: string | undefined) =>
  sandbox.requests.filter(
    ({ server, method, path, body, acceptedTaskId }) =>
      server === 'api' &&
      method === 'POST' &&
      prompt !== undefined &&
      JSON.stringify(body ?? '').includes(JSON.stringify(prompt)) &&
      (acceptedTaskId !== undefined || path.startsWith('/v1/images')),
  );

async function expectMended(place: World, ran: readonly Ran[], { counts }: Round): Promise<void> {
  const jobs = await place.jobs();
  const say = () => JSON.stringify({ jobs, ran, requests: place.sandbox.requests }, undefined, 1);
  const wrong: string[] = [];
  for (const { prompt, printed } of ran) {
    for (const [id] of printed.matchAll(/vt-\d{14}-[0-9a-f]{20}/g)) {
      if (!jobs.some((job) => job.id === id)) wrong.push(`the ID ${id} was printed and is lost`);
    }
    if (prompt === undefined) continue;
    const accepted = acceptedOf(place, prompt);
    const mine = jobs.filter((job) => job.prompt === prompt);
    if (accepted.length > 1 || mine.length > 1) {
      counts.doubled += 1;
      wrong.push(`${prompt}: ${accepted.length} creates, ${mine.length} jobs`);
    }
    const [job] = mine;
    if (accepted.length === 0) continue;
    const isFound = job?.family !== 'beta' || job.id === accepted[0]?.acceptedTaskId;
    const isSettled = job?.state === 'unknown' || job?.state === 'succeeded';
    if (!job || !isFound || !isSettled) {
      counts.lost += 1;
      wrong.push(`${prompt}: accepted, and ${job?.state ?? 'no job'}`);
    }
  }
  for (const job of jobs) {
    if (job.id !== undefined && job.state === 'succeeded' && job.files.length === 0) {
      counts.lost += 1;
      wrong.push(`${job.id} has no file`);
    }
  }
  const names = new Set(['mine.txt']);
  for (const file of jobs.flatMap((job) => job.files)) {
    names.add(path.basename(file.path));
    if (sha256Of(file.path) !== file.sha256) {
      counts.halfFiles += 1;
      wrong.push(`${file.path} is not what was recorded`);
    }
  }
  for (const job of jobs.filter(({ id, files }) => id !== undefined && files.length > 0)) {
    const family = await loadTaskFamily(job.family as 'alpha');
    const [output] = family.readTask(job.record, job.id ?? '').outputs;
    const served = await fetch(output?.url ?? '');
    if (sha256(Buffer.from(await served.arrayBuffer())) !== job.files[0]?.sha256) {
      counts.halfFiles += 1;
      wrong.push(`${job.files[0]?.path} is not what the gateway has`);
    }
  }
  // A process was killed while it tested the target directory. The next create, at least ten seconds later, clears its test file.
  const isTrial = (name: string) =>
    trialNames.some((trial) => name === trial || name === secondOf(trial)) &&
    fs.statSync(path.join(place.cwd, name)).size <= 2;
  for (const name of place.files().filter((each) => !names.has(each) && !isTrial(each)))
    wrong.push(`${name} lies about`);
  if (fs.readFileSync(path.join(place.cwd, 'mine.txt'), 'utf8') !== 'of the user')
    wrong.push('mine.txt changed');
  for (const file of filesUnder(place.dir)) {
    if (fs.readFileSync(file).includes(KEY)) wrong.push(`the key stands in ${file}`);
  }
  if (wrong.length > 0) throw new Error(`${wrong.join('\n')}\n${say()}`);
}

const filesUnder = (dir: string): string[] =>
  fs
    .readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
