import { faultReason } from '../../disk/disk-fault.ts';
import { ClosedPipe, GwError, Interrupted, isUnknownOutcome, UnknownOutcome } from '../../errors.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { GatewayErrorFacts } from '../../gateway/gateway-error.ts';
import { findLink, readImages, readMissing, saysNoImage } from '../../gateway/image/reply.ts';
import { can } from '../../host.ts';
import type { ReceivedHead, RequestInput, SendOptions } from '../../http/client.ts';
import { receivedHead } from '../../http/read-reply.ts';
import { cutText, describeBody } from '../../http/refused-reply.ts';
import type { IntentEvent, LedgerEvent, SavedFile } from '../../ledger/event.ts';
import type { Within } from '../create/budget.ts';
import { endedBetween, hintOfUnknown, ofJob, refusedEvent } from '../create/lost.ts';
import { type Made, Sendings } from '../create/make.ts';
import { isKeptRefusal } from '../create/standing.ts';
import { mayHoldLongNumber } from '../job-view.ts';
import type { Naming } from '../save/output-path.ts';
import type { DownloadJournal } from '../save/part-file.ts';
import { partHome, refugeOf } from '../save/rescue.ts';
import type { Spend } from '../stats.ts';
import type { JobDeps } from '../watch/follow.ts';
import { IncomingImage } from './incoming-image.ts';
import { imageJournal, imagePath } from './publish-image.ts';
import { ImageReader } from './read-images.ts';
import { linksOf, planToSave, saveImages } from './save-images.ts';

/**
 * Makes images: hold -> durable intent -> send -> each image durable in its part file as it comes -> the reply without
 * Base64 durable as the job's last record -> each image renamed to its final name and recorded (promises, sections 2 to
 * 4). Images that come as a URL are downloaded like any output. Nothing is sent again once a byte may have left. Throws
 * only before the job begins, and what `onBegun` throws. The ledger holds the rest.
 */
export async function createImages(request: ImageRequest, deps: JobDeps): Promise<Made> {
  const { ledger, client, clock, progress, signal, silenceMs } = deps;
  const { endpoint, input, intent, streams, outputsExpected, partialsExpected, keepPartials } = request;
  const begin = (estimate?: Spend) => ledger.begin({ ...intent, ...(estimate && { estimate }) }, request.key);
  const hold = await (request.within?.(begin) ?? begin());
  const { key } = hold;
  const startedMs = clock.steady();
  const names = { ...intent, id: key, atMs: clock.now() };
  const journal = imageJournal(key, ledger, deps.warn);
  const refuge = refugeOf(ledger);
  const show = (status: string) =>
    progress.task({ id: key, status, state: 'running', elapsedMs: clock.steady() - startedMs });
  let begun = 0;
  const sendings = new Sendings({ key, ledger });
  const reader = new ImageReader({
    begin(role) {
      const { dir } = imagePath(intent.save, names, begun);
      begun += 1;
      return new IncomingImage({ home: partHome(dir, refuge, true), refuge, role, journal });
    },
    onPartial: (count) =>
      show(`partial ${count}${partialsExpected > 0 ? ` of ${partialsExpected * outputsExpected}` : ''}`),
  });
  // Partial images are only waited for if they are to be kept.
  const asked = { finals: outputsExpected, partials: keepPartials ? partialsExpected : 0 };
  const answer: Answer = { key, names, journal, reader, request, sendings };
  try {
    await request.onBegun?.();
    show('waiting for the image');
    let head: ReceivedHead | undefined;
    try {
      head = await client.receive(
        endpoint,
        { ...input, ...(streams && { stream: true }) },
        {
          onHead(wire) {
            head = receivedHead(wire);
          },
          takeChunk(chunk) {
            reader.push(chunk);
            // A gateway may leave the connection open after the end of its stream.
            if (reader.isOver(asked)) throw new StreamOver();
          },
        },
        {
          signal,
          silenceMs,
          deadlineMs: request.deadlineMs,
          onExchange: request.onExchange,
          onSend: sendings.onSend,
          onUnsent: sendings.onUnsent,
        },
      );
    } catch (error) {
      const isOver = error instanceof StreamOver;
      reader.end(isOver);
      const hasAll = isOver || (streams && reader.hasAll(outputsExpected));
      if (!hasAll) return await brokenOff(error, answer, head, deps);
      if (!isOver) deps.warn('the stream broke off after its last image');
      return await answered(answer, head, deps);
    }
    reader.end(true);
    return await answered(answer, head, deps);
  } finally {
    progress.stop();
    hold.release();
  }
}

/** Thrown to stop reading a stream that has delivered everything. */
class StreamOver extends Error {
  override readonly name = 'StreamOver';
}

/** The state of a request for images. */
export interface Answer {
  readonly key: string;
  readonly names: Naming;
  readonly journal: DownloadJournal;
  readonly reader: ImageReader;
  readonly request: ImageRequest;
  readonly sendings: Sendings;
}

/**
 * Handles a whole reply: its record goes to the ledger, then its images get their names. One that is unreadable, or
 * holds an error instead of images, leaves the outcome unknown. `head` is absent if a stream broke off after its end.
 */
