// The library is imported by name: in the bundle, a late import of it has no names.
import { parse } from 'yaml';
import { readSmallFile } from '../disk/typed-input.ts';
import { usage } from '../errors.ts';
import { isObject } from '../host.ts';
import { decodeUtf8, parseTypedJson } from './decode-utf8.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * The object in a JSON or YAML file, by its ending; undefined where another value stands there. Throws `usage` for a file
 * that cannot be read or parsed; `named` is what messages call it.
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
