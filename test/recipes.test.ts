import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cmd } from './helpers/cmd.ts';

// .github/CONTRIBUTING.md says how to add a model, a flag and a command; these tests do so in a copy of the project.

const root = path.join(import.meta.dirname, '..');
const run = promisify(execFile);
let copy: string;

/** Inserts a text after another text that occurs once in the file. */
function addBehind(file: string, before: string, added: string): void {
  const at = path.join(copy, file);
  const parts = readFileSync(at, 'utf8').split(before);
  expect(parts, `${before} stands once in ${file}`).toHaveLength(2);
  writeFileSync(at, parts.join(before + added));
}

const node = (args: readonly string[]) => {
  // In CI, vitest would fail this run for the files that other tests have in the temporary directory.
  const { NODE_EXTRA_CA_CERTS: _, CI: __, ...env } = process.env;
  return run(process.execPath, args, { cwd: copy, env: { ...env, HOME: copy }, maxBuffer: 1 << 24 });
};
const gw = async (...words: string[]): Promise<string> => (await node(['bin/gw.js', ...words])).stdout;

beforeAll(async () => {
  copy = mkdtempSync(path.join(tmpdir(), 'gw-recipes-'));
  const parts = [
    '.ci',
    'bin',
    'src',
    'test',
    'completions',
    'package.json',
    'tsconfig.json',
    'README.md',
    'LICENSE',
  ];
  // CI installs thousands of files in .ci/matrix/node_modules, and none of them is needed here.
  const filter = (from: string) => path.basename(from) !== 'node_modules';
  for (const part of parts) cpSync(path.join(root, part), path.join(copy, part), { recursive: true, filter });
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));

  // Add a model: a row in the table of its kind.
  addBehind(
    'src/gateway/gamma/models.ts',
    'export const gammaModels: Readonly<Record<string, GammaModel>> = {',
    "\n  'gamma-Z1': { durationS: { min: 7, max: 9 }, resolutions: ['2K'], references: { image: 1, video: 0, audio: 0 } },",
  );
  // Add a flag: a line in the body's declaration.
  addBehind(
    'src/gateway/gamma/create.ts',
    'negatable: true,\n    }),',
    "\n    mood: field(z.int(), 'how glad it is', { value: 'N' }),",
  );
  // Add a command: its file and a line in the tree.
  writeFileSync(
    path.join(copy, 'src/commands/wave.ts'),
    `import { defineCommand } from '../command.ts';

export const wave = defineCommand<Record<string, never>, string>({
  flags: {},
  examples: ['gw wave'],
  sends: 'nothing',
  run: async () => ({ value: 'hello' }),
  human: (word) => \`\${word}\\n\`,
});
`,
  );
  addBehind(
    'src/program.ts',
    '  [\n    leaf(',
    "'wave', 'say hello', () => import('./commands/wave.ts')),\n    leaf(",
  );
  await node(['bin/completions.js']);
  await node(['bin/build.js']);
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

test('a model is a row: its sheet, its checks and the choices of the flag know it', async () => {
  expect(await gw('models', 'show', 'gamma-Z1')).toMatch(/duration +7-9/);
  const long = cmd`video gamma create "a fox" -m gamma-Z1 --resolution 2K --ratio 1:1`;
  await expect(gw(...long, '--duration', '10', '--dry-run', '--sandbox')).rejects.toMatchObject({ code: 2 });
  expect(await gw('video', 'gamma', 'create', '--help')).toContain('gamma-Z1');
});

test('a flag is a line: help, body and message have it', async () => {
  expect(await gw('video', 'gamma', 'create', '--help')).toContain('--mood');
  const words = cmd`video gamma create "a fox" --resolution 2K --ratio 1:1 --duration 4`;
  const shown = await gw(...words, '--mood', '7', '--dry-run', '--json', '--sandbox');
  expect(JSON.parse(shown)).toMatchObject({ body: { mood: 7 } });
  await expect(gw(...words, '--mood', 'x', '--dry-run', '--sandbox')).rejects.toMatchObject({
    stderr: expect.stringContaining('--mood'),
  });
});

test('a command is a file and a line', async () => {
  expect(await gw('wave')).toBe('hello\n');
  expect(await gw('--help')).toContain('wave');
});

test('types, layers, rules and completions hold with all three', async () => {
  await node(['node_modules/typescript/bin/tsc', '--noEmit']);
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
  await node([
    ...vitest,
    'test/architecture.test.ts',
    'test/wire/rules.test.ts',
    'test/completion/generated.test.ts',
  ]);
});
