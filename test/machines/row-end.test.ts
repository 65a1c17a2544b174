import { expect, test } from 'vitest';
import { endOf, ends } from '../../src/commands/machines/row-end.ts';
import { toldAs } from '../../src/machines/row.ts';

// How a row on the queue has ended decides whether it is made again, so no paid row may look like an unsent one.

type Ended = Parameters<typeof endOf>[0];

test.each<[keyof typeof ends | undefined, Partial<Ended>]>([
  [undefined, { state: 'waiting' }],
  [undefined, { state: 'sending', sender: 'anna' }],
  [undefined, { state: 'ended', id: 'T' }],
  ['saved', { state: 'saved', error: toldAs('download', 'of an earlier round') }],
  ['unknown', { state: 'unknown' }],
  ['takenOut', { state: 'cancelled' }],
  ['takenOut', { state: 'cancelled', error: toldAs('partial', 'never sent') }],
  ['doubtful', { state: 'cancelled', error: toldAs('unknown_outcome', 'lost') }],
  ['unsent', { error: toldAs('usage', 'no such file') }],
  ['failed', { error: toldAs('usage', 'HTTP 422'), sender: 'anna' }],
  ['failed', { error: toldAs('rejected', 'HTTP 400'), sender: 'anna' }],
  ['failed', { error: toldAs('task_failed', 'moderated'), id: 'T' }],
  ['failed', { error: toldAs('not_found', 'lost by the gateway'), id: 'T' }],
  ['unsaved', { error: toldAs('download', 'HTTP 403'), id: 'T' }],
  ['unsaved', { error: toldAs('wait_timeout', 'late'), id: 'T' }],
  ['unsaved', { error: toldAs('usage', 'no such folder'), id: 'T' }],
  ['lacksImages', { family: 'image', error: toldAs('download', 'HTTP 403'), sender: 'anna' }],
  ['failed', { family: 'image', error: toldAs('incomplete', 'no image'), sender: 'anna' }],
  ['unknown', { family: 'image', error: toldAs('unknown_outcome', 'cut'), id: 'gw-1', sender: 'anna' }],
  ['newer', { fault: { isSent: true, newer: 2 } }],
  ['unknown', { fault: { isSent: true }, error: toldAs('usage', 'damaged') }],
  ['failed', { fault: { isSent: false }, error: toldAs('usage', 'damaged') }],
])('the end %s of a row with %o', (end, row) => {
  const told = endOf({ state: 'failed', family: 'alpha', ...row });
  expect(told).toBe(end && ends[end]);
});
