import { usage } from '../errors.ts';

/** A media reference as it was typed, told apart but not looked at (the contract, "References to media"). */
export type Reference =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'data'; readonly uri: string }
  | { readonly kind: ReferenceScheme; readonly id: string };

/** References to what the gateway already holds; `file_id` is for images of `image edit`. */
export type ReferenceScheme = 'asset' | 'gammafile' | 'file_id';

const forms = 'a file path, an https:// URL, a data: URI, asset://ID or gammafile://ID';
const blankOrControl = /[\s\p{Cc}]/u;
// One letter before the colon is a Windows drive (`C:\photo.png`).
const scheme = /^\s*([A-Za-z][A-Za-z0-9+.-]+):/;

/** A reference or a path for a message: cut where long, as data URIs are. */
export function shorten(raw: string, maxCharacters = 80): string {
  return raw.length <= maxCharacters ? raw : `${raw.slice(0, maxCharacters)}…`;
}

/**
 * Tells what kind of reference `raw` is; `flag` (`--image`) is for messages.
 * Throws `usage` for an empty reference, an unknown scheme, a malformed URL or ID, and white space in either.
 */
export function parseReference(raw: string, flag: string): Reference {
  if (raw === '') throw usage(`${flag} is empty`, `give ${forms}`);
  if (raw.includes('\0')) throw usage(`${flag} has a NUL character in its path`, `give ${forms}`);
  if (raw.startsWith('file_id:')) return { kind: 'file_id', id: idOf(raw, 'file_id:', flag) };
  const name = scheme.exec(raw)?.[1]?.toLowerCase();
  if (name === undefined) return { kind: 'file', path: raw };
  if (name === 'data') return { kind: 'data', uri: raw.trim() };
  if (name === 'http' || name === 'https') return { kind: 'url', url: checkedUrl(raw, flag) };
  if (name === 'asset' || name === 'gammafile') return { kind: name, id: idOf(raw, `${name}://`, flag) };
  if (name === 'file') {
    throw usage(`${flag} ${shorten(raw)}: a file: URL is not taken`, 'give the path itself');
  }
  throw usage(
    `${flag} ${shorten(raw)}: "${shorten(name)}:" is not a scheme that is taken`,
    `give ${forms}; a file whose name has a colon is written ./${shorten(raw, 40)}`,
  );
}

function checkedUrl(raw: string, flag: string): string {
  const named = `${flag} ${shorten(raw)}`;
  if (blankOrControl.test(raw)) {
    throw usage(
      `${named}: the URL holds white space or a control character`,
      'write a blank in a URL as %20',
    );
  }
  const host = /^https?:\/\//i.test(raw) && URL.canParse(raw) ? new URL(raw).hostname : '';
  if (host === '') {
    throw usage(`${named}: not a complete URL`, 'write it out: https://host/path');
  }
  // The gateway's forms begin in lower case; everything after the scheme stays as it was typed.
  return raw.replace(/^https?/i, (typed) => typed.toLowerCase());
}

/** The ID behind the prefix. Which characters an ID may have is the body schema's business. */
function idOf(raw: string, prefix: string, flag: string): string {
  const form = `${prefix}ID`;
  if (raw.slice(0, prefix.length).toLowerCase() !== prefix) {
    throw usage(`${flag} ${shorten(raw)}: not of the form ${form}`, `write ${form}`);
  }
  const id = raw.slice(prefix.length);
  if (id === '' || blankOrControl.test(id) || /[/\\?#]/.test(id)) {
    throw usage(
      `${flag} ${shorten(raw)}: ${id === '' ? 'the ID is missing' : 'an ID has no blanks, slashes, ? or #'}`,
      `write ${form}`,
    );
  }
  return id;
}
