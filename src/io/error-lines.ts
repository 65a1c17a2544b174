// The error that a user sees is built from known facts; its cause and stack are not printed, because they may hold
// secrets.
import { ClosedPipe, Ended, errorKinds, GwError, Interrupted } from '../errors.ts';
import { cutCodePoints, oneLine, safeJson } from './escape.ts';
import type { Style } from './style.ts';

/** The object under `error` in `--json` (the contract, section 1); unknown facts are left out. */
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
  /** When the gateway says it may be asked again, as RFC 3339. */
  readonly retry_at?: string | undefined;
}

const MAX_CODE_POINTS = 500;
const faultHint =
  'this is a fault of gw: please report it, with the command you ran (without the key) and the output of "gw --version"';

/** The report of any thrown value; undefined for ClosedPipe and Ended, which are not errors. */
export function reportError(error: unknown): ErrorReport | undefined {
  if (error instanceof ClosedPipe || error instanceof Ended) return undefined;
  if (error instanceof Interrupted) {
    const { exitCode, facts, message } = error;
    return { kind: 'interrupted', message, hint: facts.hint, exit_code: exitCode, task_id: facts.taskId };
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

/** A report ready to print: `hide` masks secrets before long texts are cut, so that no part of one is left. */
export function safeReport(report: ErrorReport, hide: (text: string) => string): ErrorReport {
  const safe = (value: string | number | undefined) =>
    typeof value === 'string' ? cutCodePoints(hide(value), MAX_CODE_POINTS) : value;
  return {
    ...report,
    ...Object.fromEntries(Object.entries(report).map(([name, value]) => [name, safe(value)])),
  };
}

/** The error line of `--json`, without its newline. */
export const errorJson = (report: ErrorReport, hide: (text: string) => string): string =>
  safeJson({ error: safeReport(report, hide) });

const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** The gateway's code and request ID, unless they are unknown or already in the message. */
function sourceOf({ message, code, request_id: requestId }: ErrorReport): string {
  const known = [
    code !== undefined && !message.includes(code) && `code ${code}`,
    requestId !== undefined && !message.includes(requestId) && `request ID ${requestId}`,
  ].filter((part) => part !== false);
  return known.length === 0 ? '' : ` (${known.join(', ')})`;
}

/** The `error: …` line, and the `hint: …` line if there is a hint. */
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

/** The stack of an error that is a bug in gw, for --verbose; empty for expected errors. */
export function stackLines(error: unknown): string[] {
  const isBug = error instanceof Error && reportError(error)?.kind === 'internal';
  return isBug && typeof error.stack === 'string' ? error.stack.split('\n') : [];
}

/** The text of any thrown value, even one that cannot be converted to text. */
function thrownText(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return 'a value that cannot be shown';
  }
}