async function answered(answer: Answer, head: ReceivedHead | undefined, deps: JobDeps): Promise<Made> {
  const { key, reader, request } = answer;
  const { record, unreadable, error, images, refusal } = reader;
  // An image that is named but empty counts as not saved, not as refused.
  const hasImages = images.length > 0 || readImages(record).length > 0;
  const isReadable = request.endpoint.reply.safeParse(record).success && (hasImages || saysNoImage(record));
  if (record === undefined || !isReadable || (error && !hasImages)) {
    const text = unreadable ?? JSON.stringify(record) ?? '';
    const what =
      reader.isOpenEnded && images.length === 0
        ? `the stream ended without ${reader.partials.length > 0 ? 'the finished image' : 'an image'}`
        : `its answer cannot be read: HTTP ${head?.status ?? 200} with ${describeBody(text)}`;
    return brokenOff(unclear(error, what, answer, head), answer, head, deps);
  }
  const job = { ...request.intent, key };
  const status = hasImages ? 'succeeded' : 'no image';
  const exact = mayHoldLongNumber(reader.text) ? await import('../watch/exact-record.ts') : undefined;
  const recordText = exact?.exactText(reader.text, record, record);
  leaveToSync(answer, record, deps);
  let unrecorded: unknown;
  try {
    deps.ledger.append(key, {
      event: 'final',
      state: hasImages ? 'succeeded' : 'failed',
      status,
      record,
      recordText,
      serverDateMs: head?.serverDateMs ?? deps.clock.now(),
    });
  } catch (failure) {
    // The images are saved first: they come only once.
    unrecorded = failure;
  }
  if (!hasImages) {
    const came = { status, record, recordText, files: [], partials: [] };
    return { kind: 'refused', job, came, error: ofJob(withoutImage(refusal, record, head), key) };
  }
  tellOfMissing(record, answer, deps);
  const { files, partials, error: unsaved } = await saveImages(answer, record, deps);
  const isLeft = hasLinkLeft(answer, record, files, unsaved);
  const interrupted = deps.signal.aborted ? deps.signal.reason : undefined;
  const failed = unrecorded === undefined ? unsaved : unrecordedAnswer(unrecorded, unsaved, isLeft);
  const wrong = failed ?? (error && endedWith(error, head)) ?? interrupted;
  return { kind: 'images', job, came: { status, record, recordText, files, partials }, error: wrong };
}

/** Plans a download before stdout has the linked images, so that a sync can fetch them after a kill. */
function leaveToSync(answer: Answer, record: unknown, deps: JobDeps): void {
  if (answer.request.toStdout && linksOf(answer, record).length > 0) planToSave(answer, true, deps);
}

/** True if an image has not been fetched from its link, except if the reader of stdout left and wants no more. */
const hasLinkLeft = (answer: Answer, record: unknown, files: readonly SavedFile[], error: unknown): boolean =>
  error !== undefined &&
  !(error instanceof ClosedPipe) &&
  linksOf(answer, record).some(({ role }) => !files.some((file) => file.role === role));

/** The error if the ledger could not store the reply: no later gw knows its links. */
function unrecordedAnswer(failure: unknown, unsaved: unknown, isLeft: boolean): unknown {
  const told = unsaved ?? failure;
  if (!(told instanceof GwError) || (unsaved !== undefined && !isLeft)) return told;
  const saved = 'what came is saved and needs nothing more; only gw jobs does not know of it';
  return told.told({ hint: isLeft ? ONLY_IN_RECORD : saved });
}

const ONLY_IN_RECORD =
  'gw jobs sync cannot fetch what the ledger has no link to: the links are in the record alone (--json)';

/** The error for a reply that neither holds images nor says that there are none. */
function unclear(
  error: GatewayErrorFacts | undefined,
  otherwise: string,
  { request }: Answer,
  head: ReceivedHead | undefined,
): GwError {
  const { endpoint, intent } = request;
  const name = `${endpoint.method} ${endpoint.path.replace('{model}', () => intent.model ?? '')}`;
  const what = error ? `the gateway broke off with an error: ${wordsOf(error)}` : otherwise;
  const facts = { status: head?.status, ...factsOf(error, head) };
  return new UnknownOutcome(`the gateway may have taken this job, but ${what} (${name})`, facts);
}

const factsOf = (error: GatewayErrorFacts | undefined, head: ReceivedHead | undefined) => ({
  type: error?.type,
  code: error?.code,
  requestId: head?.requestId ?? error?.requestId,
});

const wordsOf = ({ message, code, type }: GatewayErrorFacts): string =>
  cutText(message ?? code ?? type ?? 'without a message');

const endedWith = (error: GatewayErrorFacts, head: ReceivedHead | undefined): GwError =>
  new GwError('unavailable', `the stream ended with an error after its images: ${wordsOf(error)}`, {
    ...factsOf(error, head),
    hint: 'what came whole is saved; nothing was sent again',
  });

