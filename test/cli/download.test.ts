import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import { openGateway, openServer, TASK_ID } from './fake-gateway.ts';
import { create, maxPeakKb, Place, pause } from './place.ts';

function box(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}

/** The bytes before the frames of a video of this size; the rest of the file is zeros. */
function movieHead(bytes: number): Buffer {
  const brand = box('ftyp', Buffer.from('isom\0\0\x02\0isommp42', 'latin1'));
  const index = box('moov', box('mvhd', Buffer.alloc(100)));
  const frames = Buffer.alloc(16);
  frames.writeUInt32BE(1, 0);
  frames.write('mdat', 4, 'latin1');
  frames.writeBigUInt64BE(BigInt(bytes - brand.length - index.length), 8);
  return Buffer.concat([brand, index, frames]);
}

test.skipIf(!fs.existsSync('/proc/self/status'))(
  'an output of half a gigabyte takes little memory',
  // On a busy machine V8 frees memory later, so the smallest of three measurements counts.
  { retry: 2 },
  async ({ skip }) => {
    const bytes = 2 ** 29;
    const head = movieHead(bytes);
    const zeros = Buffer.alloc(1024 * 1024);
    const store = await openServer((_, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': bytes, etag: '"large"' });
      let at = 0;
      const more = (): void => {
        while (at < bytes) {
          const piece =
            at < head.length ? head.subarray(at) : zeros.subarray(0, Math.min(zeros.length, bytes - at));
          at += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const place = new Place(await openGateway(`${store.url}/video.mp4?signature=s`));
    const { bavail, bsize } = fs.statfsSync(place.cwd);
    skip(bavail * bsize < 2 * bytes, 'the download needs 1 GB of disk');
    const running = place.start([...create, 'a fox']);
    let [peakKb, isOver] = [0, false];
    void running.ended.then(() => {
      isOver = true;
    });
    while (!isOver) {
      try {
        const status = fs.readFileSync(`/proc/${running.pid}/status`, 'utf8');
        peakKb = Math.max(peakKb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
      } catch {
        // The process has just ended.
      }
      await pause(25);
    }
    const { code, out, err } = await running.ended;
    expect(code, err).toBe(0);
    expect(out).toBe(`${path.join(place.cwd, TASK_ID)}.mp4\n`);
    expect(fs.statSync(out.trim()).size).toBe(bytes);
    expect(store.seen).toHaveLength(1);
    expect(peakKb).toBeGreaterThan(20_000);
    expect(peakKb).toBeLessThan(maxPeakKb);
  },
);
