import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { Interrupted } from '../errors.ts';
import type { Host } from '../host.ts';

/**
 * Asks for a secret on the terminal; what is typed is not echoed, and is not kept in any history.
 * Throws Interrupted on Ctrl-C; an end of input (Ctrl-D) gives an empty text.
 */
export function readSecret(host: Pick<Host, 'stdin' | 'stderr'>, question: string): Promise<string> {
  const mute = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: host.stdin, output: mute, terminal: true, historySize: 0 });
  host.stderr.write(question);
  return new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('SIGINT', () => reject(new Interrupted('SIGINT')));
    lines.once('close', () => resolve(''));
  }).finally(() => {
    host.stderr.write('\n');
    lines.close();
  });
}
