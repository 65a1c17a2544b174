import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileFault } from '../../src/disk/typed-input.ts';
import { openMediaFile } from '../../src/media/local-file.ts';
import { temporaryDirectory } from './fixtures.ts';

async function open(content: string) {
  const file = path.join(temporaryDirectory(), 'a.png');
  fs.writeFileSync(file, content);
  return { file, opened: await openMediaFile(file, '--image a.png') };
}

describe('an open media file', () => {
  it('gives ranges and the whole', async () => {
    const { opened } = await open('0123456789');
    expect(Buffer.from(await opened.read(2, 5)).toString()).toBe('234');
    expect(Buffer.from(await opened.read(8, 20)).toString()).toBe('89');
    expect(Buffer.from(await opened.readAll()).toString()).toBe('0123456789');
    await opened.assertUnchanged();
    await opened.close();
  });

  it.each<[string, (file: string) => void]>([
    ['grows', (file) => fs.appendFileSync(file, 'more')],
    ['shrinks', (file) => fs.truncateSync(file, 3)],
    [
      'is written over in place',
      (file) => {
        fs.writeFileSync(file, 'abcdefghij');
        fs.utimesSync(file, 1, 1);
      },
    ],
  ])('is refused when it %s while it is read', async (_name, change) => {
    const { file, opened } = await open('0123456789');
    change(file);
    await expect(opened.readAll()).rejects.toMatchObject({
      ...{ kind: 'usage', message: '--image a.png: the file changed while it was read' },
    });
    await expect(opened.assertUnchanged()).rejects.toThrow(/changed/);
    await opened.close();
  });
});

describe('fileFault', () => {
  it.each([
    ['EACCES', '--image a.png: cannot be read: permission denied'],
    ['ENOENT', '--image a.png: no such file'],
    ['EIO', '--image a.png: cannot be read (EIO)'],
  ])('%s', (code, message) => {
    expect(fileFault(Object.assign(new Error('x'), { code }), '--image a.png')).toMatchObject({
      kind: 'usage',
      message,
    });
  });
});
