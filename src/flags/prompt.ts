import { shellQuote, usage } from '../errors.ts';
import type { Clock, Host } from '../host.ts';
import type { Io } from '../io/io.ts';
import { readPipedPrompt } from '../media/piped-prompt.ts';
import { isFileAt, readTypedText } from '../media/text-input.ts';
import type { CheckedRun } from './breaches.ts';
import { type FlagSet, type FlagValues, flagName } from './flag.ts';
import { type JsonObject, readJsonBody } from './json-body.ts';

interface PromptInput {
  /** The words after the command. */
  readonly words: readonly string[];
  readonly prompt?: string | undefined;
  readonly promptFile?: string | undefined;
  /** The references of the media flags. */
  readonly media: readonly Readonly<{ flag: string; raw: string; many?: true | undefined }>[];
  /** True if the command works without a prompt; then stdin is used only if it is not empty. */
  readonly optional: boolean;
  /** False if the text has another source, so that stdin is not read. */
  readonly mayReadStdin: boolean;
}

/** The parts of a run that a prompt or a body comes from. */
export interface PromptWorld {
  readonly host: Pick<Host, 'cwd' | 'stdin'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly io: Pick<Io, 'note'>;
}

/** The initial body of a request: from --body, else empty. Throws as `readJsonBody`. */
export const baseBody = async ({
  globals: { body = {} },
  host: { cwd, stdin },
  signal,
}: Pick<PromptWorld, 'host' | 'signal'> & Pick<CheckedRun, 'globals'>): Promise<JsonObject> =>
  typeof body === 'object' ? body : readJsonBody(body, { cwd, stdin, signal });

/** The flags that read stdin if their value is `-`; `image` does so for chat alone. */
const stdinKeys = ['messages', 'system', 'systemFile', 'apiKeyFile', 'body', 'prompt', 'promptFile', 'image'];

/**
 * Throws `usage` if two of the flags, or a flag and the prompt's words, ask for stdin, which can be read only once.
 * Returns true if nothing asks for it.
 */
export function refuseSharedStdin(words: readonly string[], given: FlagValues<FlagSet>): boolean {
  const readers = stdinKeys.filter((key) => [given[key]].flat().includes('-')).map(flagName);
  if (words.join(' ') === '-') readers.push('the prompt');
  if (readers.length > 1)
    throw usage(`${readers.join(' and ')} both read stdin`, 'give all but one of them a file');
  return readers.length === 0;
}

/**
 * The prompt from `--prompt TEXT`, `--prompt-file FILE` or the words after the command (only one of them), or from piped
 * stdin if none is given (the contract, section 3). It is sent unchanged. Throws `usage` for an empty prompt, and for a
 * missing one that is required.
 */
export async function readPrompt(input: PromptInput, ctx: PromptWorld): Promise<string | undefined> {
  const { words, prompt: flag, promptFile } = input;
  const by = flag === undefined ? '--prompt-file' : '--prompt';
  if (words.length > 0 && (flag ?? promptFile) !== undefined)
    throw usage(`the prompt was given twice: by ${by} and as words after the command`, 'give it once');
  refuseMediaAmong(words, input.media, ctx.host.cwd);
  const text = flag ?? (words.length > 0 ? words.join(' ') : undefined);
  const typed = { flag: '--prompt', text, file: promptFile };
  const given = await readTypedText(typed, {
    cwd: ctx.host.cwd,
    // Opened only when it is read, because opening takes 2 ms.
    get stdin() {
      return ctx.host.stdin;
    },
    signal: ctx.signal,
    note: (said) => ctx.io.note(said),
  });
  if (given !== undefined) {
    const where = words.length > 0 ? 'the prompt' : [by, promptFile].filter(Boolean).join(' ');
    if (given.trim() === '') throw usage(`${where} is empty`, 'say what to generate');
    return given;
  }
  if (input.mayReadStdin) {
    const onWaiting = () => ctx.io.note('waiting for the prompt on stdin (--prompt TEXT gives it directly)');
    const piped = await readPipedPrompt(ctx.host.stdin, { ...ctx, onWaiting });
    if (piped?.trim()) return piped;
  }
  if (input.optional) return undefined;
  throw noPrompt();
}

export const noPrompt = () =>
  usage('no prompt', 'give it as words, with --prompt TEXT or --prompt-file FILE, or on stdin');

/**
 * A shell expands `--image shots/*` to one picture for the flag and further words for the prompt, so the user would pay
 * for a wrong request. Throws `usage` for a word that is a file or an address beside a media flag.
 */
function refuseMediaAmong(words: readonly string[], media: PromptInput['media'], cwd: string): void {
  const stray = words.filter((word) => /^https?:\/\//i.test(word) || isFileAt(cwd, word));
  const [first] = stray;
  const beside = media.findLast(({ many }) => many) ?? media.at(-1);
  if (first === undefined || beside === undefined) return;
  const { flag, many } = beside;
  const named = media.filter((each) => each.flag === flag).map(({ raw }) => raw);
  const again = [...named, ...stray].map((each) => `${flag} ${shellQuote(each)}`);
  // The list is cut, because a folder may hold thousands of files.
  const more = again.splice(20).length > 0 ? ' …' : '';
  const what = /^https?:\/\//i.test(first) ? 'an address' : 'a file';
  throw usage(
    `${first.slice(0, 200)} is ${what}, and stands among the words of the prompt`,
    `${many ? `repeat the flag: ${again.join(' ')}${more}` : `${flag} takes one`}; a word of the prompt goes with --prompt TEXT`,
  );
}
