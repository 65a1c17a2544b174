import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { MB } from '../gateway/media-limits.ts';
import { Refusal } from './reply.ts';

/**
 * Reads a JSON body. Throws Refusal (400) for another content type, a body over `maxBytes`, or what is not JSON. A body
 * that is too large is taken to its end and thrown away, so that a client that is still writing gets to read the refusal.
 */
export async function readJsonBody(request: IncomingMessage, maxBytes: number | undefined): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    const sent = type === '' ? 'none was sent' : `${type} was sent`;
    throw new Refusal(400, `The Content-Type must be application/json; ${sent}.`, 'InvalidContentType');
  }
  const most = maxBytes ?? Number.POSITIVE_INFINITY;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (bytes > most) {
    throw new Refusal(
      400,
      `The request body has ${bytes} bytes; at most ${most / MB} MB are taken.`,
      'RequestTooLarge',
    );
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new Refusal(400, 'The request body is not valid JSON.', 'InvalidRequest');
  }
}

const fieldName = (path: readonly PropertyKey[]) =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${String(part)}`))
    .join('');

/** Checks a body against its schema; throws the Refusal (400 `InvalidParameter`) that names the first field and its rule. */
export function checkBody(schema: z.ZodType, body: unknown): void {
  const issue = schema.safeParse(body).error?.issues[0];
  if (!issue) return;
  const field = fieldName(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys.map((key) => (field ? `${field}.${key}` : key)).join(', ');
    throw new Refusal(
      400,
      `Invalid parameter ${unknown}: not a parameter of this endpoint.`,
      'InvalidParameter',
    );
  }
  throw refuseField(issue.path, issue.message);
}

/** The refusal (400 `InvalidParameter`) of a field for a rule that it breaks; an empty path is the body. */
export const refuseField = (path: readonly PropertyKey[], rule: string): Refusal =>
  new Refusal(400, `Invalid parameter ${fieldName(path) || 'body'}: ${rule}.`, 'InvalidParameter');
