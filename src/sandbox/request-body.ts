import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { MB } from '../gateway/media-limits.ts';
import { type FormBody, isFormType, MAX_FORM_BYTES, readForm } from './form-body.ts';
import { Refusal } from './reply.ts';

/** What a request carries: JSON, or a form where the route takes one. */
export interface RequestBody {
  readonly json?: unknown;
  readonly form?: FormBody;
}

/**
 * Reads a body by its content type. Throws Refusal (400) for another type than the route takes, a body over `maxBytes`,
 * or what is not of its type.
 */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, takesForm }: { readonly maxBytes: number | undefined; readonly takesForm: boolean },
): Promise<RequestBody> {
  const type = request.headers['content-type'] ?? '';
  if (takesForm && isFormType(type)) {
    return { form: await readForm(await readBytes(request, maxBytes ?? MAX_FORM_BYTES), type) };
  }
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    const sent = type === '' ? 'none was sent' : `${type} was sent`;
    const taken = `application/json${takesForm ? ' or multipart/form-data' : ''}`;
    throw new Refusal(400, `The Content-Type must be ${taken}; ${sent}.`, 'InvalidContentType');
  }
  return { json: parseJson(await readBytes(request, maxBytes)) };
}

/**
 * Reads a body to its end. One over `maxBytes` is thrown away meanwhile and refused (400), so that a client that is
 * still writing gets to read the refusal.
 */
async function readBytes(request: IncomingMessage, maxBytes: number | undefined): Promise<Buffer> {
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
  return Buffer.concat(chunks);
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
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
