import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted } from '../errors.ts';
import type { Host } from '../host.ts';

/**
 * Asks a question on the terminal and returns whether the answer is yes; anything else, or none, is no.
 * Throws Interrupted on Ctrl-C.
 */
export function confirm(host: Pick<Host, 'stdin' | 'stderr'>, question: string): Promise<boolean> {
  const lines = createInterface({ input: host.stdin, output: host.stderr, terminal: true, historySize: 0 });
  let isEnded = false;
  return new Promise<boolean>((resolve, reject) => {
    lines.once('SIGINT', () => reject(new Interrupted('SIGINT')));
    lines.once('close', () => {
      isEnded = true;
      resolve(false);
    });
    lines.question(`${question} [y/N] `, (answer) => resolve(/^y(es)?$/i.test(answer.trim())));
  }).finally(() => {
    // An end of input leaves the cursor behind the question.
    if (isEnded) host.stderr.write('\n');
    lines.close();
  });
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
  if (echo) {
    lines.setPrompt(question);
    lines.prompt();
  } else host.stderr.write(question);
  return new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('SIGINT', () => reject(new Interrupted('SIGINT')));
    lines.once('close', () => resolve(''));
  }).finally(() => {
    if (!echo) host.stderr.write('\n');
    lines.close();
  });
}
