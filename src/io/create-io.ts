import { ClosedPipe, GwError } from '../errors.ts';
import type { Clock, Host } from '../host.ts';
import { errorJson, errorLines, reportError, stackLines } from './error-lines.ts';
import { oneLine, safeJson } from './escape.ts';
import type { Io, OutputMode, Table } from './io.ts';
import { LiveRegion, type TerminalCursor } from './live-region.ts';
import type { TerminalPage } from './page.ts';
import { ProgressHub } from './progress.ts';
import { ProgressLines } from './progress-lines.ts';
import { durationText } from './quantity-text.ts';
import { ResultStream, wasClosed } from './result-stream.ts';
import { SecretFilter } from './secret-filter.ts';
import { SideStream } from './side-stream.ts';
import { loadStyle, plainStyle, wantsColor } from './style.ts';
import { wrapMessage } from './wrap.ts';

export interface IoOptions {
  readonly host: Pick<Host, 'stdin' | 'stdout' | 'stderr' | 'env' | 'platform' | 'clock' | 'hideKeys'>;
  readonly mode: OutputMode;
  /** `--no-color`. */
  readonly noColor?: boolean | undefined;
}

/** Verbose lines are longer than messages: a URL, a set of headers. */
const MAX_TRACE = 2_000;

/** Rows of JSON go out in pieces of this many characters. */
const MAX_ROWS_TEXT = 1 << 16;

