import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect, it } from 'vitest';
import { maxPeakKb } from '../../cli/place.ts';
import { outputServer, tempDir } from './harness.ts';
import { bundleFetchOne, runToEnd } from './spawned.ts';
import { ftyp, moov } from './tiny-media.ts';

const GB = 1024 ** 3;
const etag = '"large"';

/** An MP4 of 2 GB of which only the first bytes are stored; the rest is zeros. */
const mdat = Buffer.alloc(16);
mdat.writeUInt32BE(1, 0);
mdat.write('mdat', 4, 'latin1');
mdat.writeBigUInt64BE(BigInt(2 * GB - ftyp.length - moov.length), 8);
const head = Buffer.concat([ftyp, moov, mdat]);
const zeros = Buffer.alloc(1024 * 1024);

// This test is slow, because it moves two gigabytes over loopback and onto the disk.
it('two gigabytes, cut in the middle, pass through constant memory', async ({ skip }) => {
  const dir = tempDir();
  const { bavail, bsize } = fs.statfsSync(dir);
  skip(bavail * bsize < 4 * GB, 'a download of 2 GB needs 4 GB of disk');
  const script = await bundleFetchOne(dir);
  const server = await outputServer((request, response, number) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(start > 0 ? 206 : 200, {
      'content-type': 'video/mp4',
      'content-length': String(2 * GB - start),
      etag,
      ...(start > 0 ? { 'content-range': `bytes ${start}-${2 * GB - 1}/${2 * GB}` } : {}),
    });
    let at = start;
    const end = number === 1 ? GB : 2 * GB;
    const more = (): void => {
      while (at < end) {
        const piece =
          at < head.length ? head.subarray(at) : zeros.subarray(0, Math.min(zeros.length, end - at));
        at += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
      if (number === 1) response.destroy();
      else response.end();
    };
    more();
  });
  const target = path.join(dir, 'large.mp4');
  const order = JSON.stringify({ url: server.url, target, ledger: path.join(dir, 'ledger') });
  const ended = await runToEnd(process.execPath, [script, order]);
  expect(ended.failures).toEqual([]);
  expect(ended.files).toMatchObject([{ path: target, bytes: 2 * GB, type: 'video/mp4' }]);
  expect(fs.statSync(target).size).toBe(2 * GB);
  expect(server.gets).toHaveLength(2);
  expect(server.gets[1]?.headers.range).toMatch(/^bytes=\d{9,}-$/);
  if (fs.existsSync('/proc/self/status')) {
    expect(ended.peakKb).toBeGreaterThan(0);
    expect(ended.peakKb).toBeLessThan(maxPeakKb);
    console.info(`peak memory ${Math.round(ended.peakKb / 1024)} MB`);
  }
});
