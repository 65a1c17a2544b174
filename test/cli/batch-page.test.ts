import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { Place } from './place.ts';

// The README's section on batches runs as it is printed.

const readme = fs.readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8');
const [, page = ''] = readme.split("## A day's work in one file");
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? '';

/** Removes the parts of the text that differ from run to run. */
const steady = (text: string) => text.replace(/ \/\S*\/out\//g, ' out/').replace(/ after .*/g, '');

test('the page runs as printed, and what one sees is what it shows', async () => {
  const place = new Place();
  try {
    expect(block('csv').trimEnd().split('\n')).toHaveLength(10);
    fs.writeFileSync(path.join(place.cwd, 'day.csv'), block('csv'));
    const runs = block('console').split(/^\$ /m).slice(1);
    expect(runs).toHaveLength(3);
    for (const printed of runs) {
      const [line = '', ...shown] = printed.trimEnd().split('\n');
      const { code, out, err } = await place.shell(line.replace(/^gw /, '$GW '), { env: { CI: 'true' } });
      expect(code, err).toBe(0);
      const seen = steady(line.includes('check') ? out : err)
        .trimEnd()
        .split('\n');
      for (const each of steady(shown.join('\n')).split('\n')) expect(seen).toContain(each);
    }
    const made = ['boat', 'storm', 'fox', 'hare', 'rain', 'train'].map((id) => `day-${id}.mp4`);
    const drawn = ['map', 'stamp', 'flag'].map((id) => `day-${id}.png`);
    expect(place.files(path.join(place.cwd, 'out'))).toEqual([...made, ...drawn].sort());
  } finally {
    place.close();
  }
});
