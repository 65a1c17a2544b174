import type { Transport, WireHead } from '../../http/exchange.ts';
import { type Asked, judgeHead, type Verdict } from './reply-head.ts';

/** Redirects of one GET that are followed. */
const MAX_REDIRECTS = 5;

/** Takes the body that was asked for. What it throws ends the transfer. */
export interface OutputSink {
  begin(verdict: Extract<Verdict, { do: 'append' | 'restart' }>): void;
  data(chunk: Uint8Array): void;
}

/** A verdict thrown out of the transfer of a body that is not wanted. */
export class Unwanted extends Error {
  override readonly name = 'Unwanted';
  constructor(readonly verdict: Verdict) {
    super('the reply is not wanted');
  }
}

export interface GetOptions {
  readonly transport: Transport;
  /** Records the GET; throws where no more may be sent. */
  readonly count: () => void;
  readonly silenceMs: number;
  readonly connectMs: number;
  readonly signal: AbortSignal;
  readonly userAgent?: string | undefined;
  /** Told where the body comes from, before its first byte. */
  readonly onBody: (url: URL) => void;
}

/** What became of a GET. */
export type GetResult = Verdict | { readonly do: 'complete' };

/**
 * One GET of an output, its redirects followed by hand. No credential and no cookie is ever part of it.
 * Throws ExchangeError, the signal's reason, and whatever the sink or the count threw.
 */
export async function getOutput(
  from: URL,
  asked: Asked,
  sink: OutputSink,
  options: GetOptions,
): Promise<GetResult> {
  let url = from;
  for (let hops = 0; ; hops++) {
    options.count();
    const verdict = await getOnce(url, asked, sink, options);
    if (verdict.do !== 'follow') return verdict;
    const next = redirectTarget(url, verdict.location);
    if (typeof next === 'string') return { do: 'refuse', reason: next };
    if (hops === MAX_REDIRECTS) {
      return { do: 'refuse', reason: `the link was redirected more than ${MAX_REDIRECTS} times` };
    }
    url = next;
  }
}

async function getOnce(url: URL, asked: Asked, sink: OutputSink, options: GetOptions): Promise<GetResult> {
  const { transport, silenceMs, connectMs, signal, userAgent, onBody } = options;
  const goesOn = asked.offset > 0 && asked.etag !== undefined;
  const headers = {
    accept: '*/*',
    'accept-encoding': 'identity',
    ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
    ...(goesOn ? { range: `bytes=${asked.offset}-`, 'if-range': asked.etag } : {}),
  };
  try {
    await transport.stream(
      { method: 'GET', url, headers, silenceMs, connectMs, signal },
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
    throw error;
  }
}

/** A link as an address that may be asked: http or https, without user and password. None where it is not one. */
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

/** Where a redirect leads, or why it is not followed. */
function redirectTarget(from: URL, location: string | undefined): URL | string {
  if (location === undefined) return 'the link was redirected without saying where to';
  const url = outputUrl(location, from);
  if (url === undefined) return 'the link was redirected to something that is not an http or https address';
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    return 'the link was redirected from https to http, which is not followed';
  }
  return url;
}
