import type { IncomingMessage } from 'node:http';
import type * as z from 'zod/mini';
import { issuesOf, strictOf } from '../gateway/body.ts';
import { MB } from '../gateway/limits.ts';
import { unlistedIn } from '../gateway/unlisted.ts';
import { Refusal } from './reply.ts';
import type { World } from './route.ts';

/** The content of a request: JSON, or a form if the route accepts one. */
export interface RequestBody {
  readonly json?: unknown;
  readonly form?: FormBody;
}

/**
 * Reads a body by its content type. Throws Refusal (400) for a content type that the route does not accept, a body over
 * `maxBytes`, or invalid content.
 */
export async function readBody(
  request: IncomingMessage,
  { maxBytes, takesForm }: { readonly maxBytes: number | undefined; readonly takesForm: boolean },
): Promise<RequestBody> {
  const type = request.headers['content-type'] ?? '';
  if (takesForm && isFormType(type)) {
    return { form: await readForm(request, type, maxBytes ?? MAX_FORM_BYTES) };
  }
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    const sent = type === '' ? 'none was sent' : `${type} was sent`;
    const taken = `application/json${takesForm ? ' or multipart/form-data' : ''}`;
    throw new Refusal(400, `The Content-Type must be ${taken}; ${sent}.`, 'InvalidContentType');
  }
  return { json: parseJson(await readBytes(request, maxBytes)) };
}

/**
 * Passes each piece of a body to `take`. If the body exceeds `most` bytes, the rest is discarded and the Refusal (400)
 * comes at its end, so that a client that is still writing can read it.
 */
async function takeIn(pieces: Pieces, most: number, take: (piece: Buffer) => void): Promise<void> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes <= most) take(piece);
  }
  if (bytes <= most) return;
  throw new Refusal(
    400,
    `The request body has ${bytes} bytes; at most ${most / MB} MB are taken.`,
    'RequestTooLarge',
  );
}

type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

async function readBytes(request: IncomingMessage, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await takeIn(request, maxBytes, (piece) => void pieces.push(piece));
  return Buffer.concat(pieces);
}

/** Far deeper than any documented body, and shallow enough for recursive code. */
const DEEPEST_JSON = 256;

