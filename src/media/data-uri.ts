import { usage } from '../errors.ts';

/** A data URI taken apart. */
export interface DataUri {
  /** As declared, in lower case; empty where none is. */
  readonly mime: string;
  readonly content: Uint8Array;
}

/**
 * Takes a Base64 data URI apart; `named` is what messages call it.
 * Throws `usage` where it is not Base64, is cut, or is empty.
 */
export function parseDataUri(uri: string, named: string): DataUri {
  const comma = uri.indexOf(',');
  const head = comma < 0 ? uri : uri.slice(0, comma);
  const [mime = '', ...parameters] = head.slice('data:'.length).split(';');
  if (comma < 0 || parameters.at(-1)?.trim().toLowerCase() !== 'base64') {
    throw usage(`${named}: not a Base64 data URI`, 'write data:image/png;base64,… with the type of the file');
  }
  const payload = uri.slice(comma + 1);
  if (payload === '') throw usage(`${named}: the data URI is empty`);
  const digits = payload.search(/[^A-Za-z0-9+/]/);
  const tail = digits < 0 ? '' : payload.slice(digits);
  if (!/^={0,2}$/.test(tail)) {
    const place = `character ${digits + 1} of its data is "${tail.slice(0, 1)}"`;
    throw usage(`${named}: not valid Base64: ${place}`, 'Base64 has A-Z a-z 0-9 + / and = at the end');
  }
  const length = payload.length - tail.length;
  if (length % 4 === 1 || (tail !== '' && payload.length % 4 !== 0)) {
    throw usage(`${named}: not valid Base64: ${payload.length} characters are no whole number of bytes`);
  }
  return { mime: mime.trim().toLowerCase(), content: Buffer.from(payload, 'base64') };
}

/** Bytes as a data URI of the type. */
export function toDataUri(mime: string, content: Uint8Array): string {
  const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
  return `data:${mime};base64,${base64}`;
}

/** Longest `data:<type>;base64,` of a format that the gateway documents. */
const DATA_URI_HEAD_BYTES = 'data:video/quicktime;base64,'.length;

/** What a file of so many bytes comes to as a data URI in a request's body. */
export function dataUriBytes(contentBytes: number): number {
  return DATA_URI_HEAD_BYTES + 4 * Math.ceil(contentBytes / 3);
}
