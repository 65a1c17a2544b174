import { GwError } from '../../errors.ts';
import { type TaskFamily, TaskId, YOUNG_MS } from '../../gateway/task.ts';
import type { Clock } from '../../host.ts';
import type { Client } from '../../http/client.ts';
import type { UnknownOutcome } from '../../http/retry.ts';
import type { Accepted } from './create.ts';

/** The task that a cut 2xx reply names, as far as it came; undefined where it names none. */
export const idInCutReply = ({ partialText }: UnknownOutcome): string | undefined =>
  TaskId.safeParse(partialText?.match(/"(?:task_id|id)"\s*:\s*"([^"\\]+)"/)?.[1]).data;

/** What it takes to ask whether a task is that of a lost create. */
export interface Confirm {
  readonly client: Client;
  readonly clock: Clock;
  /** What the create carried. */
  readonly externalId: string | undefined;
  readonly family: TaskFamily;
  readonly signal: AbortSignal;
}

/**
 * Asks the gateway for the task that a cut reply named: one that was just made may not be known everywhere yet. Undefined
 * where a complete answer says that there is none, or that it has another external ID than was sent: it is another's.
 * Throws what the client throws, and `unavailable` for a record that cannot be read: that leaves it open.
 */
export async function confirmId(
  id: string,
  { client, clock, externalId, family, signal }: Confirm,
): Promise<Accepted | undefined> {
  const { query } = family;
  // After an interrupt it is asked for once, which denies nothing: it may be too young.
  const isPatient = !signal.aborted;
  const young = { signal, retryNotFoundUntilMs: clock.now() + YOUNG_MS };
  let reply: Awaited<ReturnType<Client['send']>>;
  try {
    reply = await client.send(query.endpoint, query.input([id]), isPatient ? young : {});
  } catch (error) {
    if (isPatient && error instanceof GwError && error.kind === 'not_found') return undefined;
    throw error;
  }
  try {
    const record = query.records(reply.json, [id]).get(id);
    const named = [...(family.externalIds?.findMany(reply.json).records ?? [])];
    const own = named.find(([, task]) => task.id === id)?.[0] ?? externalId;
    if (record === undefined || own !== externalId) return undefined;
    const { status } = family.readTask(record, id);
    return { id, status, reply: record, isOwnReply: false };
  } catch {
    throw new GwError('unavailable', `the record of task ${id} cannot be read`);
  }
}
