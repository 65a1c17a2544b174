import { execFile, spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { builtGw } from './cli/built.ts';
import { newDir } from './helpers/new-dir.ts';

// The published package: its tarball, the bundled code and its licences, and the packages that a new clone installs.

const root = path.join(import.meta.dirname, '..');
const json = (file: string) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
}
const locked = Object.entries<LockEntry>(json('package-lock.json').packages).filter(([name]) => name !== '');

test('everything that is installed is pinned by its content, wherever it is fetched from', () => {
  expect(locked.length).toBeGreaterThan(100);
  expect(locked.filter(([, entry]) => !/^sha512-/.test(entry.integrity ?? '')).map(([name]) => name)).toEqual(
    [],
  );
  expect(locked.filter(([, entry]) => entry.resolved !== undefined).map(([name]) => name)).toEqual([]);
});

test('a bare checkout is told to install its packages first', () => {
  const bare = newDir();
  cpSync(path.join(root, 'bin'), path.join(bare, 'bin'), { recursive: true });
  const { status, stderr } = spawnSync(process.execPath, ['bin/build.js'], { cwd: bare, encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    1,
    'error: the packages that build gw are not here\nhint: run npm ci in this folder first, then the same again\n',
  ]);
});

describe('the tarball', () => {
  const packed = async () => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: root });
    const [{ files, size }] = JSON.parse(stdout);
    return { paths: (files as { path: string }[]).map((file) => file.path).sort(), bytes: size as number };
  };

  test('holds what runs and what tells of it, and nothing that builds or tests', async () => {
    const { paths, bytes } = await packed();
    expect(bytes).toBeLessThan(2_000_000);
    expect(paths.filter((file) => !/^(dist|completions)\//.test(file))).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/complete.js',
      'bin/gw-cli.js',
      'bin/gw.js',
      'bin/package.json',
      'bin/parts.js',
      'bin/start.js',
      'package.json',
    ]);
    for (const file of [
      'LICENSES.txt',
      'sbom.cdx.json',
      'parts.json',
      'wasm/mozjpeg_enc.wasm',
      'clips/tone.mp3',
    ])
      expect(paths).toContain(`dist/${file}`);
  });

  test('installs nothing, exposes the one function, and names no place', () => {
    const about = json('package.json');
    expect(about).not.toHaveProperty('dependencies');
    expect(about).not.toHaveProperty('repository');
    expect(about.scripts).not.toHaveProperty('postinstall');
    expect(Object.keys(about.exports)).toEqual(['.', './package.json']);
    expect(about.keywords.length).toBeGreaterThan(3);
    for (const version of Object.values(about.devDependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });
});

describe('what is bundled', () => {
  interface Component {
    readonly name: string;
    readonly group?: string;
    readonly version?: string;
    readonly licenses?: readonly unknown[];
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
    readonly components?: readonly Component[];
  }
  const distDir = path.join(path.dirname(builtGw().script), '../dist');
  const text = readFileSync(path.join(distDir, 'sbom.cdx.json'), 'utf8');
  const list = JSON.parse(text) as { components: Component[]; serialNumber: string };
  const nameOf = ({ group, name, version }: Component) => `${group ? `${group}/` : ''}${name} ${version}`;
  const licences = readFileSync(path.join(distDir, 'LICENSES.txt'), 'utf8');

  test('is listed package by package, each with its licence, as the lock has them', () => {
    const inLock = new Set(
      locked.map(([place, { version }]) => `${place.replace(/^.*node_modules\//, '')} ${version}`),
    );
    const names = list.components.map(nameOf);
    expect(names).toEqual(
      expect.arrayContaining([expect.stringMatching(/^undici 7/), expect.stringMatching(/^zod /)]),
    );
    expect(names.filter((name) => !inLock.has(name))).toEqual([]);
    expect(
      names.filter((name) => /^(esbuild|vitest|openai|typescript|@biomejs|@cyclonedx)/.test(name)),
    ).toEqual([]);
    expect(list.components.filter(({ licenses }) => !licenses?.length).map(nameOf)).toEqual([]);
  });

  test('is told with digests and a serial number, in the same bytes for the same build', () => {
    expect(list.serialNumber).toMatch(/^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/);
    for (const { name, hashes } of list.components)
      expect(hashes, name).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[\da-f]{128}$/) }]);
    // A time appears only if SOURCE_DATE_EPOCH gives it.
    expect(text).not.toContain('"timestamp"');
    expect(text).not.toContain('/tmp/');
    expect(text).not.toContain(root);
  });

  test('comes with the licence of each package', () => {
    for (const component of list.components) expect(licences).toContain(`${nameOf(component)} (`);
  });

  test('tells what is inside the codecs, and says what their licences want said', () => {
    const inside = list.components.flatMap(({ components = [] }) => components.map(({ name }) => name));
    expect(inside).toEqual(expect.arrayContaining(['mozjpeg', 'libwebp', 'png']));
    for (const words of [
      'This software is based in part on the work of the Independent JPEG Group.',
      'The authors make NO WARRANTY or representation, either express or implied',
      'libjpeg-turbo Licenses',
      'The Modified (3-clause) BSD License',
      'Copyright (c) 2010, Google Inc. All rights reserved.',
      'Emscripten authors',
      'Apache License',
    ])
      expect(licences).toContain(words);
  });
});
