import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import type { LedgerEvent } from '../../src/ledger/event.ts';
import { newJobKey } from '../../src/ledger/job-key.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { handClock, intent, leftLedger, tempDir } from './fixtures.ts';

// A damaged byte on a disk costs only the line that it is in; everything in the other lines is still found.

const events: readonly LedgerEvent[] = [
  intent({ prompt: 'a fox' }),
  { event: 'sent' },
  { event: 'accepted', id: 't-1', status: 'queued' },
];

test.each([
  ['another letter at every position', 0x58, 1],
  ['a NUL at every third position', 0x00, 3],
  ['a newline at every third position', 0x0a, 3],
  ['half a character at every third position', 0xff, 3],
])('%s of a journal of two jobs', async (_, byte, step) => {
  const dir = tempDir();
  const clock = handClock();
  const left = leftLedger({ dir, clock });
  const [first, second] = [newJobKey(() => new Uint8Array(16)), newJobKey(() => new Uint8Array(16).fill(9))];
  for (const key of [first, second]) {
    for (const event of events) {
      left.append(key, event.event === 'accepted' ? { ...event, id: `task-${key.slice(-2)}` } : event);
    }
  }
  const [name = ''] = fs.readdirSync(path.join(dir, 'ledger')).filter((each) => each.endsWith('.jsonl'));
  const file = path.join(dir, 'ledger', name);
  const whole = fs.readFileSync(file);
  const lines = whole.toString().split('\n').filter(Boolean);
  for (let at = 0; at < whole.length; at += step) {
    const damaged = Buffer.from(whole);
    damaged[at] = byte;
    fs.writeFileSync(file, damaged);
    const where = `byte ${at}, in ${lineAt(whole, at).slice(0, 80)}`;
    const jobs = await openLedger({ dir, clock, keepPrompts: true }).find();
    for (const key of [first, second]) {
      const hit = lineAt(whole, at);
      const isOwn = hit.includes(key);
      const job = jobs.find((each) => each.key === key);
      // The other job loses nothing. This job keeps its ID unless the line with the ID was hit.
      if (!isOwn) expect(job, where).toMatchObject({ state: 'running', prompt: 'a fox' });
      if (!isOwn || !hit.includes('"accepted"')) expect(job?.id, where).toBe(`task-${key.slice(-2)}`);
      else expect(job, where).toMatchObject({ prompt: 'a fox', sentAtMs: expect.any(Number) });
    }
  }
  expect(lines).toHaveLength(6);
});

test.each([
  ['another letter', 0x58, 0],
  ['half a character', 0xff, 0],
  ['a NUL', 0x00, 3],
])(
  '%s in the path of a target: nothing is saved there, or in the directory that gw is called in',
  async (_, byte, at) => {
    const dir = tempDir();
    const clock = handClock();
    const key = newJobKey(() => new Uint8Array(16));
    const left = leftLedger({ dir, clock });
    for (const event of events) left.append(key, event);
    const [name = ''] = fs.readdirSync(path.join(dir, 'ledger')).filter((each) => each.endsWith('.jsonl'));
    const file = path.join(dir, 'ledger', name);
    const journal = fs.readFileSync(file);
    journal[journal.indexOf('"target":"/') + '"target":"'.length + at] = byte;
    fs.writeFileSync(file, journal);
    const [job] = await openLedger({ dir, clock, keepPrompts: true }).find();
    expect(job).toMatchObject({ key, id: 't-1', isDamaged: true });
    expect(job?.save.target).toBe('');
  },
);

test.each(['before', 'after'])(
  'a damaged intent tells its external ID %s the contents are written',
  async (when) => {
    const dir = tempDir();
    const clock = handClock();
    const left = leftLedger({ dir, clock });
    const key = left.begin(intent({ externalId: 'mine-1' }));
    left.append(key, { event: 'sent' });
    const [name = ''] = fs.readdirSync(path.join(dir, 'ledger')).filter((each) => each.endsWith('.jsonl'));
    const file = path.join(dir, 'ledger', name);
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"settings":', '"settings\u0001:'));
    for (let at = 0; at < (when === 'after' ? 40 : 0); at += 1)
      left.begin(intent({ prompt: 'a fox in the snow '.repeat(400) }));
    const found = await openLedger({ dir, clock, keepPrompts: true }).find({ externalId: 'mine-1' });
    expect(fs.existsSync(path.join(dir, 'ledger', 'contents'))).toBe(when === 'after');
    expect(found).toMatchObject([{ key, isDamaged: true, externalId: 'mine-1', state: 'sent' }]);
  },
);

/** The line that a byte is in. A newline between lines counts to the line that would absorb the changed byte. */
function lineAt(bytes: Buffer, at: number): string {
  const start = at === 0 ? 0 : bytes.lastIndexOf(0x0a, at - 1) + 1;
  const end = bytes.indexOf(0x0a, at + 1);
  return bytes.toString('utf8', start, end < 0 ? bytes.length : end);
}
