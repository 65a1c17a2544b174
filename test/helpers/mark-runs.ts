import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { beforeAll, expect } from 'vitest';

// For `npm run test:mutants`: records which test file this process runs, so that a mark in the source names that file.

const root = path.join(import.meta.dirname, '../..');

beforeAll(() => {
  const file = path.join(process.env.GW_TEST_MARKS ?? '', `process-${process.pid}`);
  writeFileSync(file, path.relative(root, expect.getState().testPath ?? ''));
});
