import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { scriptFiles } from '../../src/completion/build.ts';
import { completionTable } from '../../src/completion/table.ts';
import { program } from '../../src/program.ts';
import { builtGw } from '../cli/built.ts';

// The stored files must equal the files that the sources generate now.

const dir = path.join(import.meta.dirname, '../../completions');

test('completions/ holds the scripts as they are made; npm run completions writes them again', () => {
  const kept = fs.readdirSync(dir).map((name) => [name, fs.readFileSync(path.join(dir, name), 'utf8')]);
  expect(Object.fromEntries(kept)).toEqual(scriptFiles());
});

test('the built table is that of the command tree', async () => {
  const file = path.join(path.dirname(builtGw().script), '../dist/complete.json');
  const built: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
  expect(built).toEqual(JSON.parse(JSON.stringify(await completionTable(program))));
});
