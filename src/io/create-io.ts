import { ClosedPipe, GwError } from '../errors.ts';
import { type Host, sizeOf } from '../host.ts';
import { Awaited } from './awaited.ts';
import { errorJson, errorLines, reportError, stackLines } from './error-lines.ts';
import { oneLine, safeJson } from './escape.ts';
import type { Io, OutputMode, Table } from './io.ts';
import { LiveRegion, type TerminalCursor } from './live-region.ts';
import type { Page } from './page.ts';
import { ProgressHub } from './progress.ts';
import { ProgressLines } from './progress-lines.ts';
import { ResultStream, wasClosed } from './result-stream.ts';
import { SecretFilter } from './secret-filter.ts';
import { SideStream } from './side-stream.ts';
import { canShowUnicode, loadStyle, plainStyle, type Style, wantsColor } from './style.ts';
import { wrapMessage } from './wrap.ts';

export interface IoOptions {
  readonly host: Pick<Host, 'stdin' | 'stdout' | 'stderr' | 'env' | 'platform' | 'clock' | 'holdTerminal'>;
  readonly mode: OutputMode;
  readonly noColor?: boolean | undefined;
}

/** Verbose lines may be longer than messages: a URL, a set of headers. */
const MAX_TRACE = 2_000;

/** Rows of JSON are written in pieces of this many characters. */
const MAX_ROWS_TEXT = 1 << 16;

/** The run's only output. It writes and loads nothing until it is used; copies with other parts can be made. */
class RunIo implements Io {
  readonly mode: OutputMode;
  readonly stdoutIsTerminal: boolean;
  readonly stderrIsTerminal: boolean;
  readonly #host: IoOptions['host'];
  readonly #secrets = new SecretFilter();
  readonly #cursor: TerminalCursor = { atLineStart: true };
  readonly #region: LiveRegion | undefined;
  readonly #sideColor: boolean;
  readonly #resultColor: boolean;
  readonly #side: SideStream;
  readonly #result: ResultStream;
  #page: Page | undefined;
  #live: LiveRegion | undefined;
  #awaited: Awaited | undefined;
  #progress: ProgressHub | undefined;

