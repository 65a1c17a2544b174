import { expect, test } from 'vitest';
import { leavesOf } from '../../src/io/layout.ts';

test('a record has its values under their paths, without those that are missing', () => {
  const record = { id: 'x', error: null, content: { video_url: '', seed: 0, last: undefined }, tags: [true] };
  expect([...leavesOf(record)]).toEqual([
    ['id', 'x'],
    ['content.video_url', ''],
    ['content.seed', 0],
    ['tags.0', true],
  ]);
  expect([...leavesOf(null)]).toEqual([]);
});
