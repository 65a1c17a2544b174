import type * as z from 'zod/mini';
import type { GatewayErrorFacts } from './gateway-error.ts';

/**
 * The header in which a sandbox states how many times faster than the service it runs. It is not in the document: it
 * lets a client on the same machine poll correspondingly more often.
 */
export const SPEED_HEADER = 'x-sandbox-speed';

/** The header in which a request sends its API key ("Authentication"). */
export type Credential = 'bearer' | 'messages' | 'geo';

/** The rule for API keys, as a hint for the user. */
export const KEY_RULE = 'a key is one line of printable ASCII without blanks';

/** Why a text is not a valid API key, as the end of a sentence that begins with the key's source. */
export function keyFault(key: string): string | undefined {
  if (key === '') return 'holds no key';
  if (/[\r\n]/.test(key)) return 'holds a key with a newline in it';
  if (/\s/.test(key)) return 'holds a key with a blank in it';
  if (!/^[\x21-\x7e]+$/.test(key)) return 'holds a key with a character that is not printable ASCII';
  return undefined;
}

/**
 * Which row of the resend matrix a call belongs to: `read` may be sent again at any time; `paid` creates something that
 * costs money and is never sent twice on a guess; `chat` is answered at once: it may be sent again after a complete
 * refusal, but not after a lost answer; `upload` makes an asset or a group: a lost one is looked up before it is sent
 * again; `change` renames or deletes, and repeating it does no harm.
 */
export type Resend = 'read' | 'paid' | 'chat' | 'upload' | 'change';

/** The methods of the document's endpoints, and those that `gw api` allows for others. */
export const httpMethods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type HttpMethod = (typeof httpMethods)[number];

/** The part of a schema's interface that reads a reply. */
export interface ReplyReader<Reply> {
  safeParse(json: unknown): { readonly success: true; readonly data: Reply } | { readonly success: false };
}

/** Makes a reply reader without zod, which takes 3 ms to load; `read` returns undefined to refuse a reply. */
export const readBy = <Reply>(read: (json: unknown) => Reply | undefined): ReplyReader<Reply> => ({
  safeParse(json) {
    const data = read(json);
    return data === undefined ? { success: false } : { success: true, data };
  },
});

/** Makes a reader that returns the reply unchanged if `holds` accepts it. */
export const replyThat = (holds: (json: unknown) => unknown) =>
  readBy((json) => (holds(json) ? json : undefined));

/** One endpoint as a row: everything that the HTTP layer and the sandbox need to know about it. */
export interface Endpoint<Reply = unknown> {
  readonly name: string;
  readonly method: HttpMethod;
  /** Path below the base URL, with parameters such as `{task_id}`. */
  readonly path: string;
  /** When absent, the API key goes into the `authorization` header, as on most endpoints. */
  readonly credential?: Credential | undefined;
  readonly resend: Resend;
  readonly body?: z.ZodMiniType;
  /** Reads a 2xx reply: a loose schema, or `readBy`; the raw reply is passed on beside the result. */
  readonly reply: ReplyReader<Reply>;
  /** Largest request body in bytes, where documented. */
  readonly maxBodyBytes?: number;
  /** A status other than 404 that means "unknown task" on this endpoint. */
  readonly notFoundStatus?: number;
  /** The refusal in a 2xx reply (family B: `code` is not 0); undefined for a success. */
  readonly refusal?: (reply: unknown) => GatewayErrorFacts | undefined;
}

/** The command of a create endpoint, by its name: `beta.create.o1` is `gw video beta create --mode o1`. */
export function createCommand(name: string): string {
  const [family = '', act = '', variant] = name.split('.');
  if (family === 'image') return `gw image ${act === 'generate' ? 'create' : act}`;
  const mode = variant && ` --mode ${variant.replace('-turbo', ' --turbo')}`;
  return `gw video ${family} create${mode ?? ''}`;
}

const escapeForRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The parameters of a path that matches a row's pattern (`/tasks/{task_id}`); undefined if it does not match. */
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
