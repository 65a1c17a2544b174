// Apart from the records' schemas: what only shows a status does not pay for them at start.

/** Where a task stands, in gw's own three words; the gateway's word travels beside it. */
export type TaskState = 'running' | 'succeeded' | 'failed';

const badEnds = new Set(['failed', 'cancelled', 'canceled', 'expired', 'rejected']);

/** The words that mean "not finished yet" in any family; another unfinished word deserves one warning. */
const knownRunning = new Set(['queued', 'running', 'submitted', 'processing']);

/** Every status word that gw knows, of any family. */
export const taskStatuses: readonly string[] = [...knownRunning, 'succeeded', ...badEnds];

/**
 * Reads a gateway status. `succeeded` ends well and five words end badly, in any case; every other word, or none,
 * still runs ("States and transitions"; unknown states wait on).
 */
export function taskState(status: unknown): { state: TaskState; known: boolean; word: string } {
  const raw = typeof status === 'string' ? status : '';
  const word = raw.toLowerCase();
  if (word === 'succeeded') return { state: 'succeeded', known: true, word };
  if (badEnds.has(word)) return { state: 'failed', known: true, word };
  const known = knownRunning.has(word);
  return { state: 'running', known, word: known ? word : raw };
}

/** What an ID of the gateway may look like: safe as a path segment, a file name and a line of output. */
export const taskIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
