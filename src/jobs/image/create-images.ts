import { ensureDirectory } from '../../disk/durable-directory.ts';
import type { ReceivedHead } from '../../http/client.ts';
import { receivedHead } from '../../http/read-reply.ts';
import { type Answer, answered } from './answered.ts';
import { brokenOff } from './broken-off.ts';
import { imageJournal } from './image-journal.ts';
import type { ImageDeps, ImageOutcome, ImageRequest } from './image-request.ts';
import { IncomingImage } from './incoming-image.ts';
import { imagePath } from './publish-image.ts';
import { ImageReader } from './read-images.ts';

/**
 * Makes images: held -> intent durable -> sent -> each image durable in its part file as it comes -> the reply, Base64 left out,
 * durable as the job's last record -> each image under its name, and recorded (promises, sections 2 to 4). Images that
 * come as a URL are downloaded like any output. Nothing is sent a second time once a byte may have left.
 * Throws the GwError of a refusal, `unknown_outcome` where nothing came of a request that may have been taken, or what
 * ended the run before anything was sent; where something came, the error is in the outcome. The ledger holds either.
 */
export async function createImages(request: ImageRequest, deps: ImageDeps): Promise<ImageOutcome> {
  const { ledger, client, clock, progress, signal, silenceMs } = deps;
  const { endpoint, input, intent, streams, outputsExpected, partialsExpected, keepPartials } = request;
  const begin = () => ledger.begin(intent, request.key);
  const hold = await (request.within?.(begin) ?? begin());
  const { key } = hold;
  const startedMs = clock.steady();
  const names = { ...intent, id: key, atMs: clock.now() };
  const journal = imageJournal(key, ledger, deps.warn);
  const show = (status: string) =>
    progress.task({ id: key, status, state: 'running', elapsedMs: clock.steady() - startedMs });
  let begun = 0;
  let wasSent = false;
  const reader = new ImageReader({
    begin(role) {
      const { dir } = imagePath(intent.save, names, begun);
      begun += 1;
      return new IncomingImage({ dir: madeDirectory(dir), role, journal });
    },
    onPartial: (count) => show(`partial ${count}${partialsExpected > 0 ? ` of ${partialsExpected}` : ''}`),
  });
  // Partial ones are waited for only where they are kept.
  const asked = { finals: outputsExpected, partials: keepPartials ? partialsExpected : 0 };
  const answer: Answer = { key, names, journal, reader, request };
  try {
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
            // A gateway may leave the connection open behind the end of its stream.
            if (reader.isOver(asked)) throw new StreamOver();
          },
        },
        {
          signal,
          silenceMs,
          onSend() {
            ledger.append(key, { event: 'sent' });
            wasSent = true;
          },
        },
      );
    } catch (error) {
      if (error instanceof StreamOver) {
        reader.end(true);
        return await answered(answer, head, deps);
      }
      reader.end(false);
      if (!streams || !reader.hasAll(outputsExpected)) return await brokenOff(error, wasSent, answer, deps);
      deps.warn('the stream broke off after its last image');
      return await answered(answer, head, deps);
    }
    reader.end(true);
    return await answered(answer, head, deps);
  } finally {
    progress.stop();
    hold.release();
  }
}

/** Ends the taking of a stream that has said all it had to say. */
class StreamOver extends Error {
  override readonly name = 'StreamOver';
}

/** A directory that cannot be made fails when the part is made in it. */
function madeDirectory(dir: string): string {
  try {
    ensureDirectory(dir, 0o777);
  } catch {
    // Said where it matters.
  }
  return dir;
}
