import * as path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { type Host, machineClock, type Program } from '../host.ts';
import { safeJson } from '../io/escape.ts';
import { main } from '../main.ts';
import type { GwError, GwEvent, GwOptions, GwRun } from './gw-cli.d.ts';

// `import { gw } from 'gw-cli'`: one run of gw for a program, which is what the command line is too.

/** What the launcher knows and the bundle does not; it also says which environment and directory are meant. */
interface Library {
  readonly version: string;
  readonly distDir: string;
}
type Asked = GwOptions & Required<Pick<GwOptions, 'env' | 'cwd'>>;

/** The function of the package; its runs share what they can while any of them goes on. */
export function openLibrary({ version, distDir }: Library) {
  const shared = new Map<string, Promise<{ close(): Promise<void> }>>();
  let running = 0;
  const share: Program['share'] = (name, make) => {
    if (!shared.has(name)) shared.set(name, make());
    return shared.get(name) as ReturnType<typeof make>;
  };
  return async (words: readonly string[], asked: Asked): Promise<GwRun> => {
    const isWord = (word: unknown) => typeof word === 'string' || typeof word === 'number';
    if (!Array.isArray(words) || !words.every(isWord)) return { exitCode: 2, results: [], error: noWords };
    const { env, cwd, onEvent, signal } = asked;
    const [stdout, stderr] = [new Kept(), new Kept()];
    let fault: GwError | undefined;
    const blame = (thrown: unknown) => {
      const why = thrown instanceof Error ? thrown.message : thrown;
      fault ??= { kind: 'internal', message: `onEvent threw: ${why}`, exit_code: 1 };
    };
    const tell = async (event: object) => onEvent?.(JSON.parse(safeJson(event)) as GwEvent);
    const host: Host = {
      env: { ...env },
      cwd: path.resolve(cwd),
      platform: process.platform,
      homeDir: env.HOME ?? env.USERPROFILE,
      version,
      assetsDir: distDir,
      stdin: stdinOf(asked.stdin),
      stdout,
      stderr,
      clock: machineClock,
      random: Math.random,
      mayTouchFlags: () => false,
      guardTerminal: async () => () => {},
      endNow: () => {},
      program: { share, ...(onEvent && { onEvent: (event) => tell(event).catch(blame) }) },
      onSignal: (heard) => {
        const listener = () => heard('SIGINT');
        if (signal?.aborted) listener();
        signal?.addEventListener('abort', listener, { once: true });
        return () => signal?.removeEventListener('abort', listener);
      },
    };
    running += 1;
    try {
      const exitCode = await main(words.map(String), host);
      const error = errorIn(stderr.text()) ?? fault;
      const results = resultsIn(stdout.text());
      return { exitCode: exitCode || (fault ? 1 : 0), results, ...(error && { error }) };
    } finally {
      running -= 1;
      if (running === 0) {
        const last = [...shared.values()];
        shared.clear();
        for (const each of last) await (await each.catch(() => undefined))?.close();
      }
    }
  };
}

const noWords: GwError = { kind: 'usage', message: 'gw(words) takes a list of words', exit_code: 2 };

class Kept extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

function stdinOf(stdin: GwOptions['stdin']): Readable {
  if (stdin instanceof Readable) return stdin;
  const isWhole = typeof stdin === 'string' || stdin instanceof Uint8Array;
  return Readable.from(isWhole ? [Buffer.from(stdin as string)] : (stdin ?? []));
}

/** The first error that a run has told of. */
function errorIn(text: string): GwError | undefined {
  const line = text.split('\n').find((each) => each.startsWith('{"error":')) ?? '{}';
  return (JSON.parse(line) as { readonly error?: GwError }).error;
}

/** Values of JSON, one a line or each over several; else the whole as one text. */
function resultsIn(text: string): unknown[] {
  if (text.trim() === '') return [];
  const values: unknown[] = [];
  let open = '';
  for (const line of text.split('\n')) {
    open += open === '' ? line : `\n${line}`;
    // A value that has begun on an earlier line ends on one that begins with its bracket.
    if (open.trim() === '' || (open !== line && !/^[}\]]/.test(line))) continue;
    try {
      values.push(JSON.parse(open));
      open = '';
    } catch {
      if (!/^\s*[[{]/.test(open)) return [text];
    }
  }
  return open.trim() === '' ? values : [text];
}
