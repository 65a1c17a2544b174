import { setMaxListeners } from 'node:events';
import { type AnyCommand, type Node, type Outcome, RowStream, ShownRequest } from './command.ts';
import { type Context, makeContext, newAfterSave } from './context.ts';
import { ClosedPipe, Ended, type EndingSignal, GwError, Interrupted, usage } from './errors.ts';
import { type FlagSet, type FlagValues, type GlobalFlags, withValue } from './flags/flag.ts';
import { nearest } from './flags/nearest.ts';
import { chunksOf, type Host, once } from './host.ts';
import { createIo, readOutputMode } from './io/create-io.ts';
import type { Io } from './io/io.ts';
import type { JobEvents } from './jobs/job-events.ts';
import { HelpShown, type Invocation, parseArgv } from './parse-argv.ts';
import { helpTopics, program } from './program.ts';

/** Runs gw once: argv (without node and script) and a host -> the exit code. All errors are caught here. */
export async function main(argv: readonly string[], host: Host): Promise<number> {
  let io = ioFor(argvGlobals(argv, host), host);
  try {
    const words = helpLast(argv);
    const invocation = await parseArgv(host.program ? ['--json', ...words] : words, program, {
      columns: host.stdout.columns,
      version: host.build ?? host.version,
    });
    io = ioFor(invocation.input.globals, host);
    const code = await runCommand(invocation, argv, io, host);
    if (invocation.input.globals.notify) ring(invocation.path, code, host);
    return code;
  } catch (error) {
    if (error instanceof HelpShown) return await finish(io, 0, () => io.outStyled(error.text));
    return await finish(io, exitCodeOf(error), () => io.error(error));
  }
}

/** Rings the bell and sends a desktop notification in the two sequences that terminals know (OSC 9 and 777). */
function ring(path: readonly string[], code: number, { stderr, env }: Host): void {
  if (stderr.isTTY !== true || env.TERM === 'dumb') return;
  const text = `gw ${path.join(' ')}: ${code === 0 ? 'done' : `ended with exit code ${code}`}`;
  stderr.write(`\u0007\u001b]9;${text}\u0007\u001b]777;notify;gw;${text}\u0007`);
}

function ioFor(globals: GlobalFlags, host: Host): Io {
  const io = createIo({ host, mode: readOutputMode(globals, host), noColor: globals.color === false });
  // The key is hidden even if it is not used: it may have been typed somewhere by mistake.
  if (host.env.GW_API_KEY) io.hideSecret(host.env.GW_API_KEY);
  return io;
}

async function runCommand(
  { command, input: typed, path }: Invocation,
  argv: readonly string[],
  io: Io,
  host: Host,
): Promise<number> {
  const presets = once(() => import('./presets.ts'));
  const called = { path, command };
  const isNamed = typed.globals.preset !== undefined;
  const preset = isNamed ? await (await presets()).withPreset(typed, called, host, io, program) : typed;
  const abort = new AbortController();
  // Hundreds of jobs may listen to this signal, and Node would warn of a leak.
  setMaxListeners(0, abort.signal);
  const events = await eventsOf(preset.flags, command, io, host);
  const stopListening = listen(abort, io, host, events);
  const { ctx, close } = makeContext({
    host,
    io,
    globals: typed.globals,
    argv,
    events,
    afterSave: newAfterSave(),
    signal: abort.signal,
  });
  const codes: number[] = [];
  const show = async (outcome: Outcome<unknown>) => {
    const isTold = events && !(outcome.value instanceof ShownRequest);
    if (isTold) await tell(outcome, events, io);
    // A program gets the result in addition to its events.
    if ('value' in outcome && (!isTold || host.program?.onEvent)) await print(command, outcome, ctx);
    if (outcome.error !== undefined) io.error(outcome.error);
    codes.push(outcome.error === undefined ? 0 : exitCodeOf(outcome.error));
  };
  const stop = (error: unknown): never => {
    // Nothing new begins; a generator that ends now waits only for what is already paid.
    abort.abort(new Ended('SIGTERM'));
    throw error;
  };
  const endAfterSave = async () => {
    for (const error of await ctx.afterSave.ended()) {
      io.error(error);
      codes.push(exitCodeOf(error));
    }
  };
  try {
    const defaults = command.sends === 'body' ? (await ctx.settings()).defaults : undefined;
    const input = defaults ? (await presets()).withDefaults(preset, called, defaults) : preset;
    ctx.afterSave.command = input.flags.exec as string | undefined;
    const result = command.run(input, { ...ctx, outputs: input.outputs });
    if (Symbol.asyncIterator in result) for await (const outcome of result) await show(outcome).catch(stop);
    else await show(await result);
    await endAfterSave();
    await events?.close();
    return await finish(io, combine(codes));
  } catch (error) {
    // Work that still runs is aborted: it must not begin anything new, or wait forever.
    abort.abort(new Ended('SIGTERM'));
    return await finish(io, exitCodeOf(error), async () => {
      io.error(error);
      await endAfterSave();
      if (events && !(error instanceof ClosedPipe)) await tell({ error }, events, io);
      await events?.close();
    });
  } finally {
    await close();
    stopListening();
  }
}

