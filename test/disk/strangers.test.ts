import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { confinedPaths, refuseTarget } from '../../src/disk/confined-path.ts';
import { sha256OfFile } from '../../src/disk/small-file.ts';
import { readSmallFile, readTypedFile } from '../../src/disk/typed-input.ts';
import { newDir } from '../helpers/new-dir.ts';

let place = '';
let dir = '';
beforeEach(() => {
  place = fs.realpathSync(newDir());
  dir = path.join(place, 'shots');
  fs.mkdirSync(path.join(dir, 'inner'), { recursive: true });
  fs.writeFileSync(path.join(dir, 'fox.png'), 'fox');
  fs.writeFileSync(path.join(place, 'secret'), 'secret');
  fs.symlinkSync('fox.png', path.join(dir, 'same'));
  fs.symlinkSync('../secret', path.join(dir, 'out'));
  fs.symlinkSync('..', path.join(dir, 'up'));
  fs.symlinkSync('/dev/zero', path.join(dir, 'zero'));
  fs.symlinkSync('/proc/self/environ', path.join(dir, 'environ'));
  execFileSync('mkfifo', [path.join(dir, 'fifo')]);
});

const of = (name: string, more = {}) =>
  confinedPaths({ dir, what: "the manifest's folder", hint: 'give --allow-outside', ...more })(name, 'image');

describe('confinedPaths', () => {
  it.each([
    ['fox.png', 'fox.png'],
    ['./inner/../fox.png', 'fox.png'],
    ['same', 'fox.png'],
    ['up/shots/fox.png', 'fox.png'],
    ['../shots/fox.png', 'fox.png'],
  ])('takes %s, which lies inside by its real path', (name, real) => {
    expect(of(name)).toBe(path.join(dir, real));
    expect(of(path.join(dir, name))).toBe(path.join(dir, real));
  });

  it.each([
    ['../secret', 'lies outside'],
    ['out', 'lies outside'],
    ['up/secret', 'lies outside'],
    ['/etc/hostname', 'lies outside'],
    ['/proc/self/environ', 'no file that gw reads'],
    ['/dev/fd/0', 'no file that gw reads'],
    ['environ', 'no file that gw reads'],
    ['zero', 'no file that gw reads'],
    ['fifo', 'is a pipe'],
    ['inner', 'is a directory'],
    ['.', 'is a directory'],
    ['gone.png', 'no such file'],
    ['//host/share/fox.png', 'no file that gw reads'],
    ['\\\\host\\share\\fox.png', 'no file that gw reads'],
  ])('refuses %s: %s', (name, why) => {
    expect(() => of(name)).toThrow(why);
  });

  it('takes a file of a further root, and one outside that the user has allowed, but never a pipe or a device', () => {
    expect(of('../secret', { roots: [place] })).toBe(path.join(place, 'secret'));
    const asked: string[] = [];
    const mayLeave = (file: string) => asked.push(file) > 0;
    expect(of('out', { mayLeave })).toBe(path.join(place, 'secret'));
    for (const name of ['zero', 'environ', 'fifo', '/proc/self/environ'])
      expect(() => of(name, { mayLeave }), name).toThrow();
    expect(asked).toEqual([path.join(place, 'secret')]);
  });
});

describe('refuseTarget', () => {
  it('checks a target at once in a folder of links to itself, and finds a link that leaves it', () => {
    const root = path.join(dir, 'inner');
    const refuse = (target: string) => refuseTarget(target, { dir: root, what: 'the folder' }, '--out');
    for (const name of ['a', 'b', 'c', 'd']) fs.symlinkSync('.', path.join(root, name));
    refuse(`${'{id}/'.repeat(40)}fox.png`);
    fs.symlinkSync('..', path.join(root, 'a', 'up'));
    expect(() => refuse(`${'{id}/'.repeat(40)}fox.png`)).toThrow(`a link leads out of the folder, to ${dir}`);
  });
});

describe('a small file', () => {
  const options = { named: '--body x', maxBytes: 5 };

  it('is read whole up to its bound, also where it tells no size', () => {
    fs.writeFileSync(path.join(dir, 'five'), '12345');
    expect(String(readSmallFile(path.join(dir, 'five'), options))).toBe('12345');
    fs.writeFileSync(path.join(dir, 'six'), '123456');
    for (const file of [path.join(dir, 'six'), '/proc/self/stat'])
      expect(() => readSmallFile(file, options)).toThrow('--body x: is larger than 5 bytes');
    expect(readSmallFile('/proc/self/comm', { ...options, maxBytes: 100 }).length).toBeGreaterThan(0);
  });

  it.each(['fifo', 'zero', 'inner', 'gone'])('is no %s, which is told at once', async (name) => {
    const file = path.join(dir, name);
    expect(() => readSmallFile(file, options)).toThrow(/^--body x: /);
    await expect(sha256OfFile(file)).rejects.toThrow();
    if (name !== 'fifo') await expect(readTypedFile(file, options)).rejects.toThrow(/^--body x: /);
  });
});
