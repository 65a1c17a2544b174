import { createHash } from 'node:crypto';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { once } from '../../host.ts';
import type { IntentEvent } from '../../ledger/event.ts';
import { newJobKey } from '../../ledger/job-key.ts';

type Body = Readonly<Record<string, unknown>>;

/** The parts of a request that the ledger keeps: all but the body. */
export type Intent = Omit<IntentEvent, 'bodySha256' | 'externalId'>;

/** How to make, wait for and save a job; only what the user said, so that an earlier job keeps its own values. */
export interface HowAsked {
  readonly wait?: boolean;
  readonly queue?: boolean;
  readonly count?: number;
  readonly waitTimeout?: number;
  /** End of a row's wait in ms of the steady clock, for all its tries: images have no --wait-timeout. */
  readonly deadlineMs?: number;
  readonly interval?: number;
  readonly out?: string;
  readonly force?: boolean;
  readonly download?: boolean;
  readonly sidecar?: boolean;
  /** The key under which the job is made at most once. */
  readonly once?: string;
  /** Makes a new job if the last one failed; a number: if the last one is an earlier attempt than that. */
  readonly again?: boolean | number;
  /** Accepts the key's job even if its request differs, because the caller has already compared them. */
  readonly keepsOther?: boolean;
  /** Digests of fields that were checked elsewhere; a request with other fields is not made. */
  readonly expects?: Readonly<Record<string, string>> | undefined;
  readonly maxCost?: { readonly amount: number; readonly currency?: string | undefined };
  readonly unpriced?: boolean;
}

/**
 * A paid job as requested. Argv, a row of a batch and a row of a queue are all parsed into this frozen value, and later
 * code does not ask where it came from.
 */
export interface JobRequest<F extends Family = Family> {
  readonly family: F;
  readonly endpoint: Endpoint;
  /** The checked body: without the external ID that gw adds, and with placeholders for uploaded files. */
  readonly body: Body;
  /**
   * Model, prompt, media by name and digest, settings, save target, profile and gateway; `request` allows the same
   * request to be repeated on another day or another machine.
   */
  readonly intent: Intent;
  readonly how: HowAsked;
  /** How many main output files are requested. */
  readonly outputsExpected: number;
  /** The flag for a path in the body, for messages. */
  readonly flagOf: (path: readonly PropertyKey[]) => string | undefined;
}

/** A create body as it is sent, and the key of its job. */
export interface IdentifiedBody {
  readonly key: string;
  readonly body: Body;
  readonly externalId: string | undefined;
}

/** Gives a create body its external ID: the one that it already has, else `ownId`, by default the key of its job. */
export function identifyBody(
  { externalIds }: Pick<TaskFamily, 'externalIds'>,
  body: Body,
  key: string = newJobKey(),
  ownId: string = key,
): IdentifiedBody {
  if (!externalIds) return { key, body, externalId: undefined };
  const identified = externalIds.idOf(body) === undefined ? externalIds.withId(body, ownId) : body;
  return { key, body: identified, externalId: externalIds.idOf(identified) };
}

/** A digest that is equal for equal bodies. */
export const digestOf = (body: unknown): string =>
  createHash('sha256').update(JSON.stringify(body)).digest('hex');

/** Computes the body's digest for any external ID; the part before the ID is hashed only once, on first use. */
export function digestsOf(
  family: Pick<TaskFamily, 'externalIds'>,
  body: IdentifiedBody['body'],
): (externalId: string | undefined) => string {
  const anyId = newJobKey();
  const begun = once(() => {
    const text = JSON.stringify(identifyBody(family, body, anyId).body);
    const [before = '', after] = text.split(JSON.stringify(anyId));
    const hash = createHash('sha256').update(before);
    // The body has no place for the ID, or already has its own.
    return after === undefined ? hash.digest('hex') : { hash, after };
  });
  return (externalId = anyId) => {
    const made = begun();
    if (typeof made === 'string') return made;
    return made.hash
      .copy()
      .update(`${JSON.stringify(externalId)}${made.after}`)
      .digest('hex');
  };
}
