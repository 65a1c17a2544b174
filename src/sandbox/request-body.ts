import type { IncomingMessage } from 'node:http';
import type * as z from 'zod';
import { inOurWords } from '../gateway/body.ts';
import { MB } from '../gateway/limits.ts';
import { Refusal } from './reply.ts';
import type { World } from './route.ts';

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

/** A file of a multipart body. */
export interface FormFile {
  /** The name of its part: `image[]`. */
  readonly field: string;
  /** The file's own name. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A multipart body: its text fields by name, each with all its values, and its files in order. */
export interface FormBody {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly FormFile[];
}

/** The sandbox's own bound for a form, where the endpoint has none: the document states no gateway-wide limit. */
const MAX_FORM_BYTES = 512 * MB;

export const isFormType = (contentType: string | undefined): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

/** Reads a multipart body. Throws Refusal (400 `InvalidRequest`) for what is none, or breaks off. */
export async function readForm(bytes: Uint8Array, contentType: string): Promise<FormBody> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts = splitForm(body, contentType);
  if (!parts) throw new Refusal(400, 'The request body is not valid multipart form data.', 'InvalidRequest');
  const fields = new Map<string, string[]>();
  const files: FormFile[] = [];
  for (const { field, fileName, type = 'application/octet-stream', bytes: content } of parts) {
    if (fileName !== undefined) files.push({ field, name: fileName, type, bytes: content });
    else fields.set(field, [...(fields.get(field) ?? []), content.toString('utf8')]);
  }
  return { fields, files };
}

/** A form as the log of requests keeps it: its files by their sizes. */
export const formNote = ({ fields, files }: FormBody): object => ({
  fields: Object.fromEntries(fields),
  files: files.map(({ bytes, ...file }) => ({ ...file, sizeBytes: bytes.length })),
});

/** A part of a multipart body, its bytes a view into the body's. */
export interface FormPart {
  /** The name of its field. */
  readonly field: string;
  /** The name of its file, where it is one. */
  readonly fileName?: string;
  readonly type?: string;
  readonly bytes: Buffer;
}

const CRLF = '\r\n';
const LONGEST_BOUNDARY = 70;

/**
 * Takes a multipart body apart (RFC 2046, RFC 7578) without copying its files: sixteen images of 20 MB are one request.
 * Undefined for a body that is none or breaks off. Node's own reader makes two more copies and refuses short boundaries.
 */
export function splitForm(body: Buffer, contentType: string): FormPart[] | undefined {
  const boundary = parameterOf(contentType, 'boundary');
  if (!boundary || boundary.length > LONGEST_BOUNDARY) return undefined;
  const delimiter = Buffer.from(`${CRLF}--${boundary}`, 'latin1');
  const next = (from: number) => body.indexOf(delimiter, from);
  const parts: FormPart[] = [];
  // The first delimiter may begin the body, without a line break before it.
  const isFirst = delimiter.subarray(CRLF.length).equals(body.subarray(0, delimiter.length - CRLF.length));
  let at = isFirst ? -CRLF.length : next(0);
  while (at >= 0 || (isFirst && parts.length === 0)) {
    const after = at + delimiter.length;
    if (body.toString('latin1', after, after + 2) === '--') return parts;
    const lineEnd = body.indexOf(CRLF, after);
    const headEnd = body.indexOf(CRLF + CRLF, after);
    if (lineEnd < 0 || headEnd < 0 || body.toString('latin1', after, lineEnd).trim() !== '') return undefined;
    const start = headEnd + 2 * CRLF.length;
    at = next(start);
    const head = body.toString('utf8', lineEnd + CRLF.length, Math.max(lineEnd + CRLF.length, headEnd));
    const part = at < 0 ? undefined : readPart(head, body.subarray(start, at));
    if (!part) return undefined;
    parts.push(part);
  }
  return undefined;
}

function readPart(head: string, bytes: Buffer): FormPart | undefined {
  const headers = new Map(
    head.split(CRLF).map((line) => {
      const [, name = '', value = ''] = /^([^:]*):\s*(.*)$/.exec(line) ?? [];
      return [name.toLowerCase(), value];
    }),
  );
  const disposition = headers.get('content-disposition') ?? '';
  const field = parameterOf(disposition, 'name');
  if (!/^form-data\s*;/i.test(disposition) || field === undefined) return undefined;
  const fileName = parameterOf(disposition, 'filename');
  const type = headers.get('content-type');
  return { field, ...(fileName !== undefined && { fileName }), ...(type && { type }), bytes };
}

/** A parameter of a header's value, quoted or not; browsers write quotes and line breaks in it as `%22`, `%0D`, `%0A`. */
function parameterOf(header: string, name: string): string | undefined {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, 'i').exec(header);
  const quoted = found?.[1]
    ?.replace(/\\(["\\])/g, '$1')
    .replace(/%(22|0D|0A)/gi, (escaped) => decodeURIComponent(escaped));
  return quoted ?? found?.[2];
}