  constructor({ host, mode, noColor = false }: IoOptions) {
    const { env, stdout, stderr } = host;
    this.#host = host;
    this.mode = mode;
    this.stdoutIsTerminal = stdout.isTTY === true;
    this.stderrIsTerminal = stderr.isTTY === true;
    if (mode.bars && this.stderrIsTerminal) this.#region = liveRegionOn(stderr, this.#cursor, host);
    this.#sideColor = wantsColor(this.stderrIsTerminal, env, noColor);
    // Results in a pipe are data, so not even FORCE_COLOR colours them.
    this.#resultColor = this.stdoutIsTerminal && wantsColor(true, env, noColor);
    this.#side = new SideStream({
      stream: stderr,
      secrets: this.#secrets,
      cursor: this.#cursor,
      color: this.#sideColor,
      region: this.#region,
      page: () => (this.stderrIsTerminal && this.#page?.isOpen ? this.#page : undefined),
    });
    this.#result = new ResultStream({
      stream: stdout,
      secrets: this.#secrets,
      before: () => {
        this.#region?.lift();
        return this.#side.settled();
      },
      after: (text) => {
        if (this.stdoutIsTerminal) this.#cursor.atLineStart = text.endsWith('\n');
      },
    });
  }

  readonly out = (text: string | Uint8Array) => this.#result.text(text);
  readonly outStyled = async (make: (style: Style) => string) =>
    this.#result.ownText(make(await this.#resultStyle()));
  readonly outJson = (value: unknown) => this.#result.text(`${safeJson(value)}\n`);
  readonly outJsonRows = async (rows: AsyncIterable<unknown>) => {
    let text = '[';
    let between = '';
    for await (const row of rows) {
      text += between + safeJson(row);
      between = ',';
      if (text.length < MAX_ROWS_TEXT) continue;
      await this.#result.text(text);
      text = '';
    }
    await this.#result.text(`${text}]\n`);
  };
  readonly outBytes = async (bytes: Uint8Array) => {
    if (this.stdoutIsTerminal) throw binaryOnTerminal();
    if (wasClosed(this.#host.stdout)) throw new ClosedPipe('stdout was closed');
    await this.#result.bytes(bytes);
  };
  readonly outReply = (bytes: Uint8Array) => this.#result.filteredBytes(bytes);
  readonly table = async (table: Table) => this.#result.ownText(await this.#tableText(table));
  readonly liveTable = async () => {
    const { stdout } = this.#host;
    this.#live ??= liveRegionOn(stdout, { atLineStart: true }, this.#host);
    const shown = this.#live;
    return {
      rows: () => Math.max(1, sizeOf(stdout).rows - 2),
      // One column stays free, as under the bars, plus two for the ^C that the terminal itself writes.
      draw: async (table: Table) =>
        shown.draw((await this.#tableText(table, sizeOf(stdout).columns - 3)).split('\n').slice(0, -1)),
      end: () => shown.end(),
    };
  };
  readonly warn = (text: string, urgent?: 'urgent') => {
    if (this.mode.quiet && !urgent) return;
    const told = this.#wrap(`warning: ${oneLine(this.withoutSecrets(text))}`);
    this.#side.line((style) => style.caution('warning:') + told.slice(8), true);
  };
  readonly note = (text: string, urgent?: 'urgent') => {
    if (!this.mode.quiet || urgent) this.#side.line(() => this.#wrap(oneLine(this.withoutSecrets(text))));
  };
  readonly aside = (text: string) => this.#side.text(text);
  readonly error = (error: unknown) => {
    this.#progress?.clear();
    const report = reportError(error);
    if (report === undefined) return;
    if (this.mode.json) this.#side.line(() => errorJson(report, this.withoutSecrets));
    else
      for (const line of errorLines(report, this.withoutSecrets, (text) => this.#wrap(text)))
        this.#side.line(line, true);
    for (const line of stackLines(error)) this.trace(line);
  };
  readonly trace = (text: string) => {
    if (this.mode.verbose)
      this.#side.line((style) => style.faint(oneLine(this.withoutSecrets(text), MAX_TRACE)), true);
  };
  readonly hideSecret = (secret: string) => this.#secrets.add(secret);
  readonly holdsSecret = (text: string) => this.#secrets.isIn(text);
  readonly withoutSecrets = (text: string) => this.#secrets.hide(text);
  readonly progress = () => {
    this.#progress ??= new ProgressHub({
      mode: this.mode,
      hide: this.withoutSecrets,
      note: this.note,
      openLines: () => new ProgressLines((line) => this.#side.line(() => line), this.#host.clock),
      openBars: () => this.#openBars(),
    });
    return this.#progress.open();
  };
  readonly awaiting = (what: string) => {
    const region = this.#region;
    if (region === undefined || this.mode.quiet) return () => {};
    this.#awaited ??= new Awaited({
      host: this.#host,
      // Progress bars tell more and use the same place.
      isFree: () => !this.#progress?.isShown,
      draw: (lines) => {
        if (this.#page) this.#page.draw(lines);
        else if (lines.length > 0) region.draw(lines);
        else region.end();
      },
    });
    return this.#awaited.begin(this.withoutSecrets(what));
  };
  readonly page = async () => {
    const { Page } = await import('./page.ts');
    this.#page ??= new Page({
      stream: this.#host.stdout,
      region: liveRegionOn(this.#host.stdout, this.#cursor, this.#host),
      secrets: this.#secrets,
      cursor: this.#cursor,
      hasColor: this.#resultColor,
      hasUnicode: canShowUnicode(this.#host),
      canRedraw: this.stdoutIsTerminal && this.#host.env.TERM !== 'dumb',
    });
    return this.#page;
  };
  readonly drain = async () => {
    this.#progress?.clear();
    this.#region?.end();
    this.#live?.end();
    this.#page?.close();
    await this.#side.drain();
    await this.#result.drain();
  };

  #wrap(text: string): string {
    return this.stderrIsTerminal ? wrapMessage(text, sizeOf(this.#host.stderr).columns) : text;
  }

  async #resultStyle(): Promise<Style> {
    return this.#resultColor ? loadStyle() : plainStyle;
  }

  async #tableText(table: Table, columns = sizeOf(this.#host.stdout).columns): Promise<string> {
    const { alignedLines, hideInTable, idLines, tabbedLines } = await import('./table-text.ts');
    const safe = hideInTable(table, this.withoutSecrets);
    if (this.mode.quiet) return idLines(safe);
    if (!this.stdoutIsTerminal) return tabbedLines(safe);
    return alignedLines(safe, columns, await this.#resultStyle());
  }

  async #openBars() {
    if (this.#region === undefined) throw new Error('no terminal to draw on');
    const { openProgressBars } = await import('./progress-bars.ts');
    return openProgressBars({
      stream: this.#host.stderr,
      region: this.#region,
      size: () => sizeOf(this.#host.stderr),
      clock: this.#host.clock,
      print: (line) => this.#side.line(line, true),
      style: this.#sideColor ? await loadStyle() : plainStyle,
      hasUnicode: canShowUnicode(this.#host),
    });
  }
}

export const createIo = (options: IoOptions): Io => new RunIo(options);

function liveRegionOn(stream: Host['stdout'], cursor: TerminalCursor, { holdTerminal }: IoOptions['host']) {
  const write = (text: string) => void (stream.destroyed || stream.write(text));
  return new LiveRegion(write, () => sizeOf(stream), cursor, holdTerminal);
}

function binaryOnTerminal(): GwError {
  return new GwError('usage', 'gw writes no file to a terminal', {
    hint: 'give a file with -o, or send the output to a pipe or a file',
  });
}

/** The typed flags about output; `progress` is false after `--no-progress`. */
export interface OutputFlags {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly verbose?: boolean | undefined;
  readonly progress?: boolean | undefined;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && !/^(0|false|off|no)$/i.test(value);
}

/** Decides the output mode from the flags, `CI`, `TERM`, `GW_VERBOSE` (not with -q) and the terminal (contract, 1). */
export function readOutputMode(flags: OutputFlags, host: Pick<Host, 'env' | 'stderr'>): OutputMode {
  const { env } = host;
  const quiet = flags.quiet ?? false;
  return {
    json: flags.json ?? false,
    quiet,
    verbose: flags.verbose ?? (!quiet && isSet(env.GW_VERBOSE)),
    bars:
      host.stderr.isTTY === true &&
      !quiet &&
      flags.progress !== false &&
      !isSet(env.CI) &&
      env.TERM !== 'dumb',
  };
}
