// Tries to begin COUNT jobs in DIR, going on after errors, and prints "ok" or "KIND: message" for each.
import * as fs from 'node:fs';
import { openLedger } from '../../../src/ledger/open-ledger.ts';

const [dir = '', count = '0'] = process.argv.slice(2);
const ledger = openLedger({ dir, clock: { now: () => Date.now() }, keepPrompts: true });
for (let number = 0; number < Number(count); number++) {
  try {
    const hold = ledger.begin({
      event: 'intent',
      family: 'alpha',
      endpoint: 'alphaCreate',
      model: undefined,
      settings: {},
      media: [],
      bodySha256: '',
      profile: 'default',
      gateway: 'https://gateway.example',
      save: { target: '/videos/', force: false, download: true },
    });
    hold.release();
    fs.writeSync(1, 'ok\n');
  } catch (error) {
    const { kind, message } = error as { kind?: string; message: string };
    fs.writeSync(1, `${kind}: ${message}\n`);
  }
}
