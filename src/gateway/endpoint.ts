import type * as z from 'zod/mini';
import type { GatewayErrorFacts } from './gateway-error.ts';

/**
 * The header in which a sandbox says how many times faster than the service it works. It is no part of the document: it
 * lets a client on the same machine look as much more often.
 */
export const SPEED_HEADER = 'x-sandbox-speed';

/** How a request proves who sends it ("Authentication"). */
export type Credential = 'bearer' | 'messages' | 'geo';

/** What an API key is, as a hint. */
export const KEY_RULE = 'a key is one line of printable ASCII without blanks';

/** Why a text is no API key, as the end of a sentence that begins with where it came from. */
export function keyFault(key: string): string | undefined {
  if (key === '') return 'holds no key';
  if (/[\r\n]/.test(key)) return 'holds a key with a newline in it';
  if (/\s/.test(key)) return 'holds a key with a blank in it';
  if (!/^[\x21-\x7e]+$/.test(key)) return 'holds a key with a character that is not printable ASCII';
  return undefined;
}

/**
 * Which row of the resend matrix a call belongs to:
 * `read` may be sent again at will, `paid` creates something that costs money and is never sent twice on a guess,
 * `chat` is answered at once: a complete refusal may be sent again, a lost answer is not,
 * `upload` makes an asset or a group: a lost one is looked for before it is sent again,
 * `change` renames or deletes, and may be done twice.
 */
export type Resend = 'read' | 'paid' | 'chat' | 'upload' | 'change';

/** What the document's endpoints use, and what others may use (`gw api`). */
export const httpMethods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** What a schema is to a reply. */
export interface ReplyReader<Reply> {
  safeParse(json: unknown): { readonly success: true; readonly data: Reply } | { readonly success: false };
}

/** Reads a reply without a schema, whose library takes 3 ms to load; `read` gives undefined for what is no such reply. */
export const readBy = <Reply>(read: (json: unknown) => Reply | undefined): ReplyReader<Reply> => ({
  safeParse(json) {
    const data = read(json);
    return data === undefined ? { success: false } : { success: true, data };
  },
});

/** Takes a reply as it came where something holds of it. */
export const replyThat = (holds: (json: unknown) => unknown) =>
  readBy((json) => (holds(json) ? json : undefined));

/** One endpoint as a row: everything the HTTP layer and the sandbox need to know about it. */
export interface Endpoint<Reply = unknown> {
  readonly name: string;
  readonly method: HttpMethod;
  /** Path below the base address, with `{task_id}`-style parameters. */
  readonly path: string;
  /** Absent: the API key in the header `authorization`, as most endpoints take it. */
  readonly credential?: Credential | undefined;
  readonly resend: Resend;
  readonly body?: z.ZodMiniType;
  /** What gw reads of a 2xx reply: a loose schema, or `readBy`; the reply as it came travels beside it. */
  readonly reply: ReplyReader<Reply>;
  /** Largest request body in bytes, where documented. */
  readonly maxBodyBytes?: number;
  /** Another status than 404 that says "unknown task" here. */
  readonly notFoundStatus?: number;
  /** What a 2xx reply says that is a refusal all the same (family B: `code` other than 0); undefined for success. */
  readonly refusal?: (reply: unknown) => GatewayErrorFacts | undefined;
}

const escapeForRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The parameters of a path that fits a row's pattern (`/tasks/{task_id}`); undefined where it does not fit. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const source = pattern
    .split(/(\{\w+\})/)
    .map((part) => (/^\{\w+\}$/.test(part) ? `(?<${part.slice(1, -1)}>[^/]+?)` : escapeForRegExp(part)))
    .join('');
  const match = new RegExp(`^${source}$`).exec(path);
  if (!match) return undefined;
  try {
    return Object.fromEntries(
      Object.entries(match.groups ?? {}).map(([name, raw]) => [name, decodeURIComponent(raw)]),
    );
  } catch {
    return undefined;
  }
}