/** Makes the run's one sink. Writes nothing and loads nothing until it is used. */
export function createIo({ host, mode, noColor = false }: IoOptions): Io {
  const { env, stdout, stderr } = host;
  const stdoutIsTerminal = stdout.isTTY === true;
  const stderrIsTerminal = stderr.isTTY === true;
  const secrets = new SecretFilter();
  const hide = (text: string) => secrets.hide(text);
  const cursor: TerminalCursor = { atLineStart: true };
  const size = () => ({ columns: stderr.columns || 80, rows: stderr.rows || 24 });
  const region =
    mode.bars && stderrIsTerminal
      ? new LiveRegion((text) => void (stderr.destroyed || stderr.write(text)), size, cursor, host.hideKeys)
      : undefined;
  const sideColor = wantsColor(stderrIsTerminal, env, noColor);
  // Results in a pipe are data: not even FORCE_COLOR colours them.
  const resultColor = stdoutIsTerminal && wantsColor(true, env, noColor);
  let page: TerminalPage | undefined;
  let live: LiveRegion | undefined;
  let awaited: Awaited | undefined;
  const side = new SideStream({
    stream: stderr,
    secrets,
    cursor,
    color: sideColor,
    loadStyle,
    region,
    page: () => (stderrIsTerminal && page?.isOpen ? page : undefined),
  });
  const result = new ResultStream({
    stream: stdout,
    secrets,
    before: () => {
      region?.lift();
      return side.settled();
    },
    after: (text) => {
      if (stdoutIsTerminal) cursor.atLineStart = text.endsWith('\n');
    },
  });

  const wrap = (text: string) => (stderrIsTerminal ? wrapMessage(text, size().columns) : text);
  const note = (text: string) => {
    if (!mode.quiet) side.line(() => wrap(oneLine(hide(text))));
  };
  let shownProgress: ProgressHub | undefined;
  const makeProgress = () =>
    new ProgressHub({
      mode,
      hide,
      note,
      openLines: () => new ProgressLines((line) => side.line(() => line), host.clock),
      openBars: async () => {
        if (region === undefined) throw new Error('no terminal to draw on');
        const { openProgressBars } = await import('./progress-bars.ts');
        const style = sideColor ? await loadStyle() : plainStyle;
        const hasUnicode = canShowUnicode(host.platform, env);
        const print = (line: Parameters<SideStream['line']>[0]) => side.line(line, true);
        return openProgressBars({
          stream: stderr,
          region,
          size,
          clock: host.clock,
          print,
          style,
          hasUnicode,
        });
      },
    });
  const trace = (text: string) => {
    if (mode.verbose && !mode.quiet) side.line((style) => style.faint(oneLine(hide(text), MAX_TRACE)), true);
  };

  return {
    mode,
    get stdinIsTerminal() {
      return host.stdin.isTTY === true;
    },
    stdoutIsTerminal,
    stderrIsTerminal,
    out: (text) => result.text(text),
    outStyled: async (make) => result.ownText(make(resultColor ? await loadStyle() : plainStyle)),
    outJson: (value) => result.text(`${safeJson(value)}\n`),
    outJsonRows: async (rows) => {
      let text = '[';
      let between = '';
      for await (const row of rows) {
        text += between + safeJson(row);
        between = ',';
        if (text.length < MAX_ROWS_TEXT) continue;
        await result.text(text);
        text = '';
      }
      await result.text(`${text}]\n`);
    },
    outRaw: (reply) => result.text(reply),
    outBytes: async (bytes) => {
      if (stdoutIsTerminal) throw binaryOnTerminal();
      if (wasClosed(stdout)) throw new ClosedPipe('stdout was closed');
      await result.bytes(bytes);
    },
    outReply: (bytes) => result.filteredBytes(bytes),
    table: async (table) => result.ownText(await tableText(table)),
    liveTable: async () => {
      const screen = () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
      const write = (text: string) => void (stdout.destroyed || stdout.write(text));
      live ??= new LiveRegion(write, screen, { atLineStart: true }, host.hideKeys);
      const shown = live;
      return {
        rows: () => Math.max(1, screen().rows - 2),
        // One column stays free, as under the bars, and two for the ^C that the terminal itself writes.
        draw: async (table) =>
          shown.draw((await tableText(table, screen().columns - 3)).split('\n').slice(0, -1)),
        end: () => shown.end(),
      };
    },
    warn: (text, urgent) => {
      if (urgent || !mode.quiet) {
        const told = wrap(`warning: ${oneLine(hide(text))}`);
        side.line((style) => style.caution('warning:') + told.slice(8), true);
      }
    },
    note,
    aside: (text) => {
      if (!mode.quiet) side.text(text);
    },
    error: (error) => {
      shownProgress?.clear();
      const report = reportError(error);
      if (report === undefined) return;
      if (mode.json) side.line(() => errorJson(report, hide));
      else for (const line of errorLines(report, hide, wrap)) side.line(line, true);
      for (const line of stackLines(error)) trace(line);
    },
    trace,
    hideSecret: (secret) => secrets.add(secret),
    holdsSecret: (text) => secrets.isIn(text),
    withoutSecrets: hide,
    progress() {
      shownProgress ??= makeProgress();
      return shownProgress.open();
    },
    awaiting: (what) => {
      if (region === undefined || mode.quiet) return () => {};
      awaited ??= new Awaited({
        stream: stderr,
        clock: host.clock,
        columns: () => size().columns,
        hasUnicode: canShowUnicode(host.platform, env),
        // Bars say more, and stand in the same place.
        isFree: () => !shownProgress?.isShown,
        draw: (lines) => {
          if (page) page.draw(lines);
          else if (lines.length > 0) region.draw(lines);
          else region.end();
        },
      });
      return awaited.begin(hide(what));
    },
    page: async () => {
      const { TerminalPage } = await import('./page.ts');
      page ??= new TerminalPage({
        stream: stdout,
        secrets,
        cursor,
        hasColor: resultColor,
        hasUnicode: canShowUnicode(host.platform, env),
        canRedraw: stdoutIsTerminal && env.TERM !== 'dumb',
      });
      return page;
    },
    drain: async () => {
      shownProgress?.clear();
      region?.end();
      live?.end();
      page?.close();
      await side.drain();
      await result.drain();
    },
  };

  async function tableText(table: Table, columns = stdout.columns || 80): Promise<string> {
    const { alignedLines, idLines, tabbedLines } = await import('./table-text.ts');
    const safe = hideInTable(table, hide);
    if (mode.quiet) return idLines(safe);
    if (!stdoutIsTerminal) return tabbedLines(safe);
    return alignedLines(safe, columns, resultColor ? await loadStyle() : plainStyle);
  }
}

/** Before cells are cut: half a key is no longer recognised. */
function hideInTable(table: Table, hide: (text: string) => string): Table {
  const rows = table.rows.map(({ id, cells, drawn }) => ({
    id: hide(id),
    cells: cells.map(hide),
    ...(drawn && { drawn: drawn.map(hide) }),
  }));
  return { columns: table.columns, rows };
}