/** The receiver of all events, for `--events` and for a program; loaded only if needed. */
async function eventsOf(
  flags: FlagValues<FlagSet>,
  command: AnyCommand,
  io: Io,
  { clock, program: runner }: Host,
): Promise<JobEvents | undefined> {
  const { onEvent } = runner ?? {};
  if (flags.events !== true && !(onEvent && 'events' in command.flags)) return undefined;
  const { JobEvents } = await import('./jobs/job-events.ts');
  return new JobEvents({ write: async (event) => (onEvent ? onEvent(event) : io.outJson(event)), clock });
}

async function tell({ value, error }: Outcome<unknown>, events: JobEvents, io: Io): Promise<void> {
  const { reportError, safeReport } = await import('./io/error-lines.ts');
  const told = error === undefined ? undefined : reportError(error);
  await events.ended(
    value as Parameters<JobEvents['ended']>[0],
    told && safeReport(told, (text) => io.withoutSecrets(text)),
  );
}

async function print(command: AnyCommand, { value, error }: Outcome<unknown>, ctx: Context): Promise<void> {
  const { io } = ctx;
  if (value instanceof ShownRequest) {
    await (io.mode.json ? io.outJson(value.json()) : io.out(value.text()));
    return;
  }
  if (io.mode.json) {
    if (value instanceof RowStream) await io.outJsonRows(value.rows);
    else if (command.raw) await io.out(command.raw(value));
    else await io.outJson(value);
    return;
  }
  // On a terminal the columns fit the widest row, so all rows are read first.
  const most = io.stdoutIsTerminal ? Number.POSITIVE_INFINITY : ROWS_AT_ONCE;
  for await (const part of value instanceof RowStream ? chunksOf(value.rows, most) : [value]) {
    const shown = await command.human(part, ctx, error !== undefined);
    await (typeof shown === 'string' ? io.out(shown) : io.table(shown));
  }
}

const ROWS_AT_ONCE = 256;

/** The exit code of several outcomes: an interrupt's, 0 if all succeeded, their common code, else `partial`. */
function combine(codes: readonly number[]): number {
  const [first = 0, ...rest] = codes;
  const interrupted = codes.find((code) => code > 128);
  if (interrupted !== undefined) return interrupted;
  return rest.every((code) => code === first) ? first : new GwError('partial', '').exitCode;
}

/** The first interrupt aborts the run's signal; the second ends the process. */
function listen(abort: AbortController, io: Io, host: Host, events?: JobEvents): () => void {
  return host.onSignal((signal: EndingSignal) => {
    const reason = new Interrupted(signal);
    if (abort.signal.aborted) {
      // The drain restores the cursor synchronously and writes as much pending output as stdout accepts.
      void Promise.allSettled([io.drain(), events?.close()]);
      return void setImmediate(() => host.endNow(reason.exitCode));
    }
    abort.abort(reason);
  });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof GwError || error instanceof Interrupted) return error.exitCode;
  return error instanceof ClosedPipe ? 0 : 1;
}

/** Runs the last step and waits until the streams are flushed: an early exit would lose output. */
async function finish(io: Io, code: number, last?: () => Promise<void> | void): Promise<number> {
  try {
    await last?.();
    await io.drain();
    return code;
  } catch (error) {
    io.error(error);
    return code === 0 ? exitCodeOf(error) : code;
  }
}

/** The options that decide how an error of the parser itself is shown. */
function argvGlobals(argv: readonly string[], host: Host) {
  const before = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  return {
    json: host.program !== undefined || before.includes('--json'),
    ...(before.includes('--no-color') && { color: false }),
  };
}

/** Rewrites `gw help video alpha` to `gw video alpha --help`; help topics have their own command. */
function helpLast(argv: readonly string[]): readonly string[] {
  const [first, ...words] = argv;
  if (first !== 'help' || words[0] === 'man' || helpTopics.includes(words[0] ?? '')) return argv;
  let { children }: Node = program;
  for (const [at, word] of words.entries()) {
    const next = children?.find(({ name }) => name === word);
    // An unknown word stays after its group, so that the group's error names it.
    if (word.startsWith('-') || (at > 0 && children && !next)) break;
    if (!next) {
      const known = [...(children ?? []).map(({ name }) => name), ...helpTopics];
      const [near] = at > 0 ? [words.slice(0, at).join(' ')] : nearest(word, known);
      throw usage(
        withValue('there is no help on', words.slice(0, at + 1).join(' ')),
        near ? `did you mean gw help ${near}?` : 'for the commands: gw; for the topics: gw help help',
      );
    }
    ({ children } = next);
  }
  return [...words, '--help'];
}
