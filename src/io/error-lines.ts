// An error as the user sees it is rebuilt from known facts; neither its cause nor its stack is printed, because they
// can hold what must not be shown.
import { ClosedPipe, Ended, errorKinds, GwError, Interrupted } from '../errors.ts';
import { cutCodePoints, oneLine, safeJson } from './escape.ts';
import type { Style } from './style.ts';

/** The object under `error` in `--json` (the contract, section 1); absent facts are left out. */
export interface ErrorReport {
  readonly kind: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly exit_code: number;
  readonly status?: number | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly request_id?: string | undefined;
  readonly task_id?: string | undefined;
  /** When the gateway says that it may be asked again, RFC 3339. */
  readonly retry_at?: string | undefined;
}

const MAX_CODE_POINTS = 500;
const faultHint =
  'this is a fault of gw: please report it, with the command you ran (without the key) and the output of "gw --version"';

/** What is told of an error; `undefined` for ClosedPipe, which is none. Any thrown value will do. */
export function reportError(error: unknown): ErrorReport | undefined {
  if (error instanceof ClosedPipe || error instanceof Ended) return undefined;
  if (error instanceof Interrupted) {
    return { kind: 'interrupted', message: error.message, hint: error.hint, exit_code: error.exitCode };
  }
  if (error instanceof GwError) {
    const { status, type, code, requestId, taskId, retryAtMs } = error.facts;
    return {
      kind: error.kind,
      message: error.message,
      hint: error.hint,
      exit_code: error.exitCode,
      status,
      type,
      code,
      request_id: requestId,
      task_id: taskId,
      retry_at: retryAtMs === undefined ? undefined : rfc3339(retryAtMs),
    };
  }
  return {
    kind: 'internal',
    message: `unexpected error: ${thrownText(error)}`,
    hint: faultHint,
    exit_code: errorKinds.internal.exitCode,
  };
}

/** A report as it is printed: `hide` masks secrets before anything is cut. */
export function safeReport(report: ErrorReport, hide: (text: string) => string): ErrorReport {
  const safe = (value: string | number | undefined) =>
    typeof value === 'string' ? cutCodePoints(hide(value), MAX_CODE_POINTS) : value;
  return {
    ...report,
    ...Object.fromEntries(Object.entries(report).map(([name, value]) => [name, safe(value)])),
  };
}

/** The one line of `--json`, without its newline. */
export const errorJson = (report: ErrorReport, hide: (text: string) => string): string =>
  safeJson({ error: safeReport(report, hide) });

const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** The gateway's own code and request ID, where it sent them and the message does not say them already. */
function sourceOf({ message, code, request_id: requestId }: ErrorReport): string {
  const known = [
    code !== undefined && !message.includes(code) && `code ${code}`,
    requestId !== undefined && !message.includes(requestId) && `request ID ${requestId}`,
  ].filter((part) => part !== false);
  return known.length === 0 ? '' : ` (${known.join(', ')})`;
}

/** The `error: …` line and, where something can be done, the `hint: …` line. */
export function errorLines(
  report: ErrorReport,
  hide: (text: string) => string,
  wrap = (text: string): string => text,
): ((style: Style) => string)[] {
  const message = `${oneLine(hide(report.message), MAX_CODE_POINTS)}${oneLine(hide(sourceOf(report)), MAX_CODE_POINTS)}`;
  const told = (tone: 'bad' | 'active', name: string, text: string) => (style: Style) =>
    `${style[tone](name)}${wrap(`${name} ${text}`).slice(name.length)}`;
  const lines = [told('bad', 'error:', message)];
  const { hint } = report;
  if (hint !== undefined) lines.push(told('active', 'hint:', oneLine(hide(hint), MAX_CODE_POINTS)));
  return lines;
}

/** The stack of an error that is a fault of gw, for --verbose; empty for the errors that are expected. */
export function stackLines(error: unknown): string[] {
  const isExpected = error instanceof GwError || error instanceof Interrupted || error instanceof ClosedPipe;
  if (isExpected || !(error instanceof Error) || typeof error.stack !== 'string') return [];
  return error.stack.split('\n');
}

/** The words of any thrown value, even of one that refuses to be made text. */
function thrownText(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return 'a value that cannot be shown';
  }
}
