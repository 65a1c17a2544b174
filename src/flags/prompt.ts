import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { GwError, usage } from '../errors.ts';
import type { Clock, Host } from '../host.ts';
import type { Io } from '../io/io.ts';
import { readPipedPrompt, readTextInput } from '../media/text-input.ts';

export interface PromptInput {
  /** The words after the command. */
  readonly words: readonly string[];
  readonly flag: string | undefined;
  /** Whether the command can go on without a prompt; then only stdin that holds something is taken. */
  readonly optional: boolean;
  /** False where something else already supplies the text, so that stdin is left alone. */
  readonly mayReadStdin: boolean;
}

/** The part of a run that a prompt comes from. */
export interface PromptWorld {
  readonly host: Pick<Host, 'cwd' | 'stdin'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly io: Pick<Io, 'note'>;
}

/** Stdin can be read once. Throws `usage` where two flags ask for it. */
export function refuseSharedStdin(values: Readonly<Record<string, string | undefined>>): void {
  const readers = Object.entries(values).flatMap(([name, value]) =>
    value === '-' || value === '@-' ? [name] : [],
  );
  if (readers.length < 2) return;
  throw usage(`${readers.join(' and ')} both read stdin`, 'give all but one of them a file');
}

/**
 * The prompt: `--prompt TEXT`, the words after the command (not both), or piped stdin where neither is given
 * (the contract, section 3). Throws `usage` for an empty one, and for none where one is needed.
 */
export async function readPrompt(input: PromptInput, ctx: PromptWorld): Promise<string | undefined> {
  const { words, flag } = input;
  if (flag !== undefined && words.length > 0) {
    throw usage('the prompt was given twice: by --prompt and as words after the command', 'give it once');
  }
  const typed = flag ?? (words.length > 0 ? words.join(' ') : undefined);
  if (typed !== undefined) {
    const where = flag === undefined ? 'the prompt' : '--prompt';
    if (flag === undefined && isFileNamed(typed, ctx.host.cwd)) {
      throw usage(
        `the prompt is ${typed}, and there is a file of that name`,
        `--prompt ${typed} reads it; words after the command are sent as they are`,
      );
    }
    // Words are words: only the flag's value may name a file. A lone dash asks for stdin, as everywhere.
    const prompt =
      flag === undefined && typed !== '-'
        ? typed
        : await readTextInput(typed, where, {
            cwd: ctx.host.cwd,
            stdin: ctx.host.stdin,
            signal: ctx.signal,
          }).catch((error: unknown) => {
            throw typed.startsWith('@') ? withWordsHint(error) : error;
          });
    if (prompt.trim() === '') throw usage(`${where} is empty`, 'say what to generate');
    return prompt;
  }
  const piped = input.mayReadStdin
    ? await readPipedPrompt(ctx.host.stdin, {
        clock: ctx.clock,
        signal: ctx.signal,
        onWaiting: () => ctx.io.note('waiting for the prompt on stdin (--prompt TEXT gives it directly)'),
      })
    : undefined;
  if (piped !== undefined && piped.trim() !== '') return piped;
  if (input.optional) return undefined;
  throw usage('no prompt', 'give it as words, with --prompt TEXT, or on stdin');
}

const isFileNamed = (typed: string, cwd: string): boolean =>
  /^@[^\0]/.test(typed) && existsSync(path.resolve(cwd, typed.slice(1)));

/** A prompt may begin with @ by itself: family B calls its references so. */
function withWordsHint(error: unknown): unknown {
  if (!(error instanceof GwError) || error.kind !== 'usage') return error;
  const hint = 'a prompt that begins with @ goes as words after the command';
  return usage(error.message, [error.facts.hint, hint].filter(Boolean).join('; '));
}