/** The nesting depth of brackets outside of texts, counted up to one more than allowed. */
function depthOf(json: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let at = 0; at < json.length && deepest <= DEEPEST_JSON; at += 1) {
    const byte = json[at];
    if (byte === 0x5c) at += inText ? 1 : 0;
    else if (byte === 0x22) inText = !inText;
    else if (inText) continue;
    else if (byte === 0x5b || byte === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return deepest;
}

function parseJson(bytes: Uint8Array): unknown {
  if (depthOf(bytes) > DEEPEST_JSON) {
    throw new Refusal(400, `The JSON is nested deeper than ${DEEPEST_JSON} levels.`, 'InvalidRequest');
  }
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

/**
 * Checks a body: returns the first rule that it breaks, or the body as read and the names of undocumented fields (without
 * list indexes). A strict sandbox refuses such fields.
 */
export function readAgainst(
  schema: z.ZodMiniType,
  body: unknown,
  { strict }: Pick<World, 'strict'>,
): { readonly issue: z.core.$ZodIssue } | { readonly unlisted: string[]; readonly read: unknown } {
  const strictly = issuesOf(strictOf(schema), body);
  const { broken, unshown, read } =
    strict || strictly.broken.length === 0 ? strictly : issuesOf(schema, body);
  const [issue] = broken;
  if (issue) return { issue };
  return { unlisted: [...new Set(unlistedIn([...strictly.broken, ...unshown]))], read };
}

/** As `readAgainst`; throws the Refusal (400 `InvalidParameter`) that names the first field and its rule. */
export function checkBody(schema: z.ZodMiniType, body: unknown, world: Pick<World, 'strict'>) {
  const checked = readAgainst(schema, body, world);
  if ('issue' in checked) throw refusalOf(checked.issue);
  return checked;
}

function refusalOf(issue: z.core.$ZodIssue | undefined): Refusal {
  if (issue?.code !== 'unrecognized_keys')
    return refuseField(issue?.path ?? [], issue?.message ?? 'not valid');
  const unknown = issue.keys.map((key) => fieldName([...issue.path, key])).join(', ');
  const said = `Invalid parameter ${unknown}: not a parameter of this endpoint.`;
  return new Refusal(400, said, 'InvalidParameter', {}, unknown);
}

/** Removes the flag of gw from a rule's text, because other programs use the sandbox too. */
export const withoutFlags = (rule: string) => rule.replace(/ \((gw [a-z ]+)?--[a-z-]+\)/, '');

/** The refusal (400 `InvalidParameter`) of a field for a broken rule; an empty path is the body. */
export const refuseField = (path: readonly PropertyKey[], rule: string): Refusal =>
  new Refusal(
    400,
    `Invalid parameter ${fieldName(path) || 'body'}: ${withoutFlags(rule)}.`,
    'InvalidParameter',
    {},
    fieldName(path) || 'body',
  );

/** A part of a multipart body. */
export interface FormPart {
  /** The field's name, such as `image[]`. */
  readonly field: string;
  /** The name of a file; absent for a text field. */
  readonly name?: string;
  readonly type?: string;
  /** Only the beginning if the form is large; `sizeBytes` is the full size. */
  readonly bytes: Buffer;
  readonly sizeBytes: number;
}

/** A multipart body: its text fields by name, each with all its values, and its files in order. */
export interface FormBody {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly FormPart[];
}

/** The sandbox's own limit for a form if the endpoint has none; the document states no gateway-wide limit. */
const MAX_FORM_BYTES = 512 * MB;
/** The bytes of all parts that are kept; of later parts only the beginning is kept, which contains an image's size. */
const KEPT_BYTES = 16 * MB;
const KEPT_OF_LATER_BYTES = 256 * 1024;

export const isFormType = (contentType: string | undefined): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

/** Reads a multipart body. Throws Refusal (400 `InvalidRequest`) for an invalid or incomplete one. */
export async function readForm(
  pieces: Pieces,
  contentType: string,
  maxBytes = MAX_FORM_BYTES,
): Promise<FormBody> {
  const splitter = new FormSplitter(contentType);
  await takeIn(pieces, maxBytes, (piece) => splitter.take(piece));
  const { parts } = splitter;
  if (!parts) throw new Refusal(400, 'The request body is not valid multipart form data.', 'InvalidRequest');
  const fields = new Map<string, string[]>();
  const files: FormPart[] = [];
  for (const part of parts) {
    const { field, name, bytes } = part;
    if (name !== undefined) files.push(part);
    else fields.set(field, [...(fields.get(field) ?? []), bytes.toString('utf8')]);
  }
  return { fields, files };
}

/** A form in the log of requests, with its files by size. */
export const formNote = ({ fields, files }: FormBody): object => ({
  fields: Object.fromEntries(fields),
  files: files.map(({ bytes: _, ...file }) => file),
});

const CRLF = '\r\n';
const LONGEST_BOUNDARY = 70;
const LONGEST_HEAD = 64 * 1024;

type Head = Pick<FormPart, 'field' | 'name' | 'type'>;

/**
 * Parses a multipart body (RFC 2046, RFC 7578) as it arrives, so that a form of hundreds of megabytes needs tens. Node's
 * own parser holds it more than twice and refuses short boundaries.
 */
export class FormSplitter {
  readonly #delimiter: Buffer | undefined;
  readonly #parts: FormPart[] = [];
  #state: 'between' | 'head' | 'part' | 'end' | 'broken' = 'between';
  /** The unread bytes. The first delimiter may begin the body, without a line break before it. */
  #left: Buffer = Buffer.from(CRLF);
  #part: { readonly head: Head; readonly kept: Buffer[]; sizeBytes: number } | undefined;
  #keptBytes = 0;

  constructor(contentType: string) {
    const boundary = parameterOf(contentType, 'boundary');
    const isUsable = boundary !== undefined && boundary !== '' && boundary.length <= LONGEST_BOUNDARY;
    this.#delimiter = isUsable ? Buffer.from(`${CRLF}--${boundary}`, 'latin1') : undefined;
    if (!isUsable) this.#state = 'broken';
  }

  /** The parts of a complete form; undefined for an invalid or incomplete one. */
  get parts(): readonly FormPart[] | undefined {
    return this.#state === 'end' ? this.#parts : undefined;
  }

  take(piece: Buffer): void {
    if (this.#state === 'end' || this.#state === 'broken') return;
    this.#left = this.#left.length === 0 ? piece : Buffer.concat([this.#left, piece]);
    while (this.#state === 'head' ? this.#readHead() : this.#readToDelimiter());
  }

  /** Reads up to the next delimiter; true if there is more to read. */
  #readToDelimiter(): boolean {
    const delimiter = this.#delimiter;
    if (delimiter === undefined || this.#state === 'end' || this.#state === 'broken') return false;
    const at = this.#left.indexOf(delimiter);
    // The end of the available bytes may be the beginning of a delimiter.
    const until = at < 0 ? Math.max(0, this.#left.length - delimiter.length + 1) : at;
    this.#keep(this.#left.subarray(0, until));
    this.#left = this.#left.subarray(at < 0 ? until : at + delimiter.length);
    if (at < 0) return false;
    if (this.#part) {
      const { head, kept, sizeBytes } = this.#part;
      this.#parts.push({ ...head, bytes: Buffer.concat(kept), sizeBytes });
    }
    this.#part = undefined;
    this.#state = 'head';
    return true;
  }

  /** Reads what follows a delimiter: the end of the form, or the head of a part. */
  #readHead(): boolean {
    const left = this.#left;
    if (left.length < 2) return false;
    if (left.toString('latin1', 0, 2) === '--') return this.#become('end');
    const lineEnd = left.indexOf(CRLF);
    const headEnd = left.indexOf(CRLF + CRLF);
    if (headEnd < 0) return left.length > LONGEST_HEAD ? this.#become('broken') : false;
    if (left.toString('latin1', 0, lineEnd).trim() !== '') return this.#become('broken');
    const start = lineEnd + CRLF.length;
    const head = readPartHead(left.toString('utf8', start, Math.max(start, headEnd)));
    if (!head) return this.#become('broken');
    this.#left = left.subarray(headEnd + 2 * CRLF.length);
    this.#part = { head, kept: [], sizeBytes: 0 };
    this.#become('part');
    return true;
  }

  #become(state: 'part' | 'end' | 'broken'): false {
    this.#state = state;
    return false;
  }

  #keep(bytes: Buffer): void {
    const part = this.#part;
    if (!part || bytes.length === 0) return;
    const keptOfIt = Math.max(0, KEPT_OF_LATER_BYTES - part.sizeBytes);
    const kept = bytes.subarray(0, Math.max(keptOfIt, KEPT_BYTES - this.#keptBytes));
    part.sizeBytes += bytes.length;
    this.#keptBytes += kept.length;
    // A copy, because a view would keep the whole received chunk in memory.
    if (kept.length > 0) part.kept.push(Buffer.from(kept));
  }
}

function readPartHead(text: string): Head | undefined {
  const headers = new Map(
    text.split(CRLF).map((line) => {
      const [, name = '', value = ''] = /^([^:]*):\s*(.*)$/.exec(line) ?? [];
      return [name.toLowerCase(), value];
    }),
  );
  const disposition = headers.get('content-disposition') ?? '';
  const field = parameterOf(disposition, 'name');
  if (!/^form-data\s*;/i.test(disposition) || field === undefined) return undefined;
  const name = parameterOf(disposition, 'filename');
  const type = headers.get('content-type');
  return { field, ...(name !== undefined && { name }), ...(type && { type }) };
}

/** A parameter of a header, quoted or not; browsers encode quotes and line breaks in it as `%22`, `%0D`, `%0A`. */
function parameterOf(header: string, name: string): string | undefined {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, 'i').exec(header);
  const quoted = found?.[1]
    ?.replace(/\\(["\\])/g, '$1')
    .replace(/%(22|0D|0A)/gi, (escaped) => decodeURIComponent(escaped));
  return quoted ?? found?.[2];
}
