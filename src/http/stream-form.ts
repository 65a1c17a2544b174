// Encodes a form. It replaces form-data-encoder because files are sent while they are read, and the last piece of each
// is held back until it is certain that the file did not change; the encoding itself is a few lines.

import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { usage } from '../errors.ts';
import { BodyFault, type StreamedBody } from './exchange.ts';
import {
  encode,
  endOf,
  formBytes,
  headOf,
  type MultipartBody,
  type MultipartFile,
} from './multipart-body.ts';

/** How much of a file is read and written at once. */
const PIECE_BYTES = 64 * 1024;

/** A form ready to be sent: its length is known, and its files are read while they are sent. */
export function streamForm(form: MultipartBody): StreamedBody {
  return { byteLength: formBytes(form), check: () => checkFiles(form), open: () => pieces(form) };
}

/** Throws `usage` if a file is gone or has changed since gw checked it; nothing has been sent yet. */
async function checkFiles({ fields }: MultipartBody): Promise<void> {
  for (const field of fields) {
    if (!('file' in field)) continue;
    const { path, bytes } = field.file;
    const stats = await fs.stat(path).catch(() => undefined);
    if (!stats?.isFile() || stats.size !== bytes)
      throw usage(
        `${path}: the file ${stats ? 'changed' : 'went away'} before it was sent`,
        'run it again once the file is complete; nothing was sent',
      );
  }
}

async function* pieces({ boundary, fields }: MultipartBody): AsyncGenerator<Uint8Array> {
  for (const field of fields) {
    yield encode(headOf(boundary, field));
    if ('file' in field) yield* fileContent(field);
    else yield encode(field.value);
    yield encode('\r\n');
  }
  yield encode(endOf(boundary));
}

/**
 * A file's content. The last piece is sent only if the file's size and modification time are unchanged, so that a form
 * with a changed file is never complete.
 */
async function* fileContent({ file }: MultipartFile): AsyncGenerator<Uint8Array> {
  const broken = (what: string) =>
    new BodyFault(`${file.path} ${what} while it was sent, and the request was broken off before its end`);
  // With O_NONBLOCK, open returns at once even if a pipe has replaced the file. Windows does not have this flag.
  const handle = await fs.open(file.path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(() => {
    throw broken('could no longer be opened');
  });
  try {
    const before = await handle.stat({ bigint: true });
    if (!before.isFile() || before.size !== BigInt(file.bytes)) throw broken('changed');
    for (let done = 0; done < file.bytes; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, file.bytes - done));
      const filled = await fill(handle, piece, done).catch(() => {
        throw broken('could not be read');
      });
      if (filled < piece.length) throw broken('became shorter');
      done += filled;
      if (done === file.bytes) {
        const after = await handle.stat({ bigint: true });
        if (after.size !== before.size || after.mtimeNs !== before.mtimeNs) throw broken('changed');
      }
      yield piece;
    }
  } finally {
    await handle.close();
  }
}

async function fill(handle: fs.FileHandle, piece: Buffer, from: number): Promise<number> {
  let filled = 0;
  while (filled < piece.length) {
    const { bytesRead } = await handle.read(piece, filled, piece.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}
