// The library is imported by name, because in the bundle a dynamic import of it has no names.
import { parse } from 'yaml';
import { readSmallFile } from '../disk/typed-input.ts';
import { usage } from '../errors.ts';
import { isObject } from '../host.ts';
import { decodeUtf8, parseTypedJson } from './decode-utf8.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * Reads the object in a JSON or YAML file, chosen by extension; undefined if it holds another type of value. Throws
 * `usage` if it cannot be read or parsed; `named` is its name in messages.
 */
export async function readObject(
  file: string,
  named: string,
  hint: string,
): Promise<Record<string, unknown> | undefined> {
  const text = decodeUtf8(readSmallFile(file, { named, maxBytes: MAX_BYTES }), named);
  const isJson = /\.json$/i.test(file);
  let value = isJson ? parseTypedJson(text, named, hint) : undefined;
  try {
    if (!isJson) value = parse(text, { logLevel: 'error' });
  } catch (error) {
    const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw usage(`${named}: not YAML: ${why.replace(/:$/, '')}`, hint);
  }
  return isObject(value) ? value : undefined;
}
