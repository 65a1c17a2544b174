import realFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { expect, test, vi } from 'vitest';
import { formerPath } from '../../src/ledger/journal-files.ts';
import { OpenJournals } from '../../src/ledger/open-journals.ts';
import { tempDir } from './fixtures.ts';

test('while journals are opened another is put in the place of one: they are opened again', () => {
  const dir = tempDir();
  const file = path.join(dir, '2026-11.jsonl');
  fs.writeFileSync(file, '{"all":1}\n');
  const former = formerPath(file, '0');
  const { openSync } = realFs;
  const spy = vi.spyOn(realFs, 'openSync').mockImplementationOnce((...args) => {
    fs.renameSync(file, former);
    fs.writeFileSync(file, '');
    return openSync(...args);
  });
  syncBuiltinESMExports();
  try {
    const opened = OpenJournals.open(dir);
    expect(opened.paths).toEqual([former, file]);
    opened.close();
  } finally {
    spy.mockRestore();
    syncBuiltinESMExports();
  }
});