function withoutImage(refusal: string | undefined, record: unknown, head: ReceivedHead | undefined): GwError {
  const link = findLink(record);
  return new GwError('incomplete', `the reply holds no image${refusal ? `: ${cutText(refusal)}` : ''}`, {
    requestId: head?.requestId,
    hint: link
      ? `a link stands in ${link.path} of the record, which gw does not take for an image: ${cutText(link.url)}`
      : 'change the prompt or the settings; what came is in the record (--json)',
  });
}

/** Fewer images than requested is not a failure, but the user is warned. */
function tellOfMissing(record: unknown, { reader, request }: Answer, { warn }: JobDeps): void {
  const places = new Set(reader.images.map(({ index }) => index));
  for (const { index } of readImages(record)) places.add(index);
  const asked = request.outputsExpected;
  if (places.size >= asked) return;
  const why = readMissing(record);
  warn(`${places.size} of ${asked} images came${why === undefined ? '' : `: ${cutText(why)}`}`);
}

/**
 * Handles a refused request, or a reply that broke off. Images and links that came whole before the break were paid
 * for: they are saved and listed, but the outcome stays unknown, because more may have been made than came.
 */
async function brokenOff(
  error: unknown,
  answer: Answer,
  head: ReceivedHead | undefined,
  deps: JobDeps,
): Promise<Made> {
  const { key, reader } = answer;
  const event = eventOf(error, answer.sendings);
  const isUnknown = event.event === 'unknown';
  const came = reader.record;
  const record = isUnknown && readImages(came).some(({ url }) => url !== undefined) ? came : undefined;
  const links = record !== undefined && { record, serverDateMs: head?.serverDateMs ?? deps.clock.now() };
  if (links) leaveToSync(answer, record, deps);
  // The failure itself matters more than a failed write; sync will treat the job as unknown.
  const isRecorded = can(() => deps.ledger.append(key, { ...event, ...links }));
  const { files, partials, error: unsaved } = await saveImages(answer, record, deps);
  const isLeft = record !== undefined && hasLinkLeft(answer, record, files, unsaved);
  const linksHint = isRecorded ? 'gw jobs sync fetches what it had a link to' : ONLY_IN_RECORD;
  const refusal = error instanceof GwError ? ofJob(error, key) : error;
  const told = isUnknown ? unknownOutcome(error, key, files.length, isLeft ? linksHint : undefined) : refusal;
  const job = { ...answer.request.intent, key };
  const kind = isUnknown ? 'unknown' : 'refused';
  if (files.length > 0 || partials.length > 0 || record !== undefined) {
    if (unsaved instanceof Error) deps.warn(unsaved.message);
    return { kind, job, error: told, came: { status: kind, record: record ?? null, files, partials } };
  }
  const isNothing = event.event === 'refused' && !isKeptRefusal(event.kind);
  return { kind: isNothing ? 'nothing' : kind, job, error: told };
}

function eventOf(error: unknown, of: Sendings): Extract<LedgerEvent, { event: 'refused' | 'unknown' }> {
  if (error instanceof GwError && !isUnknownOutcome(error)) return refusedEvent(error, of.isSent);
  if (error instanceof Interrupted || !of.isSent) return endedBetween(error, of);
  return { event: 'unknown', message: faultReason(error) };
}

function unknownOutcome(error: unknown, key: string, saved: number, linksHint: string | undefined): GwError {
  const facts = error instanceof GwError ? error.facts : {};
  const whole = saved === 1 ? 'the image' : `${saved} images`;
  const kept = saved === 0 ? '' : `; ${whole} that came whole before it is saved`;
  const paid = 'it may have been made and paid for, and was not sent again';
  return new UnknownOutcome(`${faultReason(error)}${kept}`, {
    ...facts,
    taskId: key,
    hint: [paid, linksHint, hintOfUnknown({ key, family: 'image' })].filter(Boolean).join('; '),
  });
}

/** One paid request for images, checked and complete; `checkTarget` has checked its target. */
export interface ImageRequest {
  readonly endpoint: Endpoint;
  /** Path parameters, and the body as JSON (`body`) or as a form (`multipart`). */
  readonly input: RequestInput;
  /** True if the body asks for an event stream; a plain JSON reply is accepted anyway. */
  readonly streams: boolean;
  readonly outputsExpected: number;
  /** How many partial images were requested; shown as `partial 1 of 3`. */
  readonly partialsExpected: number;
  /** Whether to save partial images beside the final one: `name.partial-1.png`. */
  readonly keepPartials: boolean;
  /**
   * The intent for the ledger, of family `image`. `save` says where the images go; with `toStdout` its `download` is
   * false, and its target is where an image is kept that stdout does not take.
   */
  readonly intent: IntentEvent & { readonly family: 'image' };
  /** gw's own key for the job, if it is made under a key of --once. */
  readonly key?: string | undefined;
  readonly deadlineMs?: number | undefined;
  /** Begins the job within the user's limits, with its estimated cost. */
  readonly within?: Within | undefined;
  /** As in `MakeInput`. */
  readonly onBegun?: (() => Promise<void>) | undefined;
  readonly onExchange?: SendOptions['onExchange'];
  /** With `-o -`: receives the bytes of the one image (`io.outBytes`) in pieces. */
  readonly toStdout?: ((bytes: Uint8Array) => Promise<void>) | undefined;
}
