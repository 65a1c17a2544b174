import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted } from '../errors.ts';
import type { Host } from '../host.ts';

/**
 * Asks a question on the terminal and returns whether the answer is yes; anything else, or none, is no.
 * Throws Interrupted on Ctrl-C.
 */
export async function confirm(host: Pick<Host, 'stdin' | 'stderr'>, question: string): Promise<boolean> {
  const answer = await readTyped(host, `${question} [y/N] `, { echo: true });
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * Asks for one line on the terminal; it is kept in no history, and what is typed shows only with `echo`.
 * Throws Interrupted on Ctrl-C; an end of input (Ctrl-D) gives an empty text.
 */
export function readTyped(
  host: Pick<Host, 'stdin' | 'stderr'>,
  question: string,
  { echo }: { readonly echo: boolean },
): Promise<string> {
  const mute = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = echo ? host.stderr : mute;
  const lines = createInterface({ input: host.stdin, output, terminal: true, historySize: 0 });
  if (!echo) host.stderr.write(question);
  // What is not echoed, and an end of input, leaves the cursor behind the question.
  let isOpen = !echo;
  return new Promise<string>((resolve, reject) => {
    lines.once('SIGINT', () => reject(new Interrupted('SIGINT')));
    lines.once('close', () => {
      isOpen = true;
      resolve('');
    });
    lines.question(question, resolve);
  }).finally(() => {
    if (isOpen) host.stderr.write('\n');
    lines.close();
  });
}
