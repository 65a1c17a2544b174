// Reads the code signature of a macOS program: a digest of each page, without which the system kills the program.
'use strict';
const { createHash } = require('node:crypto');

const MACH_O_64 = 0xfeedfacf;
const LC_CODE_SIGNATURE = 0x1d;
const CODE_DIRECTORY = 0xfade0c02;
const SHA256 = 2;
const HEADER_BYTES = 32;

/** The position of a program's signature. Throws if it is no signed 64-bit program. */
function signatureAt(program) {
  if (program.readUInt32LE(0) !== MACH_O_64) throw new Error('it is no Mach-O program of 64 bits');
  let at = HEADER_BYTES;
  for (let left = program.readUInt32LE(16); left > 0; left -= 1) {
    if (program.readUInt32LE(at) === LC_CODE_SIGNATURE) return program.readUInt32LE(at + 8);
    at += program.readUInt32LE(at + 4);
  }
  throw new Error('it is not signed');
}

/** The positions of wrong page digests in a program; `mend` writes the right digests there. */
exports.wrongPages = (program, mend = false) => {
  const blob = signatureAt(program);
  const wrong = [];
  for (let index = program.readUInt32BE(blob + 8) - 1; index >= 0; index -= 1) {
    const directory = blob + program.readUInt32BE(blob + 12 + 8 * index + 4);
    if (program.readUInt32BE(directory) !== CODE_DIRECTORY) continue;
    const digests = directory + program.readUInt32BE(directory + 16);
    const end = program.readUInt32BE(directory + 32);
    const bytes = program.readUInt8(directory + 36);
    if (program.readUInt8(directory + 37) !== SHA256)
      throw new Error('its pages are not digested by SHA-256');
    const pageBytes = 2 ** program.readUInt8(directory + 39);
    for (let page = 0; page * pageBytes < end; page += 1) {
      const content = program.subarray(page * pageBytes, Math.min(end, (page + 1) * pageBytes));
      const digest = createHash('sha256').update(content).digest().subarray(0, bytes);
      const place = digests + page * bytes;
      if (digest.equals(program.subarray(place, place + bytes))) continue;
      wrong.push(page);
      if (mend) digest.copy(program, place);
    }
  }
  return wrong;
};
