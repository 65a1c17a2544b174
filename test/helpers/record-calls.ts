import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';

// For `npm run test:near -- --record`: records which functions of src each test file calls, and how long the file takes.

const root = path.join(import.meta.dirname, '../..');
const session = new Session();
let startedMs = 0;

beforeAll(async () => {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  startedMs = performance.now();
});

afterAll(async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ms = Math.round(performance.now() - startedMs);
  session.disconnect();
  const calls: Record<string, number[]> = {};
  for (const { url, functions } of result) {
    const file = url.startsWith('file:') ? fileURLToPath(url) : url;
    const name = path.relative(root, file);
    if (!name.startsWith(`src${path.sep}`)) continue;
    const called = functions
      .slice(1)
      .flatMap(({ ranges: [range] }) => (range?.count ? [range.startOffset] : []));
    if (called.length > 0) calls[name] = called;
  }
  const test = path.relative(root, expect.getState().testPath ?? '');
  const dir = process.env.GW_TEST_CALLS ?? '';
  mkdirSync(dir, { recursive: true });
  writeFileSync(
    path.join(dir, `${test.replaceAll(path.sep, '-')}.json`),
    JSON.stringify({ test, ms, calls }),
  );
});
