import * as fs from 'node:fs';
import * as path from 'node:path';
import { secondOf, trialNames } from '../../src/jobs/save/disk-ways.ts';
import type { Job } from '../../src/ledger/event.ts';
import { disks, mountAt } from '../cli/mounts.ts';
import { openPlace, pause, sha256Of, syncAll, until } from '../cli/place.ts';
import { type Round, torture } from './torture.ts';

// Several gw save to one name on a disk that lacks abilities of ext4, and each is killed at a random moment. After the syncs
// that cron would run, no output may be lost, partial or overwritten, and no useless file may have a final name.

const waiting = ['--interval', '100ms', '--wait'];
const commands = [
  ['video', 'alpha', 'create', ...waiting, '--sidecar'],
  ['image', 'create', '-m', 'img-2', '--size', '256x256', '--sidecar'],
  ['image', 'native'],
  ['video', 'beta', 'create', '--duration', '3', ...waiting],
];

const mounted =
  ([, , mount]: (typeof disks)[number]) =>
  async (round: Round) => {
    const { random, pick, counts } = round;
    const place = await openPlace({ speed: 3_000, minTaskMs: 1 }, round.after);
    const dir = await mountAt(place, mount, round.after);
    const mine = ['fox.mp4', 'fox.png'].map((name) => path.join(dir, name));
    for (const file of mine) fs.writeFileSync(file, 'mine');
    const one = async (at: number) => {
      const command = pick(commands);
      const [video = '', image = ''] = mine;
      const target = command[0] === 'video' ? video : image;
      const running = place.start([...command, '--prompt', `fox ${at}`, '-o', target]);
      // About half of the processes are killed while they save.
      if (random() < 0.5)
        await Promise.race([until('a download', () => /download/.test(running.err())), running.ended]);
      else await Promise.race([pause(300 + random() * 700), running.ended]);
      await Promise.race([pause(random() * 60), running.ended]);
      if (running.child.kill('SIGKILL')) counts.kills += 1;
      await running.ended;
    };
    for (let at = 0; at < 8; at += 2) await Promise.all([one(at), one(at + 1)]);
    const isOver = ({ id, state, files }: Job) =>
      files.length > 0 || state === 'not_sent' || (id === undefined && state === 'unknown');
    const said = await syncAll(place, isOver, [0, 13, 14]);
    const jobs = await place.jobs();
    const wrong: string[] = [];
    // A killed create loses its reply, so its task may belong to any job without an ID.
    const lost = place.sandbox.tasks().filter(({ id }) => !jobs.some((job) => job.id === id)).length;
    if (lost > jobs.filter(({ state, family }) => state === 'unknown' && family === 'alpha').length) {
      counts.lost += 1;
      wrong.push('a task is in no job');
    }
    const saved = jobs.flatMap(({ files }) => files);
    for (const file of saved.filter(
      ({ path: name, sha256 }) => !fs.existsSync(name) || sha256Of(name) !== sha256,
    )) {
      counts.halfFiles += 1;
      wrong.push(`${file.path} is not what was recorded`);
    }
    for (const file of mine) if (fs.readFileSync(file, 'utf8') !== 'mine') wrong.push(`${file} is replaced`);
    const known = new Set([...mine, ...saved.flatMap(({ path: file }) => [file, `${file}.json`])]);
    for (const name of fs
      .readdirSync(dir)
      .filter((each) => !known.has(path.join(dir, each)) && !isTrial(each)))
      wrong.push(`${name} lies about, of ${fs.statSync(path.join(dir, name)).size} bytes`);
    const rescued = path.join(place.state, 'rescued');
    if (fs.existsSync(rescued) && fs.readdirSync(rescued).length > 0)
      wrong.push(`rescued: ${fs.readdirSync(rescued)}`);
    if (wrong.length > 0) throw new Error(`${wrong.join('\n')}\n${said}`);
  };

const isTrial = (name: string) => trialNames.some((trial) => name === trial || name === secondOf(trial));

for (const disk of disks.slice(1, 3))
  torture(`kills of gw that save to ${disk[0]}`, { short: 0, tags: disk[1] }, mounted(disk));
