import { GwError, Interrupted } from '../../errors.ts';
import type { LedgerEvent } from '../../ledger/event.ts';
import { interruptedEvent, refusedEvent, unknownHint } from '../create/refused-event.ts';
import type { Answer } from './answered.ts';
import type { ImageDeps, ImageOutcome } from './image-request.ts';
import { saveImages } from './save-images.ts';

/**
 * A request that was refused, or whose reply broke off. Images that came whole before the break were paid for: they are
 * saved and listed, and the outcome stays unknown, because more may have been made than came. Throws the error where
 * nothing came.
 */
export async function brokenOff(
  error: unknown,
  wasSent: boolean,
  answer: Answer,
  deps: ImageDeps,
): Promise<ImageOutcome> {
  const { key } = answer;
  const event = eventOf(error, wasSent);
  try {
    if (event) deps.ledger.append(key, event);
  } catch {
    // What happened to the request says more than that it could not be written down; sync calls the job unknown.
  }
  const { files, partials, error: unsaved } = await saveImages(answer, undefined, deps);
  const isUnknown = event?.event === 'unknown';
  const told = isUnknown ? unknownOutcome(error, key, files.length) : error;
  if (files.length === 0 && partials.length === 0) throw told;
  if (unsaved instanceof Error) deps.warn(unsaved.message);
  return { id: key, status: isUnknown ? 'unknown' : 'refused', record: null, files, partials, error: told };
}

function eventOf(error: unknown, wasSent: boolean): LedgerEvent | undefined {
  if (error instanceof GwError && error.kind !== 'unknown_outcome') {
    return refusedEvent(error, wasSent);
  }
  if (error instanceof Interrupted) return interruptedEvent(error.message, wasSent);
  return wasSent ? { event: 'unknown', message: messageOf(error) } : undefined;
}

const messageOf = (error: unknown): string =>
  error instanceof GwError || error instanceof RangeError ? error.message : 'the reply could not be read';

function unknownOutcome(error: unknown, key: string, saved: number): GwError {
  const facts = error instanceof GwError ? error.facts : {};
  const kept =
    saved === 0
      ? ''
      : `; ${saved === 1 ? 'the image' : `${saved} images`} that came whole before it is saved`;
  return new GwError('unknown_outcome', `${messageOf(error)}${kept}`, {
    ...facts,
    taskId: key,
    hint: `it may have been made and paid for, and was not sent again; ${unknownHint(key, false)}`,
  });
}
