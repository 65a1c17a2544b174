import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createServer } from 'node:http';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { listening } from '../helpers/listening.ts';
import { newDir } from '../helpers/new-dir.ts';

// @module-tag curl
// Tests bin/install.sh with a release in a folder and on loopback. A script replaces the binary; `.ci/binaries` tests the real one.

const name = `gw-${process.platform === 'darwin' ? 'macos' : 'linux'}-${process.arch}`;
const installer = path.join(import.meta.dirname, '../../bin/install.sh');

function release() {
  const dir = newDir();
  const folder = path.join(dir, 'release');
  const to = path.join(dir, 'bin');
  fs.mkdirSync(folder);
  const publish = (program: string, sumOf = program) => {
    fs.writeFileSync(path.join(folder, name), program);
    const sum = createHash('sha256').update(sumOf).digest('hex');
    fs.writeFileSync(
      path.join(folder, 'SHA256SUMS'),
      `${'0'.repeat(64)}  ${name}.cdx.json\n${sum}  ${name}\n`,
    );
  };
  publish('#!/bin/sh\necho one\n');
  const run = async (...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: dir };
    const child = spawn('sh', [installer, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (text) => {
      out += text;
    });
    child.stderr.on('data', (text) => {
      err += text;
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    return { code, out, err };
  };
  return { dir, folder, to, gw: path.join(to, 'gw'), publish, run };
}

async function serve(folder: string): Promise<string> {
  const server = createServer(({ url = '' }, reply) => {
    const file = path.join(folder, path.basename(url));
    if (fs.existsSync(file)) reply.end(fs.readFileSync(file));
    else reply.writeHead(404).end('not here');
  });
  return `${(await listening(server)).url}/v1/`;
}

describe('install.sh', () => {
  test.each(['an address', 'a folder'])('puts the file of a release in place, from %s', async (from) => {
    const { folder, to, gw, run } = release();
    expect(await run(from === 'a folder' ? folder : await serve(folder), to)).toEqual({
      code: 0,
      out: `${gw}\n`,
      err: `note: ${to} is not in PATH; add it: export PATH="${to}:$PATH"\n`,
    });
    expect(fs.statSync(gw).mode & 0o777).toBe(0o755);
    expect(fs.readdirSync(to)).toEqual(['gw']);
  });

  test('takes the place of an older one, and goes to ~/.local/bin where none is named', async () => {
    const { dir, folder, publish, run } = release();
    await run(folder);
    publish('#!/bin/sh\necho two\n');
    expect(await run(folder)).toMatchObject({ code: 0 });
    expect(fs.readFileSync(path.join(dir, '.local/bin/gw'), 'utf8')).toContain('two');
  });

  test.each([
    [
      'a file with another sum',
      'is not the file that SHA256SUMS',
      (folder: string) => fs.appendFileSync(path.join(folder, name), 'x'),
    ],
    [
      'a file that no sum names',
      `does not name ${name}`,
      (folder: string) => fs.writeFileSync(path.join(folder, 'SHA256SUMS'), ''),
    ],
    [
      'a release without the file',
      `${name} could not be had`,
      (folder: string) => fs.rmSync(path.join(folder, name)),
    ],
    [
      'a release without sums',
      'SHA256SUMS could not be had',
      (folder: string) => fs.rmSync(path.join(folder, 'SHA256SUMS')),
    ],
  ])('leaves what was there for %s', async (_, words, spoil) => {
    const { folder, to, gw, run } = release();
    await run(folder, to);
    spoil(folder);
    for (const from of [folder, await serve(folder)]) {
      const { code, out, err } = await run(from, to);
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain(words);
      expect(err).toMatch(/^hint: /m);
    }
    expect(fs.readFileSync(gw, 'utf8')).toContain('one');
    expect(fs.readdirSync(to)).toEqual(['gw']);
  });

  test('without a release it says how it is run', async () => {
    expect(await release().run()).toMatchObject({ code: 1, err: expect.stringContaining('sh install.sh') });
  });
});
