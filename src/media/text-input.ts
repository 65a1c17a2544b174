import { statSync } from 'node:fs';
import * as path from 'node:path';
import { readInputStream, readTypedFile } from '../disk/typed-input.ts';
import { usage } from '../errors.ts';
import { MB } from '../gateway/limits.ts';
import { type Host, quietly } from '../host.ts';
import { decodeUtf8 } from './decode-utf8.ts';

/** Much longer than any documented prompt; a wrong file is refused before it fills the memory. */
export const MAX_TEXT_BYTES = 16 * MB;

export type Stdin = Host['stdin'];

interface TextInputDeps {
  readonly cwd: string;
  readonly stdin: Stdin;
  readonly signal?: AbortSignal | undefined;
}

/** The typed source of a text: the text itself, or a file that holds it. */
interface TypedText {
  /** The flag, such as `--prompt`; the flag of its file has the suffix `-file`. */
  readonly flag: string;
  readonly text: string | undefined;
  readonly file: string | undefined;
}

/**
 * The text of a flag or of its `-file` twin (the contract, section 2). A text is literal; the value `-` of either means
 * stdin; undefined if neither was typed. A byte order mark and one final newline of a file or of stdin are removed.
 * Throws `usage` if both were typed, and for a file that is missing, a directory, unreadable, over 16 MB or not UTF-8.
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

/** The existing file that a text of the form `@NAME` may mean, as in other programs; undefined if there is none. */
function namedByText(text: string, cwd: string): string | undefined {
  const name = text.startsWith('@') ? text.slice(1) : '';
  return name !== '' && isFileAt(cwd, name) ? name : undefined;
}

export const isFileAt = (cwd: string, word: string): boolean =>
  quietly(() => statSync(path.resolve(cwd, word)).isFile()) ?? false;

/** The text in a file; `named` is its name in messages. Throws as {@link readTypedText}. */
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
