import { createHash } from 'node:crypto';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Family, TaskFamily } from '../../gateway/task.ts';
import { once } from '../../host.ts';
import type { IntentEvent } from '../../ledger/event.ts';
import { newJobKey } from '../../ledger/job-key.ts';

type Body = Readonly<Record<string, unknown>>;

/** What the ledger keeps of a request: the request without its body. */
export type Intent = Omit<IntentEvent, 'bodySha256' | 'externalId'>;

/** How a job is made, waited for and saved; only what was said, so that a job made before keeps what was said then. */
export interface HowAsked {
  readonly wait?: boolean;
  readonly queue?: boolean;
  readonly count?: number;
  readonly waitTimeout?: number;
  readonly interval?: number;
  readonly out?: string;
  readonly force?: boolean;
  readonly download?: boolean;
  readonly sidecar?: boolean;
  /** The key under which the job is made at most once. */
  readonly once?: string;
  /** Make a new one where the last one ended badly; a number: where the last is an earlier attempt than this one. */
  readonly again?: boolean | number;
  /** The job of the key counts also where it asked for something else: whoever asks has compared them. */
  readonly keepsOther?: boolean;
  /** Digests of the fields that were checked elsewhere: nothing else is made. */
  readonly expects?: Readonly<Record<string, string>> | undefined;
  readonly maxCost?: { readonly amount: number; readonly currency?: string | undefined };
  readonly unpriced?: boolean;
}

/**
 * A paid job as it was asked for. Argv, a row of a batch and a row of a queue are read into this one value; it is frozen, and
 * from there on nobody asks where it came from.
 */
export interface JobRequest<F extends Family = Family> {
  readonly family: F;
  readonly endpoint: Endpoint;
  /** As it was checked: without the external ID that gw gives it, and with stand-ins for files that are uploaded or sent as a form. */
  readonly body: Body;
  /**
   * Model, prompt, media by name and digest, settings, where to save, profile and gateway; `request` is what the same request
   * is made from again, on another day or another machine.
   */
  readonly intent: Intent;
  readonly how: HowAsked;
  /** Files of equal rank that are asked for. */
  readonly outputsExpected: number;
  /** The flag of a place in the body, for messages. */
  readonly flagOf: (path: readonly PropertyKey[]) => string | undefined;
}

/** A create body as it is sent, and the key of the job that it makes. */
export interface IdentifiedBody {
  readonly key: string;
  readonly body: Body;
  readonly externalId: string | undefined;
}

/**
 * Gives a create body its external ID: the one that it carries, else `ownId`, as a rule the key of the job that it is going
 * to make.
 */
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

/** Tells whether two bodies are the same. */
export const digestOf = (body: unknown): string =>
  createHash('sha256').update(JSON.stringify(body)).digest('hex');

/** The digest of a body under any external ID; what does not depend on that is summed once, when it is first asked for. */
export function digestsOf(
  family: Pick<TaskFamily, 'externalIds'>,
  body: IdentifiedBody['body'],
): (externalId: string | undefined) => string {
  const anyId = newJobKey();
  const begun = once(() => {
    const text = JSON.stringify(identifyBody(family, body, anyId).body);
    const [before = '', after] = text.split(JSON.stringify(anyId));
    const hash = createHash('sha256').update(before);
    // It takes none, or has its own.
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
