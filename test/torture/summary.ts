import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

/** Prints the counts of each suite, and their sums, when all suites have ended. */
export function setup(): () => void {
  const dir = fs.mkdtempSync(path.join(tmpdir(), 'gw-torture-'));
  const file = path.join(dir, 'counts');
  fs.writeFileSync(file, '');
  process.env.GW_TORTURE_COUNTS = file;
  return () => {
    const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
    fs.rmSync(dir, { recursive: true });
    const sums: Record<string, number> = {};
    for (const line of lines) {
      const { name, seed, counts } = JSON.parse(line) as {
        name: string;
        seed: number;
        counts: Record<string, number>;
      };
      for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
      console.log(`torture: ${name}, seed ${seed}: ${said(counts)}`);
    }
    console.log(`torture: all ${lines.length} suites: ${said(sums)}`);
  };
}

const said = (counts: object): string =>
  Object.entries(counts)
    .map(([what, count]) => `${what === 'halfFiles' ? 'half files' : what} ${count}`)
    .join(', ');
