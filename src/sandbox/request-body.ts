import type { IncomingMessage } from 'node:http';
import type * as z from 'zod/mini';
import { issuesOf, strictOf } from '../gateway/body.ts';
import { MB } from '../gateway/limits.ts';
import { unlistedIn } from '../gateway/unlisted.ts';
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
 * Hands each piece of a body on, to its end. Of one over `most` bytes the rest is thrown away and it is refused (400) at
 * its end, so that a client that is still writing gets to read the refusal.
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

/** Deeper than any documented body by far, and shallow enough for what walks through one. */
const DEEPEST_JSON = 256;

/** How deep the brackets outside of texts are nested, up to one more than is taken. */
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
 * Looks at a body: the first rule that it breaks, or the body as it is read and the names of what the document neither lists
 * nor forbids, without places in lists. A strict sandbox takes none of these.
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

/** A rule in words for any program: without the flag of gw that stands behind it. */
export const withoutFlags = (rule: string) => rule.replace(/ \((gw [a-z ]+)?--[a-z-]+\)/, '');

/** The refusal (400 `InvalidParameter`) of a field for a rule that it breaks; an empty path is the body. */
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
  /** `image[]`. */
  readonly field: string;
  /** Of a file. */
  readonly name?: string;
  readonly type?: string;
  /** Its beginning, where the form is large; `sizeBytes` is of all of it. */
  readonly bytes: Buffer;
  readonly sizeBytes: number;
}

/** A multipart body: its text fields by name, each with all its values, and its files in order. */
export interface FormBody {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly FormPart[];
}

/** The sandbox's own bound for a form, where the endpoint has none: the document states no gateway-wide limit. */
const MAX_FORM_BYTES = 512 * MB;
/** Of a form's parts so much is kept in all, and of those that come later the beginning, where an image has its size. */
const KEPT_BYTES = 16 * MB;
const KEPT_OF_LATER_BYTES = 256 * 1024;

export const isFormType = (contentType: string | undefined): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

/** Reads a multipart body. Throws Refusal (400 `InvalidRequest`) for what is none, or breaks off. */
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

/** A form as the log of requests keeps it: its files by their sizes. */
export const formNote = ({ fields, files }: FormBody): object => ({
  fields: Object.fromEntries(fields),
  files: files.map(({ bytes: _, ...file }) => file),
});

const CRLF = '\r\n';
const LONGEST_BOUNDARY = 70;
const LONGEST_HEAD = 64 * 1024;

type Head = Pick<FormPart, 'field' | 'name' | 'type'>;

/**
 * Takes a multipart body apart (RFC 2046, RFC 7578) as it comes, so that a form of hundreds of megabytes takes tens.
 * Node's own reader holds all of it, twice more than once, and refuses short boundaries.
 */
export class FormSplitter {
  readonly #delimiter: Buffer | undefined;
  readonly #parts: FormPart[] = [];
  #state: 'between' | 'head' | 'part' | 'end' | 'broken' = 'between';
  /** What was not looked at yet. The first delimiter may begin the body, without a line break before it. */
  #left: Buffer = Buffer.from(CRLF);
  #part: { readonly head: Head; readonly kept: Buffer[]; sizeBytes: number } | undefined;
  #keptBytes = 0;

  constructor(contentType: string) {
    const boundary = parameterOf(contentType, 'boundary');
    const isUsable = boundary !== undefined && boundary !== '' && boundary.length <= LONGEST_BOUNDARY;
    this.#delimiter = isUsable ? Buffer.from(`${CRLF}--${boundary}`, 'latin1') : undefined;
    if (!isUsable) this.#state = 'broken';
  }

  /** The parts of a form that has ended; undefined for what is none, or broke off. */
  get parts(): readonly FormPart[] | undefined {
    return this.#state === 'end' ? this.#parts : undefined;
  }

  take(piece: Buffer): void {
    if (this.#state === 'end' || this.#state === 'broken') return;
    this.#left = this.#left.length === 0 ? piece : Buffer.concat([this.#left, piece]);
    while (this.#state === 'head' ? this.#readHead() : this.#readToDelimiter());
  }

  /** Takes what comes before the next delimiter; whether there is more to look at. */
  #readToDelimiter(): boolean {
    const delimiter = this.#delimiter;
    if (delimiter === undefined || this.#state === 'end' || this.#state === 'broken') return false;
    const at = this.#left.indexOf(delimiter);
    // The end of what is there may be the beginning of a delimiter.
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
    // A copy, or each piece would hold on to the memory that it came in.
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

/** A parameter of a header's value, quoted or not; browsers write quotes and line breaks in it as `%22`, `%0D`, `%0A`. */
function parameterOf(header: string, name: string): string | undefined {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, 'i').exec(header);
  const quoted = found?.[1]
    ?.replace(/\\(["\\])/g, '$1')
    .replace(/%(22|0D|0A)/gi, (escaped) => decodeURIComponent(escaped));
  return quoted ?? found?.[2];
}
