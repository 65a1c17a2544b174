import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted } from '../errors.ts';
import type { Host } from '../host.ts';

/** Asks a yes-or-no question on the terminal; anything but yes counts as no. Throws Interrupted on Ctrl-C. */
export async function confirm(host: Pick<Host, 'stdin' | 'stderr'>, question: string): Promise<boolean> {
  const answer = await readTyped(host, `${question} [y/N] `, { echo: true });
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * Reads one line from the terminal; it goes into no history, and typed characters show only with `echo`. Throws
 * Interrupted on Ctrl-C; an end of input (Ctrl-D) gives an empty text.
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
  // Only an echoed Enter moves the cursor off the question's line.
  let isOpen = true;
  return new Promise<string>((resolve, reject) => {
    lines.once('SIGINT', () => reject(new Interrupted('SIGINT')));
    lines.once('close', () => resolve(''));
    lines.question(question, (typed) => {
      isOpen = !echo;
      resolve(typed);
    });
  }).finally(() => {
    if (isOpen) host.stderr.write('\n');
    lines.close();
  });
}
