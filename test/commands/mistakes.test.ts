import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { World } from '../helpers/gw.ts';

// What people type by mistake, and the whole of what they are told: nothing is sent.

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const alpha = ['video', 'alpha', 'create'];
const noFlag = (name: string, hint: string) => `error: unknown option '${name}'\nhint: ${hint}\n`;

test.each<[argv: readonly string[], err: string]>([
  [
    [...alpha, '@p.txt'],
    'error: the prompt is @p.txt, and there is a file of that name\n' +
      'hint: --prompt @p.txt reads it; words after the command are sent as they are\n',
  ],
  [
    ['chat', '@p.txt'],
    'error: the prompt is @p.txt, and there is a file of that name\n' +
      'hint: --prompt @p.txt reads it; words after the command are sent as they are\n',
  ],
  [
    [...alpha, 'fox', '--ratio', '5:4'],
    'error: --ratio 5:4: one of 21:9, 16:9, 4:3, 1:1, 3:4, 9:16, adaptive; did you mean 4:3?\n',
  ],
  [[...alpha, 'fox', '--aspect', '16:9'], noFlag('--aspect', 'here it is --ratio')],
  [['image', 'create', 'fox', '--aspect-ratio', '16:9'], noFlag('--aspect-ratio', 'here it is --size')],
  [[...alpha, 'fox', '--res=720p'], noFlag('--res', 'here it is --resolution')],
  [[...alpha, 'fox', '--seconds', '5'], noFlag('--seconds', 'here it is --duration')],
  [
    [...alpha, 'fox', '--seed=7'],
    noFlag('--seed', 'no documented field takes a seed; --set seed=N sends one all the same'),
  ],
  [['image', 'create', 'fox', '-n', '3'], noFlag('-n', 'here it is --n')],
  [['chat', 'fox', '-n', '3'], noFlag('-n', 'one run makes one: run it again for another')],
  [
    ['chat', 'fox', '--api-key', 'sk-1'],
    noFlag(
      '--api-key',
      'no flag takes the key, as it would show in the process list: set GW_API_KEY, or name a file with --api-key-file',
    ),
  ],
  [['chat', 'fox', '--max-output-tokens=9'], noFlag('--max-output-tokens', 'here it is --max-tokens')],
  [['image', 'create', 'fox', '--output', 'a.png'], noFlag('--output', 'here it is --out')],
  [
    ['asset', 'upload', 'fox.png'],
    'error: gw asset upload takes no words after it\n' +
      'hint: no file is sent: put it where the service can read it, and give its https:// address with --url\n',
  ],
  [['jobs', 'show', 'a', 'b'], 'error: gw jobs show takes only one ID\nhint: see gw jobs show --help\n'],
  [[...alpha, 'fox', '--ratio'], 'error: --ratio needs a value\nhint: write --ratio RATIO\n'],
  [
    ['video', 'beta', 'create', 'fox', '--duration', '16', '--no-wait'],
    'error: --duration 16: beta text takes 3-15 seconds\n',
  ],
  [
    ['models', '--base-url', 'https://gateway.example.com/v1'],
    'error: --base-url "https://gateway.example.com/v1" ends in /v1, which gw adds itself\n' +
      'hint: write it as https://gateway.example.com\n',
  ],
])('%j', async (argv, err) => {
  const world = await World.open();
  worlds.push(world);
  writeFileSync(path.join(world.cwd, 'p.txt'), 'a fox');
  const run = await world.gw(argv);
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain(err);
  expect(run.err.startsWith(err.split('\n')[0] ?? '')).toBe(true);
  expect(world.requests()).toEqual([]);
});
