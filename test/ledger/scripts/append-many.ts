// Arguments: DIR COUNT TAG. Begins jobs and prints each key once it is acknowledged. Prints the first error as JSON and stops.
import * as fs from 'node:fs';
import { openLedger } from '../../../src/ledger/open-ledger.ts';

const [dir = '', count = '0', tag = ''] = process.argv.slice(2);
const ledger = openLedger({ dir, clock: { now: () => Date.now() }, keepPrompts: true });
try {
  for (let number = 0; number < Number(count); number++) {
    const { key, release } = ledger.begin({
      event: 'intent',
      family: 'alpha',
      endpoint: 'alphaCreate',
      model: 'alpha-video-2-5-260628',
      prompt: `${tag} ${number} ${'words '.repeat(number % 50)}`,
      settings: {},
      media: [],
      bodySha256: '',
      profile: 'default',
      gateway: 'https://gateway.example',
      save: { target: '/videos/', force: false, download: true },
    });
    release();
    fs.writeSync(1, `${key}\n`);
  }
} catch (error) {
  const { kind, message } = error as { kind?: string; message: string };
  fs.writeSync(1, `${JSON.stringify({ kind, message })}\n`);
}
