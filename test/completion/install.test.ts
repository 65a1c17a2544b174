import * as fs from 'node:fs';
import * as path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { shells } from '../../src/completion/shells.ts';
import { World } from '../helpers/gw.ts';

// Runs `gw completion` in process.

let world: World;
beforeEach(async () => {
  world = await World.open();
});

const inHome = (...names: string[]) => path.join(world.dir, ...names);

test.each(Object.entries(shells))('completion %s prints its script', async (shell, { script }) => {
  expect(await world.gw(['completion', shell])).toEqual({ code: 0, out: script, err: '' });
  const json = await world.gw(['completion', shell, '--json']);
  expect(JSON.parse(json.out)).toEqual({ shell, script });
});

test.each([
  ['bash', '/bin/bash', {}, '.local/share/bash-completion/completions/gw', 'source '],
  ['zsh', '/usr/bin/zsh', {}, '.zfunc/_gw', 'fpath=('],
  ['fish', '/usr/bin/fish', {}, '.config/fish/completions/gw.fish', 'by itself'],
] as const)('--install for %s is told by $SHELL', async (shell, SHELL, env, place, says) => {
  const run = await world.gw(['completion', '--install'], { env: { ...env, SHELL } });
  expect(run).toMatchObject({ code: 0, out: `${inHome(place)}\n` });
  expect(run.err).toContain(says);
  expect(fs.readFileSync(inHome(place), 'utf8')).toBe(shells[shell].script);
  expect(fs.readdirSync(path.dirname(inHome(place)))).toHaveLength(1);
  const again = await world.gw(['completion', '--install', '--json', shell]);
  expect(JSON.parse(again.out)).toMatchObject({ shell, path: inHome(place), written: 'unchanged' });
});

test.each([
  ['bash', 'XDG_DATA_HOME', 'bash-completion/completions/gw'],
  ['bash', 'BASH_COMPLETION_USER_DIR', 'completions/gw'],
  ['fish', 'XDG_CONFIG_HOME', 'fish/completions/gw.fish'],
  ['zsh', 'ZDOTDIR', '.zfunc/_gw'],
])('%s: %s is honoured, a relative one is not', async (shell, name, place) => {
  const run = await world.gw(['completion', '--install', shell], { env: { [name]: inHome('else') } });
  expect(run.out).toBe(`${inHome('else', place)}\n`);
  const relative = await world.ok(['completion', '--install', shell], { env: { [name]: 'else' } });
  expect(relative.out).not.toContain('else');
});

test('for PowerShell nothing is written, and the line for $PROFILE is said', async () => {
  const run = await world.gw(['completion', '--install', 'pwsh']);
  expect(run).toMatchObject({ code: 0, out: '' });
  expect(run.err).toContain('gw completion powershell | Out-String | Invoke-Expression');
});

test('an older script of gw is replaced', async () => {
  const file = inHome('.zfunc/_gw');
  fs.mkdirSync(path.dirname(file));
  fs.writeFileSync(file, '#compdef gw\n# zsh completion for gw; made by gw completion\nold\n');
  const run = await world.gw(['completion', '--install', 'zsh', '--json']);
  expect(JSON.parse(run.out)).toMatchObject({ written: 'replaced' });
  expect(fs.readFileSync(file, 'utf8')).toBe(shells.zsh.script);
});

test('a file that is not gw’s is overwritten with --force only', async () => {
  const file = inHome('.zfunc/_gw');
  fs.mkdirSync(path.dirname(file));
  fs.writeFileSync(file, '# mine\n');
  const refused = await world.gw(['completion', '--install', 'zsh']);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('--force');
  expect(fs.readFileSync(file, 'utf8')).toBe('# mine\n');
  await world.ok(['completion', '--install', 'zsh', '--force']);
  expect(fs.readFileSync(file, 'utf8')).toBe(shells.zsh.script);
});

test('a link is followed, one that leads nowhere is left alone', async () => {
  const kept = inHome('dotfiles');
  fs.mkdirSync(kept);
  fs.mkdirSync(inHome('.zfunc'));
  fs.writeFileSync(path.join(kept, '_gw'), shells.zsh.script.replace('local', 'old'));
  fs.symlinkSync(path.join(kept, '_gw'), inHome('.zfunc/_gw'));
  await world.ok(['completion', '--install', 'zsh']);
  expect(fs.lstatSync(inHome('.zfunc/_gw')).isSymbolicLink()).toBe(true);
  expect(fs.readFileSync(path.join(kept, '_gw'), 'utf8')).toBe(shells.zsh.script);
  fs.rmSync(path.join(kept, '_gw'));
  expect((await world.gw(['completion', '--install', 'zsh'])).code).toBe(2);
  expect(fs.lstatSync(inHome('.zfunc/_gw')).isSymbolicLink()).toBe(true);
});

test.each([
  ['a directory in its place', '.zfunc/_gw/x', 'is a directory'],
  ['a file where the directory should be', '.zfunc', '.zfunc'],
])('%s is one clear error', async (_, file, says) => {
  fs.mkdirSync(path.dirname(inHome(file)), { recursive: true });
  fs.writeFileSync(inHome(file), '');
  const run = await world.gw(['completion', '--install', 'zsh']);
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain(says);
});

test.each([
  [['completion'], 'which shell?'],
  [['completion', 'tcsh'], '"tcsh": gw has completion for bash, zsh, fish, powershell'],
  [['completion', 'bash', 'zsh'], 'gw completion takes only one S'],
  [['completion', 'bash', '--force'], '--force goes with --install'],
  [['completion', '--install'], 'SHELL is not set'],
])('%j is refused', async (argv, says) => {
  const run = await world.gw(argv);
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain(says);
});

test('a shell that there is no script for is named', async () => {
  const run = await world.gw(['completion', '--install'], { env: { SHELL: '/bin/dash' } });
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain('SHELL is "/bin/dash"');
});
