import { expect, test } from 'vitest';
import { knownRows } from '../../src/commands/batch/known-rows.ts';
import type { Context } from '../../src/context.ts';
import { newJobKey } from '../../src/ledger/job-key.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { handClock, intent, tempDir } from '../ledger/fixtures.ts';

test('a row whose create ends while the ledger is read is not taken for one that was never sent', async () => {
  const [dir, clock, key] = [tempDir(), handClock(), newJobKey()];
  const made = openLedger({ dir, clock, keepPrompts: true });
  const hold = made.begin(intent({ once: { key: 'day/a', attempt: 1, fields: {} } }), key);
  // The job has been read as an intent when its holder is asked for, and another process has ended the create.
  let isOver = false;
  const isHeld = () => {
    if (!isOver) made.append(key, { event: 'accepted', id: 'vt-1', status: 'queued' });
    isOver = true;
    hold.release();
    return false;
  };
  const ledger: Ledger = Object.create(openLedger({ dir, clock, keepPrompts: true }), {
    isHeld: { value: isHeld },
  });
  const ctx = {
    clock,
    host: { env: { GW_STATE_DIR: dir }, homeDir: dir },
    ledger: async () => ledger,
    settings: async () => ({ baseUrl: { value: 'https://gateway.example' } }),
  } as unknown as Context;
  const { known } = await knownRows('day', ctx);
  expect(known.get('day/a')).toMatchObject({ state: 'running', id: 'vt-1' });
});
