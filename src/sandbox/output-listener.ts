import { createHash } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import { alphaFamily } from '../gateway/alpha/task.ts';
import { betaFamily } from '../gateway/beta/task.ts';
import { gammaFamily } from '../gateway/gamma/task.ts';
import { alphaFile } from './alpha/plan.ts';
import { betaFile } from './beta/products.ts';
import { deliver, mangle, replyInstead, vanish } from './deliver.ts';
import type { Struck } from './faults.ts';
import { gammaFile } from './gamma/plan.ts';
import { imageFile } from './image/reply.ts';
import { listen, type NoteRequest } from './listener.ts';
import { checkLink, type OutputFile } from './output-source.ts';
import { type SandboxReply, xmlErrorReply } from './reply.ts';
import type { World } from './route.ts';
import { downloadRow } from './store.ts';
import { type SandboxTask, statusAt } from './task.ts';

const redirectedMark = 'redirected';

/** The object store of the outputs: signed links, ranges, strong ETags, and the documented caps of downloads. */
export function outputListener(world: World, note: NoteRequest): RequestListener {
  const kept = new OutputFiles();
  return listen('output', world, note, async (request, response, url, entry) => {
    const redirected = url.searchParams.has(redirectedMark);
    const struck = world.faults.draw('output', (fault) => redirected && fault.kind === 'redirect');
    if (struck) entry.fault = struck.fault.spec;
    if (vanish(struck, request)) return;
    const reply = insteadOf(struck, url, world) ?? (await answer(request, url, struck, world, kept));
    await deliver(mangle(struck, reply), { request, response, entry, struck, world });
  });
}

const expiredReply = () => xmlErrorReply(403, 'AccessDenied', 'Request has expired');

async function answer(
  request: IncomingMessage,
  url: URL,
  struck: Struck | undefined,
  world: World,
  kept: OutputFiles,
): Promise<SandboxReply> {
  const isHead = request.method === 'HEAD';
  if (request.method !== 'GET' && !isHead) {
    const said = 'The specified method is not allowed against this resource.';
    return xmlErrorReply(405, 'MethodNotAllowed', said, { allow: 'GET, HEAD' });
  }
  const missing = () => xmlErrorReply(404, 'NoSuchKey', 'The specified key does not exist.');
  const [, id, name] = /^\/outputs\/([^/]+)\/([^/]+)$/.exec(url.pathname) ?? [];
  if (id === undefined || name === undefined) return missing();
  const nowMs = world.now();
  const link = checkLink(world.store.secret, url, nowMs);
  if (link === 'expired') return expiredReply();
  if (link === 'bad')
    return xmlErrorReply(403, 'SignatureDoesNotMatch', 'The signature of this link is not valid.');
  const file = findFile(id, name, world);
  if (!file) return missing();
  const { maxDownloads: most } = file;
  const variant = struck?.fault.kind === 'new-etag' ? struck.nth : 0;
  const bytes = await kept.get(`${id} ${name} ${variant}`, () => file.make(variant));
  if (most !== undefined && !isHead && world.store.append(downloadRow(id, name), nowMs) >= most) {
    return xmlErrorReply(403, 'AccessDenied', `The file was downloaded ${most} times, which is the limit.`);
  }
  return fileReply(bytes, file.type, request.headers, struck?.fault.kind === 'no-range');
}

/** The file function of each family. */
const filesOf: Readonly<
  Record<string, (task: SandboxTask<never>, name: string, world: World) => OutputFile | undefined>
> = { [alphaFamily.name]: alphaFile, [betaFamily.name]: betaFile, [gammaFamily.name]: gammaFile };

/** An existing file: of an image, or of a succeeded task whose record has not expired. */
function findFile(id: string, name: string, world: World): OutputFile | undefined {
  const task = world.store.task(id);
  if (!task) return imageFile(id, name, world);
  const nowMs = world.now();
  if (nowMs >= task.expiresAtMs || statusAt(task, nowMs).status !== 'succeeded') return undefined;
  return filesOf[task.family]?.(task as SandboxTask<never>, name, world);
}

function fileReply(
  bytes: Uint8Array,
  type: string,
  asked: IncomingMessage['headers'],
  ignoresRange: boolean,
): SandboxReply {
  const etag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
  const headers = { 'content-type': type, etag, ...(ignoresRange ? {} : { 'accept-ranges': 'bytes' }) };
  // `If-Range` allows a part only of the same strong ETag.
  const ifRange = asked['if-range']?.toString().trim() ?? etag;
  const range = ignoresRange || ifRange !== etag ? undefined : readRange(asked.range, bytes.length);
  if (range === 'unsatisfiable') {
    const said = 'The requested range is not satisfiable';
    return xmlErrorReply(416, 'InvalidRange', said, { etag, 'content-range': `bytes */${bytes.length}` });
  }
  if (!range) return { status: 200, headers, body: bytes };
  const { start, end } = range;
  return {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end}/${bytes.length}` },
    body: bytes.subarray(start, end + 1),
  };
}

/** The reply of faults that replace a file. */
function insteadOf(struck: Struck | undefined, url: URL, world: World): SandboxReply | undefined {
  if (struck?.fault.kind === 'expired') return expiredReply();
  // To a client, the same listener under its other host name is another origin.
  const target = new URL(`${url.pathname}${url.search}`, world.outputUrl().replace('127.0.0.1', 'localhost'));
  target.searchParams.set(redirectedMark, '1');
  return replyInstead(struck, { status: 302, to: target.href }, (status, headers) =>
    xmlErrorReply(status, status >= 500 ? 'InternalError' : 'AccessDenied', 'Please try again.', headers),
  );
}

/** The bytes of a reply; `end` is the last one. */
type ByteRange = Readonly<Record<'start' | 'end', number>>;

/**
 * Parses a `Range` header for a file of `sizeBytes`. Undefined means the whole file (no header, another unit, several
 * ranges, or an invalid header); `unsatisfiable` means 416.
 */
export function readRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const suffix = Number(last);
    if (suffix === 0 || sizeBytes === 0) return 'unsatisfiable';
    return { start: Math.max(0, sizeBytes - suffix), end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

/** The longest film and the largest picture have about 10 MB. */
const KEPT_FILES = 6;

/** Makes files when they are requested, each once, and keeps the latest in memory. */
class OutputFiles {
  readonly #made = new Map<string, Promise<Uint8Array>>();

  /** The bytes of a file; they are made now unless they are kept under this key. */
  get(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#made.get(key);
    if (known) return known;
    const making = make();
    making.catch(() => this.#made.delete(key));
    this.#made.set(key, making);
    const [oldest = key] = this.#made.keys();
    if (this.#made.size > KEPT_FILES) this.#made.delete(oldest);
    return making;
  }
}
