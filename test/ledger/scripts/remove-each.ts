// Removes the jobs whose KEYS are in a file of DIR, a few at a time, and prints "removed N" after each step.
import * as fs from 'node:fs';
import { openLedger } from '../../../src/ledger/open-ledger.ts';

const [dir = '', keysFile = '', step = '1'] = process.argv.slice(2);
const keys = fs.readFileSync(keysFile, 'utf8').trim().split('\n');
const ledger = openLedger({ dir, clock: { now: Date.now }, keepPrompts: true });

async function removeAll() {
  for (let at = 0; at < keys.length; at += Number(step)) {
    await ledger.remove(new Set(keys.slice(at, at + Number(step))));
    fs.writeSync(1, `removed ${at}\n`);
  }
}
void removeAll();
