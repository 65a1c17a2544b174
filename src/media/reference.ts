import { usage, withoutPasswords } from '../errors.ts';

/** A parsed media reference, not yet looked up (the contract, "References to media"). */
export type Reference =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'data'; readonly uri: string }
  | OutputReference
  | { readonly kind: ReferenceScheme; readonly id: string };

/** An output of an earlier job, or of another row of a manifest. */
export interface OutputReference {
  readonly kind: 'job' | 'row';
  readonly which: string;
  readonly part?: OutputPart | undefined;
}

/** Which output of a job; `at` counts from 1 if there are several. */
export interface OutputPart {
  readonly name: (typeof partNames)[number];
  readonly at: number;
}

const partNames = ['video', 'image', 'audio', 'first_frame', 'last_frame'] as const;
const partAtEnd = new RegExp(`^([\\s\\S]*)#(${partNames.join('|')})(?:\\.(\\d{1,4}))?$`);

/** The typed form of a part: `last_frame`, `image.2`. */
export const partText = ({ name, at }: OutputPart): string => (at === 1 ? name : `${name}.${at}`);

/** References to files that the gateway already holds; `file_id` is for images of `image edit`. */
export type ReferenceScheme = 'asset' | 'gammafile' | 'file_id';

const forms = 'a file path, an https:// URL, a data: URI, asset://ID, gammafile://ID or job:ID';
// \p{Cc} is avoided, because loading its table costs a third of a millisecond at each start.
const blankOrControl = /[\s\x00-\x1f\x7f-\x9f]/;
// At least two letters: a single one before the colon is a Windows drive (`C:\photo.png`).
const scheme = /^\s*([A-Za-z][A-Za-z0-9+.-]+):/;

/** A reference or a path for a message, without a password, and shortened if it is long, as data URIs are. */
export function shorten(raw: string, maxCharacters = 80): string {
  const told = withoutPasswords(raw);
  return told.length <= maxCharacters ? told : `${told.slice(0, maxCharacters)}…`;
}

/**
 * Parses a reference; `flag` (`--image`) is for messages. Throws `usage` for an empty reference, an unknown scheme, a
 * malformed URL or ID, and white space in either.
 */
export function parseReference(raw: string, flag: string): Reference {
  if (raw === '') throw usage(`${flag} is empty`, `give ${forms}`);
  if (raw.includes('\0')) throw usage(`${flag} has a NUL character in its path`, `give ${forms}`);
  if (raw.startsWith('file_id:')) return { kind: 'file_id', id: idOf(raw, 'file_id:', flag) };
  const name = scheme.exec(raw)?.[1]?.toLowerCase();
  if (name === undefined) return { kind: 'file', path: raw };
  if (name === 'data') return { kind: 'data', uri: raw.trim() };
  if (name === 'http' || name === 'https') return { kind: 'url', url: checkedUrl(raw, flag) };
  if (name === 'job' || name === 'row') return outputReference(name, raw.trimStart().slice(4), flag);
  if (name === 'asset' || name === 'gammafile') return { kind: name, id: idOf(raw, `${name}://`, flag) };
  if (name === 'file')
    throw usage(`${flag} ${shorten(raw)}: gw does not take a file: URL`, 'give the path itself');
  throw usage(
    `${flag} ${shorten(raw)}: "${shorten(name)}:" is not a scheme that gw can send`,
    `give ${forms}; a file whose name has a colon is written ./${shorten(raw, 40)}`,
  );
}

function checkedUrl(raw: string, flag: string): string {
  const named = `${flag} ${shorten(raw)}`;
  if (blankOrControl.test(raw))
    throw usage(
      `${named}: the URL holds white space or a control character`,
      'write a blank in a URL as %20',
    );
  const host = /^https?:\/\//i.test(raw) && URL.canParse(raw) ? new URL(raw).hostname : '';
  if (host === '') throw usage(`${named}: not a complete URL`, 'write it out: https://host/path');
  // The gateway expects schemes in lower case; the rest stays as typed.
  return raw.replace(/^https?/i, (typed) => typed.toLowerCase());
}

/** Parses an output reference; a `#` without a known part after it belongs to the name itself. */
function outputReference(kind: 'job' | 'row', rest: string, flag: string): OutputReference {
  const [, which = rest, name, at = '1'] = partAtEnd.exec(rest) ?? [];
  const named = `${flag} ${kind}:${shorten(rest)}`;
  if (which === '')
    throw usage(
      `${named}: names no ${kind}`,
      `write ${kind}:ID, or ${kind}:ID#PART with one of ${partNames.join(', ')}`,
    );
  if (Number(at) === 0) throw usage(`${named}: parts are counted from 1`, `write #${name} or #${name}.2`);
  const part = partNames.find((each) => each === name);
  return { kind, which, part: part && { name: part, at: Number(at) } };
}

/** The ID after the prefix. The body schema decides which characters an ID may have. */
function idOf(raw: string, prefix: string, flag: string): string {
  const form = `${prefix}ID`;
  if (raw.slice(0, prefix.length).toLowerCase() !== prefix)
    throw usage(`${flag} ${shorten(raw)}: not of the form ${form}`, `write ${form}`);
  const id = raw.slice(prefix.length);
  if (id === '' || blankOrControl.test(id) || /[/\\?#]/.test(id))
    throw usage(
      `${flag} ${shorten(raw)}: ${id === '' ? 'the ID is missing' : 'an ID has no blanks, slashes, ? or #'}`,
      `write ${form}`,
    );
  return id;
}

interface DataUri {
  /** The declared type in lower case; empty if there is none. */
  readonly mime: string;
  readonly content: Uint8Array;
}

/**
 * Parses a Base64 data URI; `named` is its name in messages. Throws `usage` if it is not Base64, truncated, or empty.
 */
export function parseDataUri(uri: string, named: string): DataUri {
  const comma = uri.indexOf(',');
  const head = comma < 0 ? uri : uri.slice(0, comma);
  const [mime = '', ...parameters] = head.slice('data:'.length).split(';');
  if (comma < 0 || parameters.at(-1)?.trim().toLowerCase() !== 'base64')
    throw usage(`${named}: not a Base64 data URI`, 'write data:image/png;base64,… with the type of the file');
  const payload = uri.slice(comma + 1);
  if (payload === '') throw usage(`${named}: the data URI is empty`);
  const digits = payload.search(/[^A-Za-z0-9+/]/);
  const tail = digits < 0 ? '' : payload.slice(digits);
  if (!/^={0,2}$/.test(tail)) {
    const place = `character ${digits + 1} of its data is "${tail.slice(0, 1)}"`;
    throw usage(`${named}: not valid Base64: ${place}`, 'Base64 has A-Z a-z 0-9 + / and = at the end');
  }
  if ((payload.length - tail.length) % 4 === 1 || (tail !== '' && payload.length % 4 !== 0))
    throw usage(`${named}: not valid Base64: ${payload.length} characters are no whole number of bytes`);
  return { mime: mime.trim().toLowerCase(), content: Buffer.from(payload, 'base64') };
}

export function toDataUri(mime: string, content: Uint8Array): string {
  const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64');
  return `data:${mime};base64,${base64}`;
}

/** The longest `data:<type>;base64,` of any format that the gateway documents. */
const DATA_URI_HEAD_BYTES = 'data:video/quicktime;base64,'.length;

/** The size of a file as a data URI in a request's body. */
export function dataUriBytes(contentBytes: number): number {
  return DATA_URI_HEAD_BYTES + 4 * Math.ceil(contentBytes / 3);
}
