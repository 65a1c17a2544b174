import type { WireHead } from '../../http/exchange.ts';

/** What was asked for: nothing, or to go on behind the bytes there are. */
export interface Asked {
  readonly offset: number;
  readonly etag?: string | undefined;
  readonly totalBytes?: number | undefined;
}

/** What the head of a reply says is to be done. */
export type Verdict =
  /** The body goes on where the part ends. */
  | { readonly do: 'append'; readonly totalBytes: number }
  /** The body is the whole file. */
  | { readonly do: 'restart'; readonly etag: string | undefined; readonly totalBytes: number | undefined }
  /** The part is the whole file. */
  | { readonly do: 'finish' }
  /** The part and the server's file do not fit together: fetch it whole. */
  | { readonly do: 'drop'; readonly reason: string }
  | { readonly do: 'follow'; readonly location: string | undefined }
  /** The link seems dead: the task may have a new one. */
  | { readonly do: 'renew'; readonly reason: string; readonly status?: number }
  /** Passes by itself. */
  | {
      readonly do: 'wait';
      readonly reason: string;
      readonly status?: number;
      readonly retryAfter?: string | undefined;
      readonly date?: string | undefined;
    }
  | { readonly do: 'refuse'; readonly reason: string; readonly status?: number };

const redirects = new Set([301, 302, 303, 307, 308]);

/** Reads the head of a reply to a GET of an output. */
export function judgeHead({ status, headers }: WireHead, asked: Asked): Verdict {
  if (status === 200 || status === 206) {
    const text = textType(headers['content-type']);
    if (text) return { do: 'renew', reason: `the server sent ${text} instead of the file`, status };
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity' && encoding.trim() !== '') {
      return {
        do: 'refuse',
        reason: 'the server sent the file compressed, though that was declined',
        status,
      };
    }
  }
  if (status === 206) return judgeRange(headers, asked);
  if (status === 200) {
    return {
      do: 'restart',
      etag: strongEtag(headers.etag),
      totalBytes: wholeNumber(headers['content-length']),
    };
  }
  if (status === 416) {
    const total = /^bytes \*\/(\d+)$/i.exec(headers['content-range']?.trim() ?? '')?.[1];
    const isWhole = asked.offset > 0 && wholeNumber(total) === asked.offset;
    const isKnown = asked.totalBytes === undefined || asked.totalBytes === asked.offset;
    return isWhole && isKnown
      ? { do: 'finish' }
      : { do: 'drop', reason: 'the file on the server has another length' };
  }
  if (redirects.has(status)) return { do: 'follow', location: headers.location };
  const reason = `the server of the output answered HTTP ${status}`;
  if (status === 403 || status === 404 || status === 410) return { do: 'renew', reason, status };
  if (status === 408 || status === 429 || status >= 500) {
    return { do: 'wait', reason, status, retryAfter: headers['retry-after'], date: headers.date };
  }
  return { do: 'refuse', reason, status };
}

/** A 206 is used only where start, total and tag are those of the part. */
function judgeRange(headers: WireHead['headers'], asked: Asked): Verdict {
  const range = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(headers['content-range']?.trim() ?? '');
  const [start, end, total] = [wholeNumber(range?.[1]), wholeNumber(range?.[2]), wholeNumber(range?.[3])];
  if (start === undefined || end === undefined || total === undefined || end < start || end >= total) {
    return { do: 'drop', reason: 'the server sent a part of the file without saying which' };
  }
  const length = wholeNumber(headers['content-length']);
  // A whole file under 206, though no part was asked for, is a whole file.
  if (asked.offset === 0 && start === 0 && end === total - 1 && (length === undefined || length === total)) {
    return { do: 'restart', etag: strongEtag(headers.etag), totalBytes: total };
  }
  if (asked.offset === 0 || start !== asked.offset || (length !== undefined && length !== end - start + 1)) {
    return { do: 'drop', reason: 'the server sent another part of the file than was asked for' };
  }
  if (
    (asked.totalBytes !== undefined && asked.totalBytes !== total) ||
    strongEtag(headers.etag) !== asked.etag
  ) {
    return { do: 'drop', reason: 'the file on the server has changed' };
  }
  return { do: 'append', totalBytes: total };
}

/** A strong entity tag that may be sent back as it is; a weak or malformed one is none. */
export function strongEtag(value: string | undefined): string | undefined {
  return value !== undefined && /^"[\x21\x23-\x7e]{1,512}"$/.test(value.trim()) ? value.trim() : undefined;
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/.test(text.trim())) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** What a content type is called where it is text, JSON, XML or HTML: no output of a task is. */
function textType(contentType: string | undefined): string | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (/[/+]json$/.test(type)) return 'JSON';
  if (/[/+]xml$/.test(type)) return type.includes('html') ? 'HTML' : 'XML';
  if (type === 'text/html') return 'HTML';
  return type.startsWith('text/') ? 'text' : undefined;
}
