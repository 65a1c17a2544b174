import { GwError } from '../../errors.ts';
import { ExchangeError, exchangeCodes, type Transport, type WireHead } from '../../http/exchange.ts';
import type { DownloadJournal } from './part-file.ts';

const MAX_REDIRECTS = 5;

/** Receives the requested body. An exception from it ends the transfer. */
export interface OutputSink {
  begin(verdict: Extract<Verdict, { do: 'append' | 'restart' }>): void;
  data(chunk: Uint8Array): void;
}

/** Thrown to end the transfer of an unwanted body; holds the verdict. */
export class Unwanted extends Error {
  override readonly name = 'Unwanted';
  constructor(readonly verdict: Verdict) {
    super('the reply is not wanted');
  }
}

export interface GetOptions {
  readonly transport: Transport;
  /** Records the GET before its first byte leaves; throws if no more are allowed. */
  readonly count: () => void;
  readonly silenceMs: number;
  readonly connectMs: number;
  readonly signal: AbortSignal;
  /** Called with the address of the body before its first byte. */
  readonly onBody: (url: URL) => void;
}

/** The result of a GET. */
export type GetResult = Verdict | { readonly do: 'complete' };

/**
 * Makes one GET of an output and follows redirects itself. It never sends a credential or a cookie. Throws
 * ExchangeError, the signal's reason, and whatever `sink` or `count` throws.
 */
export async function getOutput(
  from: URL,
  asked: Asked,
  sink: OutputSink,
  options: GetOptions,
): Promise<GetResult> {
  let url = from;
  for (let hops = 0; ; hops++) {
    const verdict = await getOnce(url, asked, sink, options);
    if (verdict.do !== 'follow') return verdict;
    const next = redirectTarget(url, verdict.location);
    if (typeof next === 'string') return { do: 'refuse', reason: next };
    if (hops === MAX_REDIRECTS)
      return { do: 'refuse', reason: `the link was redirected more than ${MAX_REDIRECTS} times` };
    url = next;
  }
}

async function getOnce(url: URL, asked: Asked, sink: OutputSink, options: GetOptions): Promise<GetResult> {
  const { transport, silenceMs, connectMs, signal, count, onBody } = options;
  const goesOn = asked.offset > 0 && asked.etag !== undefined;
  const headers = {
    accept: '*/*',
    'accept-encoding': 'identity',
    ...(goesOn ? { range: `bytes=${asked.offset}-`, 'if-range': asked.etag } : {}),
  };
  try {
    await transport.stream(
      { method: 'GET', url, headers, silenceMs, connectMs, signal, onConnected: count },
      {
        onHead(head: WireHead) {
          const verdict = judgeHead(head, asked);
          if (verdict.do !== 'append' && verdict.do !== 'restart') throw new Unwanted(verdict);
          onBody(url);
          sink.begin(verdict);
        },
        onData: (chunk) => sink.data(chunk),
      },
    );
    return { do: 'complete' };
  } catch (error) {
    if (error instanceof Unwanted) return error.verdict;
    if (!(error instanceof ExchangeError) || error.code !== exchangeCodes.unreadable) throw error;
    const { message: reason, partial: { status, headers } = {} } = error;
    // A coding in the head means that decoding failed. A part (206) is dropped, because the whole file may decode.
    if (headers?.['content-encoding'] === undefined) throw error;
    if (status !== undefined && status !== 200 && status !== 206)
      return judgeHead({ status, headers }, asked);
    return status === 206 ? { do: 'drop', reason } : { do: 'refuse', reason, status };
  }
}

/** Parses a link as an http or https URL without user and password; undefined if it is not one. */
export function outputUrl(link: string, base?: URL): URL | undefined {
  try {
    const url = new URL(link, base);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined;
    url.username = '';
    url.password = '';
    url.hash = '';
    return url;
  } catch {
    return undefined;
  }
}

/** The target of a redirect, or why it is not followed. */
function redirectTarget(from: URL, location: string | undefined): URL | string {
  if (location === undefined) return 'the link was redirected without saying where to';
  const url = outputUrl(location, from);
  if (url === undefined) return 'the link was redirected to something that is not an http or https address';
  if (from.protocol === 'https:' && url.protocol === 'http:')
    return 'the link was redirected from https to http, which is not followed';
  return url;
}

/** The state of the part before the GET: empty, or with bytes to continue after. */
interface Asked {
  readonly offset: number;
  readonly etag?: string | undefined;
  readonly totalBytes?: number | undefined;
}

/** What to do with a reply, decided by its head. */
export type Verdict =
  /** The body continues at the end of the part. */
  | { readonly do: 'append'; readonly totalBytes: number }
  /** The body is the whole file. */
  | { readonly do: 'restart'; readonly etag: string | undefined; readonly totalBytes: number | undefined }
  /** The part is already the whole file. */
  | { readonly do: 'finish' }
  /** The part does not match the server's file: fetch the whole file. */
  | { readonly do: 'drop'; readonly reason: string }
  | { readonly do: 'follow'; readonly location: string | undefined }
  /** The link seems dead: the task may have a new one. */
  | { readonly do: 'renew'; readonly reason: string; readonly status?: number }
  /** The failure passes by itself. */
  | {
      readonly do: 'wait';
      readonly reason: string;
      readonly status?: number;
      readonly headers?: WireHead['headers'];
    }
  | { readonly do: 'refuse'; readonly reason: string; readonly status?: number | undefined };

const redirects = new Set([301, 302, 303, 307, 308]);

