// Runs fetchOne in a process that tests can kill, measure, or deny system calls:
// node fetch-one-script.cjs '{"url","target","ledger","force"?}'.
import * as fs from 'node:fs';
import { fetchOne } from './fetch-one.ts';

async function main(): Promise<void> {
  const made = await fetchOne(JSON.parse(process.argv[2] ?? '{}'));
  const status = fs.existsSync('/proc/self/status') ? fs.readFileSync('/proc/self/status', 'utf8') : '';
  const peakKb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
  process.stdout.write(JSON.stringify({ ...made, peakKb }));
}

main().catch((error: unknown) => {
  process.stderr.write(String(error));
  process.exitCode = 1;
});