function binaryOnTerminal(): GwError {
  return new GwError('usage', 'gw writes no file to a terminal', {
    hint: 'give a file with -o, or send the output to a pipe or a file',
  });
}

/** Everything but the Linux console and the old Windows one shows block characters. */
function canShowUnicode(platform: NodeJS.Platform, env: Host['env']): boolean {
  if (platform !== 'win32') return env.TERM !== 'linux';
  return env.WT_SESSION !== undefined || env.TERM_PROGRAM !== undefined || env.TERM === 'xterm-256color';
}

/** What was typed about output; `progress` is false after `--no-progress`. */
export interface OutputFlags {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly progress?: boolean | undefined;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && !/^(0|false|off|no)$/i.test(value);
}

/** Settles how a run talks, from the flags, `CI`, `TERM`, `GW_VERBOSE` and the terminal (the contract, section 1). */
export function readOutputMode(flags: OutputFlags, host: Pick<Host, 'env' | 'stderr'>): OutputMode {
  const { env } = host;
  const quiet = flags.quiet ?? false;
  return {
    json: flags.json ?? false,
    quiet,
    verbose: flags.verbose ?? isSet(env.GW_VERBOSE),
    bars:
      host.stderr.isTTY === true &&
      !quiet &&
      flags.progress !== false &&
      !isSet(env.CI) &&
      env.TERM !== 'dumb',
  };
}

/** What comes at once needs no word; what is awaited is said within half a second. */
const AFTER_MS = 300;
const FRAME_MS = 100;
/** Room for the spinner and the time. */
const BESIDE_COLUMNS = 16;

interface AwaitedWorld {
  readonly stream: Host['stderr'];
  readonly clock: Pick<Clock, 'steady'>;
  readonly columns: () => number;
  readonly hasUnicode: boolean;
  /** Whether the foot of the terminal is nobody else's. */
  readonly isFree: () => boolean;
  /** Puts lines at the foot of the terminal; none takes them away. */
  readonly draw: (lines: readonly string[]) => void;
}

interface Wait {
  readonly what: string;
  readonly beganMs: number;
}

/** Says on a terminal what is awaited, and for how long already: of several waits the one that began last. */
class Awaited {
  readonly #waits = new Set<Wait>();
  readonly #world: AwaitedWorld;
  #start: NodeJS.Timeout | undefined;
  #frames: NodeJS.Timeout | undefined;
  #isDrawn = false;

  constructor(world: AwaitedWorld) {
    this.#world = world;
  }

  /** Until the returned function is called: then it is gone. */
  begin(what: string): () => void {
    const wait: Wait = { what, beganMs: this.#world.clock.steady() };
    this.#waits.add(wait);
    this.#start ??= setTimeout(() => void this.#begin(), AFTER_MS);
    return () => {
      this.#waits.delete(wait);
      if (this.#waits.size === 0) this.#end();
    };
  }

  async #begin(): Promise<void> {
    const { stream, hasUnicode, columns, clock, isFree, draw } = this.#world;
    const { default: ora } = await import('ora');
    if (this.#waits.size === 0 || this.#frames !== undefined) return;
    const quiet = { isEnabled: false, discardStdin: false, color: false, hideCursor: false } as const;
    const spinner = ora({ stream, ...quiet });
    const show = () => {
      const wait = [...this.#waits].at(-1);
      if (!isFree() || wait === undefined) {
        this.#isDrawn = false;
        return;
      }
      const mark = hasUnicode ? `${spinner.frame().trim()} ` : '';
      const room = Math.max(10, columns() - BESIDE_COLUMNS);
      draw([`${mark}${oneLine(wait.what, room)} (${durationText(clock.steady() - wait.beganMs)})`]);
      this.#isDrawn = true;
    };
    show();
    this.#frames = setInterval(show, FRAME_MS);
  }

  #end(): void {
    clearTimeout(this.#start);
    clearInterval(this.#frames);
    this.#start = this.#frames = undefined;
    if (this.#isDrawn && this.#world.isFree()) this.#world.draw([]);
    this.#isDrawn = false;
  }
}
