import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { type Host, isObject, machineClock, type Program } from '../host.ts';
import { safeJson } from '../io/escape.ts';
import { main } from '../main.ts';
import type { GwError, GwEvent, GwOptions, GwRun } from './gw-cli.d.ts';

// `import { gw } from 'gw-cli'`: runs gw once for a program, through the same code as the command line.

/** Facts that the launcher passes to the bundle. */
interface Library {
  readonly version: string;
  readonly distDir: string;
  readonly processEnv?: () => NonNullable<GwOptions['env']>;
}

/** The function of the package; runs share resources while any of them is active. */
export function openLibrary({ version, distDir, processEnv = () => ({}) }: Library) {
  const shared = new Map<string, Promise<{ close(): Promise<void> }>>();
  let running = 0;
  const share: Program['share'] = (name, make) => {
    if (!shared.has(name)) shared.set(name, make());
    return shared.get(name) as ReturnType<typeof make>;
  };
  return async (words: readonly string[], asked: GwOptions = {}): Promise<GwRun> => {
    const message = misuse(words, asked);
    if (message) return { exitCode: 2, results: [], error: { kind: 'usage', message, exit_code: 2 } };
    const { onEvent, signal } = asked;
    const env = asked.env ?? processEnv();
    const [stdout, stderr] = [kept(), kept()];
    let fault: GwError | undefined;
    const blame = (thrown: unknown) => {
      const why = thrown instanceof Error ? thrown.message : thrown;
      fault ??= { kind: 'internal', message: `onEvent threw: ${why}`, exit_code: 1 };
    };
    const tell = async (event: object) => onEvent?.(JSON.parse(safeJson(event)) as GwEvent);
    const host: Host = {
      env: { ...env },
      cwd: path.resolve(asked.cwd ?? ''),
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
      const error = errorIn(textIn(stderr)) ?? fault;
      const results = resultsIn(textIn(stdout));
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

/** The fault in a call's words or options, as a sentence; undefined if there is none. */
function misuse(words: unknown, asked: unknown): string | undefined {
  const isText = (value: unknown) => typeof value === 'string';
  const isWord = (word: unknown) => isText(word) || typeof word === 'number';
  if (!Array.isArray(words) || !words.every(isWord)) return 'gw(words) takes a list of words';
  if (!isObject(asked)) return 'gw(words, options): options takes an object';
  const { env, cwd, stdin, signal, onEvent } = asked;
  const isPiped = isText(stdin ?? '') || stdin instanceof Uint8Array || Symbol.asyncIterator in Object(stdin);
  const fits = {
    'env takes an object of texts':
      isObject(env ?? {}) && Object.values(env ?? {}).every((each) => isText(each ?? '')),
    'cwd takes the path of a directory': isText(cwd ?? '') && existsSync(`${cwd ?? ''}/.`),
    'stdin takes a text, bytes or a stream': isPiped,
    'signal takes an AbortSignal': (signal ?? null) === null || 'addEventListener' in Object(signal),
    'onEvent takes a function': typeof (onEvent ?? misuse) === 'function',
  };
  const wrong = Object.entries(fits).find(([, isIt]) => !isIt);
  return wrong && `gw(words, options): ${wrong[0]}`;
}

/** A stream that keeps all output of a run, to be read after the run. */
const kept = () => new PassThrough({ highWaterMark: Number.MAX_SAFE_INTEGER });
const textIn = (stream: PassThrough): string => String(stream.read() ?? '');

function stdinOf(stdin: GwOptions['stdin']): Readable {
  if (stdin instanceof Readable) return stdin;
  const isWhole = typeof stdin === 'string' || stdin instanceof Uint8Array;
  return Readable.from(isWhole ? [Buffer.from(stdin as string)] : (stdin ?? []));
}

/** The first error that a run has printed. */
function errorIn(text: string): GwError | undefined {
  const line = text.split('\n').find((each) => each.startsWith('{"error":')) ?? '{}';
  return (JSON.parse(line) as { readonly error?: GwError }).error;
}

/** Parses JSON values, one per line or over several lines; otherwise returns the whole text. */
function resultsIn(text: string): unknown[] {
  if (text.trim() === '') return [];
  const values: unknown[] = [];
  let open = '';
  for (const line of text.split('\n')) {
    open += open === '' ? line : `\n${line}`;
    // A value over several lines ends at a line that begins with its closing bracket.
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