/** Judges the head of a reply to a GET of an output. */
export function judgeHead({ status, headers }: WireHead, asked: Asked): Verdict {
  if (status === 200 || status === 206) {
    const text = textType(headers['content-type']);
    if (text) return { do: 'renew', reason: `the server sent ${text} instead of the file`, status };
  }
  if (status === 206) return judgeRange(headers, asked);
  if (status === 200) {
    const totalBytes = wholeNumber(headers['content-length']);
    return { do: 'restart', etag: strongEtag(headers.etag), totalBytes };
  }
  if (status === 416) {
    const total = /^bytes \*\/(\d+)$/i.exec(headers['content-range']?.trim() ?? '')?.[1];
    const { offset, totalBytes = offset } = asked;
    return offset > 0 && wholeNumber(total) === offset && totalBytes === offset
      ? { do: 'finish' }
      : { do: 'drop', reason: 'the file on the server has another length' };
  }
  if (redirects.has(status)) return { do: 'follow', location: headers.location };
  const reason = `the server of the output answered HTTP ${status}`;
  if (status === 403 || status === 404 || status === 410) return { do: 'renew', reason, status };
  if (status === 408 || status === 429 || status >= 500) return { do: 'wait', reason, status, headers };
  return { do: 'refuse', reason, status };
}

/** A 206 is used only if its start, total and tag match the part. */
function judgeRange(headers: WireHead['headers'], asked: Asked): Verdict {
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(headers['content-range']?.trim() ?? '');
  const [start, end, total] = [wholeNumber(range?.[1]), wholeNumber(range?.[2]), wholeNumber(range?.[3])];
  if (start === undefined || end === undefined || total === undefined || end < start || end >= total)
    return { do: 'drop', reason: 'the server sent a part of the file without saying which' };
  const length = wholeNumber(headers['content-length']);
  // A 206 that holds the whole file counts as one, even though no range was requested.
  if (asked.offset === 0 && start === 0 && end === total - 1 && (length === undefined || length === total)) {
    return { do: 'restart', etag: strongEtag(headers.etag), totalBytes: total };
  }
  if (asked.offset === 0 || start !== asked.offset || (length !== undefined && length !== end - start + 1)) {
    return { do: 'drop', reason: 'the server sent another part of the file than was asked for' };
  }
  const { etag, totalBytes = total } = asked;
  if (totalBytes !== total || strongEtag(headers.etag) !== etag)
    return { do: 'drop', reason: 'the file on the server has changed' };
  return { do: 'append', totalBytes: total };
}

/** A strong entity tag that can be sent back; undefined for a weak or malformed one. */
export function strongEtag(value: string | undefined): string | undefined {
  return value !== undefined && /^"[\x21\x23-\x7e]{1,512}"$/.test(value.trim()) ? value.trim() : undefined;
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/.test(text.trim())) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** The name of a text type (text, JSON, XML or HTML), which no output has; undefined for other types. */
function textType(contentType: string | undefined): string | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (/[/+]json$/.test(type)) return 'JSON';
  if (/[/+]xml$/.test(type)) return type.includes('html') ? 'HTML' : 'XML';
  if (type === 'text/html') return 'HTML';
  return type.startsWith('text/') ? 'text' : undefined;
}

/** Maximum number of GETs of a job in one run, including redirects; for many outputs, two each. */
export const MAX_GETS = 6;

/** Shares of the documented number of downloads at which a run warns, and at which it stops. */
const WARN_AT = 0.8;
const REFUSE_AT = 0.95;

interface CountedDownloads {
  readonly id: string;
  /** How many outputs the run has to download. */
  readonly outputs: number;
  readonly journal: DownloadJournal;
  /** How often the gateway allows an output to be fetched ("Retention": family A 100); undefined if not stated. */
  readonly maxDownloads: number | undefined;
  readonly force: boolean;
  /** What to do if too few are left; by default, use them with `gw jobs download --force`. */
  readonly hint?: string;
  readonly warn: (text: string) => void;
}

/** Counts each GET before it is sent, as the gateway does not say what it counts; unsent ones are free. */
export class GetBudget {
  private counted: number;
  private warned = false;
  /** How many requests this run may still make. */
  private left: number;
  /** Outputs that have not begun: one request is reserved for each. */
  private later: number;

  constructor(private readonly options: CountedDownloads) {
    this.counted = options.journal.downloadsSoFar;
    this.left = Math.max(MAX_GETS, 2 * options.outputs);
    this.later = options.outputs;
  }

  begin(): void {
    this.later -= 1;
  }

  /** True if the current output may be requested once more. */
  get mayAsk(): boolean {
    return this.left > this.later;
  }

  /** Records that a GET is about to be sent. Throws `download` if too few are left, unless forced. */
  take(role: string): void {
    const { id, journal, maxDownloads = Number.POSITIVE_INFINITY, force, hint, warn } = this.options;
    const used = () => `${this.counted} of the ${maxDownloads} downloads of this task are used`;
    if (this.counted >= maxDownloads * REFUSE_AT && !force) {
      const use = `keep the rest for when it matters, or use them: gw jobs download ${id} --force`;
      throw new GwError('download', used(), { hint: hint ?? use });
    }
    journal.aboutToGet(role);
    this.left--;
    if (journal.isUncounted?.()) this.left = Math.min(this.left, this.later);
    this.counted++;
    if (this.counted >= maxDownloads * WARN_AT && !this.warned) {
      this.warned = true;
      warn(used());
    }
  }
}
