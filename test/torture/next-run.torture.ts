import * as fs from 'node:fs';
import * as path from 'node:path';
import { creates, openPlace, pause } from '../cli/place.ts';
import { torture } from './torture.ts';

// Kills a create of family B, by --once or as a row, at a random moment while its reply is late, lost or missing. At most two
// further runs of the same command must make the task, exactly once, with exit code 0.

const faults = [
  'create:hang:x1',
  'create:reset-after:x1',
  'create:reset-before:x1',
  'create:502:x1',
  'create:cut:x1',
];
const row = { id: 's1', command: 'video beta', prompt: 'a fox', duration: 3 };
const waiting = ['--interval', '100ms'];
const ways = [
  ['video', 'beta', 'create', 'a fox', '--duration', '3', '--once', 'k1', '--wait', ...waiting],
  ['batch', 'run', 'shots.jsonl', ...waiting],
];

torture('killed creates of family B are made by the next run', { short: 5, atOnce: 5 }, async (round) => {
  const { random, pick, counts } = round;
  const place = await openPlace({ fault: pick(faults) }, round.after);
  fs.writeFileSync(path.join(place.cwd, 'shots.jsonl'), `${JSON.stringify(row)}\n`);
  const argv = pick(ways);
  counts.faults += 1;
  const killed = place.start(argv);
  await Promise.race([pause(100 + random() * 3_000), killed.ended]);
  if (killed.child.kill('SIGKILL')) counts.kills += 1;
  const codes = [(await killed.ended).code];
  let said = '';
  while (codes.at(-1) !== 0 && codes.length < 3) {
    const { code, err } = await place.run(argv);
    codes.push(code);
    said += err;
  }
  const made = place.sandbox.tasks().length;
  if (made > 1) counts.doubled += 1;
  if (made < 1 || codes.at(-1) !== 0) counts.lost += 1;
  const sent = creates(place.sandbox).length;
  if (made !== 1 || codes.at(-1) !== 0)
    throw new Error(
      `${argv.join(' ')}: exit codes ${codes.join(', ')}, ${made} tasks, ${sent} sendings: ${said}`,
    );
});
