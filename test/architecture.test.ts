import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';

// Imports run one way. A layer may import itself and the layers in its README row; type imports count too.

const src = path.join(import.meta.dirname, '../src');
const leaves = ['errors.ts', 'formats.ts', 'host.ts', 'json-text.ts', 'loopback.ts', 'placeholders.ts'];
const readme = readFileSync(path.join(src, 'README.md'), 'utf8');
/** The folders that each folder may import: the last column of the README's table, and what all may import. */
const allowed = Object.fromEntries(
  [...readme.matchAll(/^\| `(\w+)\/` \|.*\| ([^|`(]+) \|$/gm)].map(([, folder = '', column = '']) => {
    const told = column === 'nothing' ? [] : column.split(', ').map((name) => (name === 'all' ? '*' : name));
    return [folder, ['gateway', 'sandbox', 'gallery'].includes(folder) ? told : [...leaves, ...told]];
  }),
);
/** Packages that a layer may import; elsewhere dependencies are free. */
const packages: Record<string, readonly string[]> = {
  gateway: ['zod'],
  sandbox: ['mediabunny', 'image-size', 'zod', '@jsquash'],
};

const files = (readdirSync(src, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts'));
const importsOf = (file: string): string[] => {
  const text = readFileSync(path.join(src, file), 'utf8');
  const fixed = text.matchAll(/^(?:import|export)\b[^;']*?\bfrom '([^']+)'/gm);
  const late = text.matchAll(/\bimport\('([^']+)'\)/g);
  return [...fixed, ...late].map((match) => String(match[1])).filter((target) => !target.includes(' '));
};
const layerOf = (file: string): string => file.split(path.sep)[0] ?? file;

describe.each(Object.keys(allowed))('%s', (layer) => {
  test.each(files.filter((file) => layerOf(file) === layer))('%s imports only what it may', (file) => {
    for (const target of importsOf(file)) {
      if (target.startsWith('.')) {
        const to = layerOf(path.relative(src, path.resolve(src, path.dirname(file), target)));
        // This import of a smaller part of undici is the only one that leaves src.
        if (to === '..' && file === path.join('http', 'lean-undici.ts')) continue;
        const may = allowed[layer] ?? [];
        expect(to === layer || may.includes('*') || may.includes(to), `${file} imports ${target}`).toBe(true);
      } else if (packages[layer] && !target.startsWith('node:')) {
        const [name = ''] = target.split('/');
        expect(packages[layer], `${file} imports ${target}`).toContain(name);
      }
    }
  });
});

test('zod is taken in its small edition: the two together would be loaded side by side', () => {
  expect(files.filter((file) => importsOf(file).includes('zod'))).toEqual([]);
});

test('what only reads does not load zod: it takes 3 ms of every start', () => {
  const reached = new Set<string>();
  const reach = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    if (!file.endsWith('.ts')) return;
    const text = readFileSync(path.join(src, file), 'utf8');
    for (const [, target = ''] of text.matchAll(/^(?:import|export) (?!type\b)[^;']*?\bfrom '([^']+)'/gm))
      reach(target.startsWith('.') ? path.join(path.dirname(file), target) : target);
  };
  for (const file of ['main.ts', 'commands/jobs/list.ts', 'commands/models.ts']) reach(path.normalize(file));
  for (const family of ['alpha', 'beta', 'gamma']) reach(path.join('gateway', family, 'task.ts'));
  expect(reached.size).toBeGreaterThan(50);
  expect(reached).not.toContain('zod/mini');
});

test('the layout tells of every file and folder at the top, and of none that is not there', () => {
  const told = [...readme.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)];
  const names = new Set(told.map(([, name = '']) => name));
  const top = readdirSync(src, { withFileTypes: true }).map((each) =>
    each.isDirectory() ? `${each.name}/` : each.name,
  );
  expect(top.filter((name) => name !== 'README.md' && !names.has(name))).toEqual([]);
  const isThere = (name: string) =>
    top.includes(name) || files.some((file) => file === name || file.endsWith(`/${name}`));
  const folders = (name: string) => name.endsWith('/') && files.some((file) => file.startsWith(name));
  const gone = [...names].filter((name) => !isThere(name.replace('FAMILY', 'alpha')) && !folders(name));
  expect(gone).toEqual([]);
});

test('only the adapter knows Commander', () => {
  expect(files.filter((file) => importsOf(file).includes('commander'))).toEqual(['parse-argv.ts']);
});

test('nothing in the product reads the process but the entry', () => {
  const reads = files.filter((file) =>
    /\bprocess\.(env|argv|exit|cwd|std(in|out|err))\b/.test(readFileSync(path.join(src, file), 'utf8')),
  );
  expect(reads).toEqual(['entry.ts']);
});

test('what works with Redis is loaded where it is asked for, by the commands that do', () => {
  const redis =
    /^(?:bullmq|ioredis|rate-limiter-flexible)$|\/(?:machines\/(?:engine|store|rates|open|follow|worker-run)|(?:open|follow|worker-run))\.ts$/;
  const inside = files.filter((file) => !/^(?:commands[/\\])?machines[/\\]/.test(file));
  for (const file of inside) {
    const text = readFileSync(path.join(src, file), 'utf8');
    const values = text.matchAll(/^(?:import|export) (?!type\b)[^;']*?\bfrom '([^']+)'/gm);
    for (const [, target = ''] of values) {
      const isOurs = target.includes('machines/') || !target.startsWith('.');
      expect(isOurs && redis.test(target), `${file} imports ${target}`).toBe(false);
    }
  }
});

test('code stands in bin, src, test and completions, and in no other folder at the top', () => {
  const root = path.join(import.meta.dirname, '..');
  const known = ['bin', 'completions', 'dist', 'node_modules', 'src', 'test'];
  const others = readdirSync(root, { withFileTypes: true }).filter(
    ({ name }) => !name.startsWith('.') && !known.includes(name),
  );
  // Files that the README's commands save there belong to the user.
  const code = others.flatMap((each) =>
    each.isDirectory()
      ? (readdirSync(path.join(root, each.name), { recursive: true }) as string[])
      : each.name,
  );
  expect(code.filter((name) => /\.[cm]?[jt]s$/.test(name))).toEqual([]);
});

test('each function that the README says decides stands in its file', () => {
  const [, deciders = ''] = readme.split('## Which function decides');
  const named = [...deciders.matchAll(/((?:`\w+`(?:, | and )?)+) in `([\w./-]+\.ts)`/g)];
  expect(named.length).toBeGreaterThan(20);
  for (const [, names = '', file = ''] of named)
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
      expect(readFileSync(path.join(src, file), 'utf8'), `${name} in ${file}`).toMatch(
        new RegExp(`\\b${name}\\b`),
      );
});
