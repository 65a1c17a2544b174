import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';

// The signature of a macOS program: `npm run binaries` repairs the page digests that the runtime's builder leaves wrong.

const { wrongPages } = createRequire(import.meta.url)('../../bin/mach-o.js') as {
  wrongPages: (program: Buffer, mend?: boolean) => number[];
};

const PAGE = 4096;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** A program of two and a half pages with one load command, for its signature. The first digest follows the header. */
function signedProgram() {
  const codeBytes = 2.5 * PAGE;
  const program = Buffer.alloc(codeBytes + 256, 7);
  const header = [0xfeedfacf, 0, 0, 2, 1, 16, 0, 0, 0x1d, 16, codeBytes, 256];
  header.forEach((word, at) => {
    program.writeUInt32LE(word, 4 * at);
  });
  const blob = codeBytes;
  const directory = blob + 20;
  [0xfade0cc0, 256, 1, 0, 20].forEach((word, at) => {
    program.writeUInt32BE(word, blob + 4 * at);
  });
  [0xfade0c02, 140, 0x20400, 2, 44, 0, 0, 3, codeBytes].forEach((word, at) => {
    program.writeUInt32BE(word, directory + 4 * at);
  });
  program.set([32, 2, 0, 12], directory + 36);
  const places = [0, 1, 2].map((page) => directory + 44 + 32 * page);
  places.forEach((place, page) => {
    program.set(sha256(program.subarray(page * PAGE, Math.min(codeBytes, (page + 1) * PAGE))), place);
  });
  return { program, places };
}

test('pages whose digests are wrong are told by their numbers, and mended', () => {
  const { program } = signedProgram();
  expect(wrongPages(program)).toEqual([]);
  program.writeUInt8(8, 100);
  program.writeUInt8(8, 2 * PAGE + 1);
  expect(wrongPages(program).sort()).toEqual([0, 2]);
  expect(wrongPages(program)).toHaveLength(2);
  wrongPages(program, true);
  expect(wrongPages(program)).toEqual([]);
});

test('what is no signed program for macOS is refused', () => {
  expect(() => wrongPages(Buffer.from('\x7fELF'.padEnd(64)))).toThrow('no Mach-O program');
  const { program } = signedProgram();
  program.writeUInt32LE(0x19, 32);
  expect(() => wrongPages(program)).toThrow('not signed');
});
