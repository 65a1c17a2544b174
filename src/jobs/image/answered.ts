import { GwError } from '../../errors.ts';
import type { GatewayErrorFacts } from '../../gateway/gateway-error.ts';
import { findLink } from '../../gateway/image/elsewhere.ts';
import { isMistyped, readImages, readMissing } from '../../gateway/image/reply.ts';
import type { ReceivedHead } from '../../http/client.ts';
import { cutText, describeBody } from '../../http/read-reply.ts';
import type { DownloadJournal } from '../save/journal.ts';
import type { Naming } from '../save/output-path.ts';
import { brokenOff } from './broken-off.ts';
import type { ImageDeps, ImageOutcome, ImageRequest } from './image-request.ts';
import type { ImageReader } from './read-images.ts';
import { saveImages } from './save-images.ts';

/** What a request for images has come to so far. */
export interface Answer {
  readonly key: string;
  readonly names: Naming;
  readonly journal: DownloadJournal;
  readonly reader: ImageReader;
  readonly request: ImageRequest;
}

/**
 * A whole reply: its record reaches the ledger, then its images reach their names. One that cannot be read, or tells of
 * an error in place of images, leaves the outcome unknown. `head` is absent where a stream broke off after its end.
 */
export async function answered(
  answer: Answer,
  head: ReceivedHead | undefined,
  deps: ImageDeps,
): Promise<ImageOutcome> {
  const { key, reader, request } = answer;
  const { record, unreadable, error, images, refusal } = reader.reading;
  // An image that is named and holds nothing is one that could not be saved, not one that was refused.
  const hasImages = images.length > 0 || readImages(record).length > 0;
  const isReadable = request.endpoint.reply.safeParse(record).success && (hasImages || !isMistyped(record));
  if (record === undefined || !isReadable || (error && !hasImages)) {
    const text = unreadable ?? JSON.stringify(record) ?? '';
    const what =
      reader.reading.isOpenEnded && images.length === 0
        ? `the stream ended without ${reader.reading.partials.length > 0 ? 'the finished image' : 'an image'}`
        : `the reply is unreadable: HTTP ${head?.status ?? 200} with ${describeBody(text)}`;
    return brokenOff(unclear(error, what, answer, head), true, answer, deps);
  }
  const status = hasImages ? 'succeeded' : 'no image';
  let unrecorded: unknown;
  try {
    deps.ledger.append(key, {
      event: 'final',
      state: hasImages ? 'succeeded' : 'failed',
      status,
      record,
      serverDateMs: head?.serverDateMs ?? deps.clock.now(),
    });
  } catch (failure) {
    // The images come first: they are here and come only once.
    unrecorded = failure;
  }
  const outcome = { id: key, status, record };
  if (!hasImages) return { ...outcome, files: [], partials: [], error: withoutImage(refusal, record, head) };
  tellOfMissing(record, answer, deps);
  const { files, partials, error: unsaved } = await saveImages(answer, record, deps);
  const interrupted = deps.signal.aborted ? deps.signal.reason : undefined;
  const wrong = unsaved ?? (error && endedWith(error)) ?? unrecorded ?? interrupted;
  return { ...outcome, files, partials, ...(wrong !== undefined && { error: wrong }) };
}

/** A reply that says neither that images were made nor that none were. */
function unclear(
  error: GatewayErrorFacts | undefined,
  otherwise: string,
  { request }: Answer,
  head: ReceivedHead | undefined,
): GwError {
  const name = `${request.endpoint.method} ${request.endpoint.path}`;
  const what = error ? `the gateway broke off with an error: ${wordsOf(error)}` : otherwise;
  return new GwError('unknown_outcome', `the outcome of ${name} is not known: ${what}`, {
    status: head?.status,
    type: error?.type,
    code: error?.code,
    requestId: head?.requestId ?? error?.requestId,
  });
}

const wordsOf = ({ message, code, type }: GatewayErrorFacts): string =>
  cutText(message ?? code ?? type ?? 'without a message');

const endedWith = (error: GatewayErrorFacts): GwError =>
  new GwError('unavailable', `the stream ended with an error after its images: ${wordsOf(error)}`, {
    type: error.type,
    code: error.code,
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

/** Fewer images than were asked for are no failure, and not to be overlooked. */
function tellOfMissing(record: unknown, { reader, request }: Answer, { warn }: ImageDeps): void {
  const places = new Set(reader.reading.images.map(({ index }) => index));
  for (const { index } of readImages(record)) places.add(index);
  const asked = request.outputsExpected;
  if (places.size >= asked) return;
  const why = readMissing(record);
  warn(`${places.size} of ${asked} images came${why === undefined ? '' : `: ${cutText(why)}`}`);
}
