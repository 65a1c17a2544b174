import type { ExternalIds, TaskFamily } from '../../gateway/task.ts';
import { isOwnExternalId } from '../../ledger/job-key.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { FoundTask } from './external-id.ts';

/** A create that was lost, and the task that stands under its external ID. */
export interface Claimed {
  readonly found: FoundTask;
  /** Of the job whose create was lost. */
  readonly key: string;
  readonly externalId: string;
  /** The job is one of --once, which gives its task an external ID of gw's own. */
  readonly once?: unknown;
  readonly gateway: string;
  readonly family: Pick<TaskFamily, 'query'>;
  readonly externalIds: Pick<ExternalIds, 'createdAtMs'>;
  /** When it was looked up, by the gateway's clock. */
  readonly serverNowMs: number;
  /** How long before that it was first sent. */
  readonly sinceSentMs: number;
}

/** Two clocks of one gateway, and the second that a `Date` is rounded to, may differ by as much. */
const CLOCK_MARGIN_MS = 60_000;

/**
 * Whether the task under a lost create's external ID is not the one that it made: it is older than the create, or another
 * job of the ledger made it. An ID that gw made can only be its own job's. Throws what the ledger throws.
 */
export async function belongsToAnother(claimed: Claimed, ledger: Ledger): Promise<boolean> {
  const { key, found, gateway, family } = claimed;
  if (isOwnExternalId(claimed)) return false;
  if (isOlder(claimed)) return true;
  const [owner] = await ledger.find({ ids: [found.id], gateway, limit: 1 });
  // A task that was only taken in, to be followed, was made by whoever has its external ID.
  return owner !== undefined && owner.key !== key && owner.endpoint !== family.query.endpoint.name;
}

/** What does not say when it was made is taken for the one that was asked for. */
function isOlder({ found, externalIds, serverNowMs, sinceSentMs }: Claimed): boolean {
  const madeMs = externalIds.createdAtMs(found.record);
  return madeMs !== undefined && madeMs < serverNowMs - Math.max(0, sinceSentMs) - CLOCK_MARGIN_MS;
}

/** What to say of an external ID that another task has. */
export const takenBy = ({ id }: Pick<FoundTask, 'id'>, externalId: string): { readonly hint: string } => ({
  hint: `external ID ${externalId} belongs to task ${id}; give another with --external-id, or none`,
});
