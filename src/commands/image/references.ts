import { parseReference, type ReferenceScheme } from '../../media/reference.ts';
import type { MediaInput } from '../../media/resolve.ts';

/** References to images as typed, for a place of the body that takes URLs, Base64 and these schemes. */
export function imageInputs(
  raws: readonly string[],
  flag: string,
  schemes: readonly ReferenceScheme[] = [],
): MediaInput[] {
  // The document states no format and no size for input images, so a file must only be an image.
  return raws.map((raw) => ({
    raw,
    flag,
    modality: 'image',
    takes: { url: true, base64: true, schemes },
  }));
}

/** Stands for an image that has not been read yet: the smallest data URL that a schema takes. */
const STAND_IN = 'data:image/png;base64,AAAA';

/**
 * What a body can be checked with before any file is read: addresses as they are, and a stand-in for everything that
 * will be Base64. Throws `usage` for a malformed reference.
 */
export function standInFor({ raw, flag, takes }: MediaInput): string {
  const reference = parseReference(raw, flag);
  if (reference.kind === 'url') return reference.url;
  const isHeld = reference.kind === 'file_id' && takes.schemes.includes('file_id');
  return isHeld ? `file_id:${reference.id}` : STAND_IN;
}

/** Whether a reference names a file on this machine. */
export const isLocalFile = ({ raw, flag }: MediaInput): boolean => parseReference(raw, flag).kind === 'file';
