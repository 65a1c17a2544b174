import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { LiveRegion } from '../../src/io/live-region.ts';
import { Page } from '../../src/io/page.ts';
import { SecretFilter } from '../../src/io/secret-filter.ts';

test('the cursor that drawing hides is back when a line is typed', () => {
  let written = '';
  const stream = new Writable({
    write(chunk, _, done) {
      written += chunk;
      done();
    },
  });
  const cursor = { atLineStart: true };
  const region = new LiveRegion(
    (text) => stream.write(text),
    () => ({ columns: 80, rows: 24 }),
    cursor,
  );
  const page = new Page({
    ...{ stream, region, secrets: new SecretFilter(), cursor },
    ...{ hasColor: false, hasUnicode: true, canRedraw: true },
  });
  page.draw(['being written']);
  page.draw([]);
  expect(written).toContain('\x1b[?25l');
  expect(written).not.toContain('\x1b[?25h');
  page.setTyped({ lift: () => {}, restore: () => {} });
  expect(written.endsWith('\x1b[?25h')).toBe(true);
});
