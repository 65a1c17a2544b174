import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { inOurWords } from '../gateway/body.ts';
import { MB } from '../gateway/media-limits.ts';
import { type FormBody, isFormType, MAX_FORM_BYTES, readForm } from './form-body.ts';
import { Refusal } from './reply.ts';
import type { World } from './world.ts';

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

/** A body's schema twice: refusing what the document does not list, and letting it pass. */
export interface BodySchemas {
  readonly strict: z.ZodType;
  /** The same rules otherwise; without it there is nothing that could pass. */
  readonly loose?: z.ZodType | undefined;
}

/**
 * Looks at a body: the first rule that it breaks, or the names of what the document neither lists nor forbids, without
 * places in lists. A strict sandbox takes none of these.
 */
export function readAgainst(
  { strict, loose }: BodySchemas,
  body: unknown,
  { strict: refusesUnlisted }: Pick<World, 'strict'>,
): { readonly issue: z.core.$ZodIssue } | { readonly unlisted: string[] } {
  const listed = strict.safeParse(body, { error: inOurWords }).error;
  const broken =
    refusesUnlisted || !loose ? listed : listed && loose.safeParse(body, { error: inOurWords }).error;
  const issue = broken?.issues[0];
  return issue ? { issue } : { unlisted: [...new Set(unlistedIn(listed?.issues ?? []))] };
}

/** As `readAgainst`; throws the Refusal (400 `InvalidParameter`) that names the first field and its rule. */
export function checkBody(schemas: BodySchemas, body: unknown, world: Pick<World, 'strict'>): string[] {
  const checked = readAgainst(schemas, body, world);
  if ('issue' in checked) throw refusalOf(checked.issue);
  return checked.unlisted;
}

function refusalOf(issue: z.core.$ZodIssue | undefined): Refusal {
  if (issue?.code !== 'unrecognized_keys')
    return refuseField(issue?.path ?? [], issue?.message ?? 'not valid');
  const unknown = issue.keys.map((key) => fieldName([...issue.path, key])).join(', ');
  const said = `Invalid parameter ${unknown}: not a parameter of this endpoint.`;
  return new Refusal(400, said, 'InvalidParameter', {}, unknown);
}

/** The fields that only the strict schema refuses: `tools.function.strict`. */
function* unlistedIn(
  issues: readonly z.core.$ZodIssue[],
  above: readonly PropertyKey[] = [],
): Generator<string> {
  for (const issue of issues) {
    const path = [...above, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) yield [...path, key].filter((part) => typeof part !== 'number').join('.');
    } else if (issue.code === 'invalid_union') {
      for (const branch of issue.errors) yield* unlistedIn(branch, path);
    }
  }
}

/** The refusal (400 `InvalidParameter`) of a field for a rule that it breaks; an empty path is the body. */
export const refuseField = (path: readonly PropertyKey[], rule: string): Refusal =>
  new Refusal(
    400,
    `Invalid parameter ${fieldName(path) || 'body'}: ${rule}.`,
    'InvalidParameter',
    {},
    fieldName(path) || 'body',
  );
