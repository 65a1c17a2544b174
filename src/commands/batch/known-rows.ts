import { type Context, gatewayName, originOfGateway } from '../../context.ts';
import { familyNames, loadFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import { attemptOf, lastUnderKey, madeNothing } from '../../jobs/create/once.ts';
import { lostOutputs, OLD_AGE } from '../../jobs/job-view.ts';
import type { Job } from '../../ledger/event.ts';
import { loadSettled } from '../../ledger/settled.ts';

/** Where the row of a key stands, by the ledger alone. */
export const rowStates = ['saved', 'running', 'unsaved', 'failed', 'unknown', 'not_sent'] as const;
export type RowState = (typeof rowStates)[number];

/** What the ledger knows of a row. */
export interface KnownRow {
  readonly state: RowState;
  readonly family: string;
  /** The task's ID, or gw's own. */
  readonly id: string;
  readonly status: string;
  readonly files: readonly string[];
  /** From when on its outputs must be saved soon, Unix milliseconds; absent where none waits to be saved. */
  readonly urgentFromMs?: number | undefined;
  /** JSON: a digest of each field of the body that was sent, by its path; absent where another machine has sent it. */
  readonly fields?: string;
  /** Then what was asked for, as `askedDigest` has it. */
  readonly asked?: string | undefined;
}

/** The rows of a batch that were made before at the gateway in force, by their keys; the newest job of each counts. */
export async function knownRows(name: string, ctx: Context): Promise<Map<string, KnownRow>> {
  const origin = originOfGateway(gatewayName(await ctx.settings()));
  const isSettled = await loadSettled();
  const families = new Map<string, Family>();
  for (const family of familyNames) families.set(family, await loadFamily(family));
  const found = new Map<string, KnownRow & { readonly createdAtMs: number }>();
  await (await ctx.ledger()).find({
    // Each job is looked at and let go of: their records would take more memory than all that is kept of the rows.
    where(job) {
      const { once, gateway, id, key, family, status, files, createdAtMs } = job;
      if (!once?.key.startsWith(`${name}/`) || originOfGateway(gateway) !== origin || madeNothing(job))
        return false;
      if ((found.get(once.key)?.createdAtMs ?? Number.NEGATIVE_INFINITY) > createdAtMs) return false;
      const of = families.get(family);
      const isLost = of !== undefined && lostOutputs(job, of).length > 0;
      const state = isLost ? 'unsaved' : stateOf(job, isSettled);
      // What is lost is in no hurry.
      const urgentFromMs =
        state === 'unsaved' && !isLost
          ? (job.serverDateMs ?? 0) + (of?.linkLifeMs ?? 0) * OLD_AGE
          : undefined;
      found.set(once.key, {
        ...{ state, urgentFromMs },
        ...{ family, id: id ?? key, status: status ?? '', fields: JSON.stringify(once.fields), createdAtMs },
        files: files.map((file) => file.path),
      });
      return false;
    },
  });
  return found;
}

/**
 * The rows that were handed over to a queue and that this machine has not made since: what the queue told of as saved is
 * put to those that are known, and the keys of the others are given back. They may be made elsewhere at any time.
 */
export async function rowsElsewhere(
  name: string,
  known: Map<string, KnownRow>,
  ctx: Context,
): Promise<ReadonlySet<string>> {
  const { Memory } = await import('../machines/memory.ts');
  const elsewhere = new Set<string>();
  for (const [key, { asked, saved }] of (await Memory.open(name, ctx)).rows) {
    const state = known.get(key)?.state ?? 'not_sent';
    if (state !== 'not_sent' && state !== 'failed') continue;
    if (saved) {
      const { id, status, files } = saved;
      known.set(key, {
        ...{ state: 'saved', family: '', id: id ?? '', status, asked },
        files: files.map((file) => file.path),
      });
    } else elsewhere.add(key);
  }
  return elsewhere;
}

function stateOf(job: Job, isSettled: (job: Job) => boolean): RowState {
  switch (job.state) {
    case 'succeeded':
      return isSettled(job) ? 'saved' : 'unsaved';
    case 'running':
      return 'running';
    case 'not_sent':
      return 'not_sent';
    case 'intent':
    case 'sent':
    case 'unknown':
      return 'unknown';
    default:
      return 'failed';
  }
}

/** The last job of a row's key at the gateway in force, as this machine's ledger has it, and where the next would be made. */
export async function lastOfRow(key: string, ctx: Context): ReturnType<typeof lastUnderKey> {
  const origin = originOfGateway(gatewayName(await ctx.settings()));
  const ledger = await ctx.ledger();
  return lastUnderKey(origin, key, async (of) => (await ledger.find({ ids: [of] }))[0]);
}

/** Whether a job is the one that a row on a queue is about, and not an attempt before that. */
export const isWanted = (
  job: Job | undefined,
  { wanted = 1 }: { readonly wanted?: number | undefined },
): job is Job => job !== undefined && attemptOf(job) >= wanted;
