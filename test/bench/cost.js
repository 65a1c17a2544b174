// Measures the cost of a Node process, which the process itself reports at its end.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Makes a function that runs Node and returns its exit code, wall time, CPU time and peak memory, through a file in `dir`. */
export function costsIn(dir) {
  const hook = path.join(dir, 'hook.cjs');
  const usage = path.join(dir, 'usage');
  const tell = `require('fs').writeFileSync(${JSON.stringify(usage)}, JSON.stringify(process.resourceUsage()))`;
  writeFileSync(hook, `process.on('exit', () => ${tell});`);
  return (args, env, cwd = dir) =>
    new Promise((resolve, reject) => {
      const startMs = performance.now();
      const options = { env: { ...env, NODE_OPTIONS: `--require ${hook}` }, stdio: 'ignore', cwd };
      const child = spawn(process.execPath, args, options);
      child.on('error', reject);
      child.on('exit', (code) => {
        const ms = performance.now() - startMs;
        const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(readFileSync(usage, 'utf8'));
        resolve({ code, ms, cpuMs: (userCPUTime + systemCPUTime) / 1000, mb: maxRSS / 1024 });
      });
    });
}

/** Peak memory of a living process. Known on Linux only. */
export function peakMiB(pid) {
  try {
    const kiB = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kiB === undefined ? undefined : Number(kiB) / 1024;
  } catch {
    return undefined;
  }
}

const sorted = (runs, of) => runs.map((run) => run[of]).toSorted((a, b) => a - b);

export const median = (runs, of) => sorted(runs, of)[runs.length >> 1];

/** The minimum and the maximum, as `12 to 15`. */
export const spread = (runs, of) => [0, -1].map((at) => sorted(runs, of).at(at).toFixed(0)).join(' to ');
