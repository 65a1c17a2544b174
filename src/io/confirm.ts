import { createInterface } from 'node:readline';
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
