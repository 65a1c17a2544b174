import type { CreateFlags, Row } from '../batch/rows.ts';
import type { KnownRow } from '../commands/batch/known-rows.ts';
import type { Context } from '../context.ts';
import { GwError, isUnknownOutcome } from '../errors.ts';
import { counted } from '../io/quantity-text.ts';
import type { Job } from '../ledger/event.ts';
import { type Chains, needsOf } from './chains.ts';

// Coordinates the rows of a running batch: which row waits for which, and which output it gets.

/** A row was not sent because the row that it waits for is not saved. */
export class NotReached extends GwError {
  /** `leftOut` is the first row of the chain, which this run leaves out; only another command creates it. */
  constructor(
    key: string,
    why: string | undefined,
    readonly leftOut = why === undefined ? key : undefined,
  ) {
    const hint = leftOut && `run ${leftOut} too: --only, --limit or skip leaves it out`;
    super('partial', `not sent: it waits for ${key}, which ${why ?? LEFT_OUT}`, { hint: hint ?? GO_ON });
  }
}

const LEFT_OUT = 'was left out and is not saved';
const GO_ON = 'once that row is saved, run the batch again with --retry-failed: it goes on with the chain';

interface Batch {
  readonly name: string;
  readonly creates: CreateFlags;
  /** The job of a row before this run; undefined if there is none, and if the row is made again. */
  readonly before: (key: string) => KnownRow | undefined;
}

export class RowOutputs {
  /** Rows that have ended in this run: why each is not saved, and which left-out row is the cause. */
  readonly #ended = new Map<string, readonly [why: string, leftOut?: string | undefined] | undefined>();

  constructor(private readonly batch: Batch) {}

  /** True if an earlier run has saved a row and it is not made again. */
  #isHome(key: string): boolean {
    return this.batch.before(key)?.state === 'saved';
  }

  /** The rows that a row needs; none if its job exists already and only has to be saved. */
  #needs(row: Row): string[] {
    const { before, creates } = this.batch;
    if (['running', 'unsaved'].includes(before(row.key)?.state ?? '')) return [];
    return needsOf(row, creates).map(({ key }) => key);
  }

  waitsFor(row: Row): string | undefined {
    return this.#needs(row).find((key) => !this.#ended.has(key) && !this.#isHome(key));
  }

  /** Why a row cannot be sent; undefined if all rows that it needs are saved. */
  hindrance(row: Row): NotReached | undefined {
    for (const key of this.#needs(row)) {
      const why = this.#ended.get(key);
      if (why) return new NotReached(key, ...why);
      if (!this.#ended.has(key) && !this.#isHome(key))
        return new NotReached(key, whyNot(this.batch.before(key)));
    }
    return undefined;
  }

  /** Records that a row has ended in this run; `error` says why it is not saved. */
  end(key: string, error: unknown): void {
    const said = `is not saved: ${error instanceof Error ? error.message : error}`;
    const why = isUnknownOutcome(error) ? 'is of unknown outcome' : said;
    if (error instanceof NotReached) this.#ended.set(key, ['was not sent', error.leftOut]);
    else this.#ended.set(key, error === undefined ? undefined : [why]);
  }

  /** Allows references to outputs of the same batch. */
  door(ctx: Context, isEarly: boolean) {
    const { name } = this.batch;
    return {
      isEarly,
      isOwn: ({ once }: Job) => once?.key.startsWith(`${name}/`) === true,
      rowJob: async (id: string) => {
        const key = `${name}/${id}`;
        if (isEarly && !this.#isHome(key)) return undefined;
        const { lastOfKey } = await import('../commands/once.ts');
        const { current } = await lastOfKey(key, ctx);
        if (current || isEarly) return current;
        throw new NotReached(key, undefined);
      },
    };
  }
}

/** Why a row that this run does not create is missing; undefined for a row that was left out. */
function whyNot(row: Pick<KnownRow, 'state' | 'reason'> | undefined): string | undefined {
  if (row?.state === 'failed') return `failed${row.reason ? `: ${row.reason}` : ''}`;
  return row?.state === 'unknown' ? 'is of unknown outcome' : undefined;
}

/**
 * What an unsent row waits for: a row that is still to be saved, or one that will never be saved as things are. Undefined
 * if it waits for none.
 */
export function waitsFor(
  key: string,
  chains: Chains,
  known: ReadonlyMap<string, KnownRow>,
): { readonly state: 'waiting' | 'not_sent'; readonly reason: string } | undefined {
  const seen = new Set<string>();
  let first: string | undefined;
  for (let at = key; ; ) {
    seen.add(at);
    const need = chains.needs(at).find((each) => known.get(each.key)?.state !== 'saved');
    if (!need) return first === undefined ? undefined : { state: 'waiting', reason: `waits for ${first}` };
    first ??= need.key;
    const why = whyNot(known.get(need.key));
    if (why !== undefined || !chains.has(need.key)) {
      const through = first === need.key ? '' : `waits for ${first}, which waits for `;
      return { state: 'not_sent', reason: `${through || 'waits for '}${need.key}, which ${why ?? LEFT_OUT}` };
    }
    if (seen.has(need.key)) return { state: 'not_sent', reason: `waits for itself, by way of ${need.key}` };
    at = need.key;
  }
}

/** The saved rows made from an output that has been made again since, directly or through other rows. */
export function staleRows(known: ReadonlyMap<string, KnownRow>): Set<string> {
  const stale = new Set<string>();
  // Each round finds the rows that depend on the stale rows of the previous round.
  for (let before = -1; stale.size > before; ) {
    before = stale.size;
    for (const [key, { state, from = [] }] of known) {
      const isOld = ({ row, id }: NonNullable<KnownRow['from']>[number]) =>
        stale.has(row) || (known.get(row)?.state === 'saved' && known.get(row)?.id !== id);
      if (state === 'saved' && from.some(isOld)) stale.add(key);
    }
  }
  return stale;
}

export const madeFromRows = ({ once, request }: Pick<Job, 'once' | 'request'>): KnownRow['from'] => {
  const name = once?.key.slice(0, once.key.indexOf('/'));
  const from = Object.entries(request?.outputs ?? {}).flatMap(([word, label]) => {
    const [, row = ''] =
      /^row:([\s\S]*?)(?:#(?:video|image|audio|first_frame|last_frame)(?:\.\d+)?)?$/.exec(word) ?? [];
    const [, id = ''] = /^job:(.*)#/.exec(label) ?? [];
    return row === '' ? [] : [{ row: `${name}/${row}`, id }];
  });
  return from.length > 0 ? from : undefined;
};

/** Warns once of stale rows, with the command that makes them again from those that follow no other stale row. */
export function warnOfStale(
  known: ReadonlyMap<string, KnownRow>,
  { named, anew }: { readonly named: string; readonly anew: (keys: readonly string[]) => string },
  { io }: Pick<Context, 'io'>,
): void {
  const stale = staleRows(known);
  const keys = [...stale].sort();
  const firsts = keys.filter((key) => !known.get(key)?.from?.some(({ row }) => stale.has(row)));
  const shown = keys.slice(0, 5).join(', ') + (keys.length > 5 ? ', …' : '');
  if (stale.size > 0)
    io.warn(
      `${named}: ${counted(keys.length, 'row is', 'rows are')} stale, made from what was made anew since: ${shown}; ` +
        `left as they are; make them anew with: ${anew(firsts)}`,
    );
}
