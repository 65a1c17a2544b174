import { statSync } from 'node:fs';
import * as path from 'node:path';
import { readInputStream, readTypedFile } from '../disk/typed-input.ts';
import { usage } from '../errors.ts';
import { MB } from '../gateway/limits.ts';
import type { Host } from '../host.ts';
import { decodeUtf8 } from './decode-utf8.ts';

/** Far beyond any prompt that the gateway documents; a wrong file is told before it fills the memory. */
export const MAX_TEXT_BYTES = 16 * MB;

export type Stdin = Host['stdin'];

export interface TextInputDeps {
  readonly cwd: string;
  readonly stdin: Stdin;
  readonly signal?: AbortSignal | undefined;
}

/** What was typed for a text: the text itself, or the file that holds it. */
interface TypedText {
  /** `--prompt`, `--system`: its file stands behind the flag of the same name with `-file`. */
  readonly flag: string;
  readonly text: string | undefined;
  readonly file: string | undefined;
}

/**
 * The text of a flag and of its `-file` twin (the contract, section 2): a text is literal, whatever it begins with, and `-` as
 * the whole value of either is stdin; undefined where neither was typed. A byte order mark and one newline at the end of a
 * file or of stdin are left out. Throws `usage` for both at once, and for a file that is missing, a directory, unreadable,
 * over 16 MB or not UTF-8.
 */
export async function readTypedText(
  { flag, text, file }: TypedText,
  deps: TextInputDeps & { readonly note: (text: string) => void },
): Promise<string | undefined> {
  const fileFlag = `${flag}-file`;
  if (text !== undefined && file !== undefined)
    throw usage(`${flag} and ${fileFlag} both give the text`, 'give one of them');
  if (text === '-') return readStdinText(deps.stdin, `${flag} -`, deps.signal);
  if (text !== undefined) {
    const name = namedByText(text, deps.cwd);
    if (name !== undefined)
      deps.note(`${text} is sent as it stands; ${fileFlag} ${name} sends what the file holds`);
    return text;
  }
  if (file === undefined) return undefined;
  if (file === '-') return readStdinText(deps.stdin, `${fileFlag} -`, deps.signal);
  if (file === '') throw usage(`${fileFlag} is empty`, 'give the name of a file, or - for stdin');
  return readTextFile(file, `${fileFlag} ${file}`, deps);
}

/** The file that a text of the form `@NAME` may have meant: other programs read it. Undefined where there is none. */
function namedByText(text: string, cwd: string): string | undefined {
  const name = text.startsWith('@') ? text.slice(1) : '';
  return isFileAt(cwd, name) ? name : undefined;
}

export function isFileAt(cwd: string, word: string): boolean {
  try {
    return statSync(path.resolve(cwd, word)).isFile();
  } catch {
    return false;
  }
}

/** The text in a file; `named` is what messages call it. Throws as {@link readTypedText}. */
export async function readTextFile(
  file: string,
  named: string,
  { cwd, signal }: Pick<TextInputDeps, 'cwd' | 'signal'>,
  read: (...asked: Parameters<typeof readTypedFile>) => Uint8Array | Promise<Uint8Array> = readTypedFile,
): Promise<string> {
  const options = { named, maxBytes: MAX_TEXT_BYTES, signal };
  return textOf(await read(path.resolve(cwd, file), options), named);
}

async function readStdinText(stdin: Stdin, named: string, signal: AbortSignal | undefined): Promise<string> {
  if (stdin.readableEnded || stdin.destroyed)
    throw usage(`${named}: stdin has been read already`, 'only one flag of a command can take stdin');
  return textOf(await readInputStream(stdin, { named, maxBytes: MAX_TEXT_BYTES, signal }), named);
}

export function textOf(bytes: Uint8Array, named: string): string {
  return decodeUtf8(bytes, named).replace(/\r?\n$/, '');
}
