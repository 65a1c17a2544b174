import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { Place } from './place.ts';

// The commands of the README's first week run as printed, in order, in one new home.

const readme = fs.readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8');
const [, week = ''] = readme.split('## The first week, in ten commands');
const [, block = ''] = /```console\n([\s\S]*?)```/.exec(week) ?? [];
const commands = block
  .trimEnd()
  .split('\n')
  .map((line) => line.replace(/^\$ /, ''));

test('the ten commands of the first week run as printed', async () => {
  expect(commands).toHaveLength(10);
  const place = new Place();
  try {
    // All lines run in one shell, because a later line uses a variable of an earlier one.
    const script = commands.map((line) => line.replaceAll(/\bgw (?=[a-z])/g, '$GW ')).join('\n');
    const env = { CI: 'true', GW_PROFILE: 'sandbox' };
    const { code, err } = await place.shell(`set -e\n${script}`, { env });
    expect(code, err).toBe(0);
    expect(err).not.toMatch(/^(?:error|warning):/m);
    expect(place.files(place.cwd)).toEqual(
      expect.arrayContaining(['fox.png', 'gallery.html', 'shot-1-2-a-fox-wakes-shot-2-3-it-runs.mp4']),
    );
  } finally {
    place.close();
  }
});
