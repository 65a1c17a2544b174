import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Modality } from '../../src/gateway/limits.ts';
import * as media from '../../src/media/probe.ts';
import { assetsDir } from '../helpers/assets-dir.ts';
import { newDir } from '../helpers/new-dir.ts';

/** A directory for one test, removed after it. */
export function temporaryDirectory(): string {
  const directory = newDir();
  return directory;
}

/** Runs ffmpeg into a file of the directory and returns its path. */
export function make(directory: string, name: string, ...options: string[]): string {
  makeAll(directory, [], [[name, options]]);
  return path.join(directory, name);
}

/** Runs ffmpeg once for all files, because its start takes longer than a small file. */
export function makeAll(
  directory: string,
  inputs: readonly string[],
  outputs: readonly (readonly [name: string, options: readonly string[]])[],
): void {
  const files = outputs.flatMap(([name, options]) => [...options, path.join(directory, name)]);
  const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...inputs, ...files]);
  if (status !== 0) throw new Error(`ffmpeg could not make the files: ${stderr}`);
}

/** The input of a moving picture. */
export const moving = (size: string, seconds: number, rate: number | string = 24) => [
  ...['-f', 'lavfi', '-i', `testsrc=size=${size}:rate=${rate}:duration=${seconds}`],
];

export const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];

/** Arguments for a moving picture without sound. */
export const picture = (size: string, seconds: number) => [...moving(size, seconds), ...h264];

/** Arguments for a tone. */
export const tone = (seconds: number) => ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`];

export const ascii = (text: string) => Buffer.from(text, 'latin1');

/** The beginning of a PNG of this size, which is enough to read its facts. */
export function pngHead(width: number, height: number): Buffer {
  const head = Buffer.alloc(33);
  ascii('\x89PNG\r\n\x1a\n\0\0\0\rIHDR').copy(head);
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  head.set([8, 2, 0, 0, 0], 24);
  return head;
}

function box(name: string, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, body]);
}

/** The boxes of a HEIF image that give its type and size. */
export function heif(brand: string, compatible: string, width: number, height: number): Buffer {
  const size = Buffer.alloc(12);
  size.writeUInt32BE(width, 4);
  size.writeUInt32BE(height, 8);
  return Buffer.concat([
    box('ftyp', ascii(brand), Buffer.alloc(4), ascii(compatible)),
    box('meta', Buffer.alloc(4), box('iprp', box('ipco', box('ispe', size)))),
  ]);
}

/** A JPEG whose size comes after this many bytes of other segments. */
export function jpegWithAppData(width: number, height: number, appBytes: number): Buffer {
  const segments: Buffer[] = [Buffer.from([0xff, 0xd8])];
  for (let left = appBytes; left > 0; left -= 65_533) {
    const head = Buffer.from([0xff, 0xe2, 0, 0]);
    head.writeUInt16BE(65_535, 2);
    segments.push(head, Buffer.alloc(65_533));
  }
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([...segments, frame, Buffer.from([0xff, 0xd9])]);
}

/** A sparse file: it begins with these bytes, and the rest is a hole up to this length. */
export function sparse(file: string, head: Uint8Array, bytes: number): string {
  fs.writeFileSync(file, head);
  fs.truncateSync(file, bytes);
  return file;
}

/** Does the same as the product's function, for bytes of any kind of medium. */
export const probeBytes = (bytes: Uint8Array): Promise<media.MediaFacts> =>
  ofItsKind((modality) => media.probeBytes(bytes, { modality, assetsDir }));

export const probeFile = (file: string, named: string): Promise<media.MediaFacts> =>
  ofItsKind((modality) => media.probeFile(file, named, { modality, assetsDir }));

async function ofItsKind(read: (modality: Modality) => Promise<media.MediaFacts>) {
  const facts = await read('image');
  return facts.modality === 'video' || facts.modality === 'audio' ? read(facts.modality) : facts;
}

/** A good clip with one changed number in its tables, which makes the probing library count for ever. */
export function endlessClip(): Buffer {
  const clip = fs.readFileSync(path.join(assetsDir, 'clips/480p-1x1.mp4'));
  clip.writeUInt32BE(0xffffffff, clip.indexOf('stsc') + 16);
  return clip;
}
