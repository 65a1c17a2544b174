import { GwError } from '../../errors.ts';
import { imageRole } from '../../gateway/image/job.ts';
import { readImages } from '../../gateway/image/reply.ts';
import type { Answer } from './answered.ts';
import type { IncomingImage } from './incoming-image.ts';

// Why an image of a reply is not on disk, of kind `download`.

/** Images that the reply names and of which it holds not a byte. */
export function emptyOnes(record: unknown, { reader, key }: Answer): GwError[] {
  const there = new Set(reader.reading.images.map(({ index }) => index));
  return readImages(record)
    .filter(({ kind, index, isEmpty }) => kind === 'base64' && isEmpty && !there.has(index))
    .map(({ index }) => notSaved(index, key, 'the gateway sent no data for it'));
}

export const lost = (index: number, { problem }: IncomingImage, key: string): GwError =>
  notSaved(index, key, problem ?? 'it did not come whole');

const notSaved = (index: number, key: string, reason: string): GwError =>
  new GwError('download', `the ${imageRole(index)} of ${key} was not saved: ${reason}`, {
    taskId: key,
    hint: 'the gateway sends an image once: what came beside it is saved, and the record is in the ledger',
  });

export const detoured = (where: string, reason: string): GwError =>
  new GwError('download', `${reason}; the image was saved as ${where} instead`, {
    hint: 'move it from there: that directory is for temporary files',
  });
