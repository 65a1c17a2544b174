// Says "ready", waits for a line on stdin, tries to claim every KEY in DIR, prints the keys it got as JSON, and holds them
// until stdin ends.
import { openLedger } from '../../../src/ledger/open-ledger.ts';

const [dir = '', ...keys] = process.argv.slice(2);
const ledger = openLedger({ dir, clock: { now: () => Date.now() }, keepPrompts: true });
process.stdout.write('ready\n');
process.stdin.once('data', async () => {
  const got = (await ledger.holdMany(keys)).map(({ key }) => key);
  process.stdout.write(`${JSON.stringify(got)}\ndone\n`);
});
process.stdin.on('end', () => undefined);
