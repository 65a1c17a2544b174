import { unportable } from '../../batch/portable.ts';
import { faultsOf, type Place, placeText, type Row, readRows } from '../../batch/rows.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { type Context, gatewayName } from '../../context.ts';
import { OutsideFile } from '../../disk/confined-path.ts';
import { GwError, shellQuote, usage } from '../../errors.ts';
import { on } from '../../flags/flag.ts';
import type { AccountType } from '../../gateway/limits.ts';
import { once } from '../../host.ts';
import { keepYoungSpaceSmall } from '../../http/transport.ts';
import { oneLine, safeJson } from '../../io/escape.ts';
import type { Io } from '../../io/io.ts';
import { counted, durationText } from '../../io/quantity-text.ts';
import type { Estimate } from '../../jobs/cost.ts';
import { exactSum, spendText } from '../../jobs/stats.ts';
import { estimateMs } from '../../ledger/estimate.ts';
import { Chains, type Like } from '../../shots/chains.ts';
import { RowOutputs } from '../../shots/row-outputs.ts';
import { tellsCosts, warnOfBudget } from '../estimate-cost.ts';
import type { FollowedQueue } from '../machines/follow.ts';
import {
  allowOutside,
  defaultFlags,
  defaultsNote,
  fileFlags,
  manifestArgs,
  nameFlags,
  type OpenRows,
  openRows,
} from './flags.ts';
import { type KnownRow, knownRows } from './known-rows.ts';
import { familyOf, placeOf } from './places.ts';
import { type CheckedRow, creates, rowChecker } from './row-command.ts';

interface CheckLine {
  readonly text: string;
  readonly json: unknown;
}

/** A row that differs from the request of its job. */
interface ChangedRow extends Place {
  readonly key: string;
  readonly field: string;
  /** The state of its job, or of the row on a queue. */
  readonly state: string;
}

const MOST_TOLD = 10;

/** Names the rows that changed since their jobs were made, and the command that makes them again. */
export function warnOfChanged(
  { changed }: Pick<Tally, 'changed'>,
  named: string,
  retryFailed: boolean,
  { io }: Pick<Context, 'io'>,
): void {
  const kept = retryFailed ? changed.filter(({ state }) => state !== 'failed') : changed;
  for (const { key, field, state, ...place } of kept.slice(0, MOST_TOLD)) {
    const { after, next } = afterStates[state] ?? { after: 'was sent', next: redo };
    const way = `its job is left as it is; ${next.replace('KEY', () => shellQuote(key))}`;
    io.warn(`${named}:${placeText(place)}: ${field} changed after ${key} ${after}, and ${way}`);
  }
  if (kept.length > MOST_TOLD)
    io.warn(
      `${named}: ${counted(kept.length - MOST_TOLD, 'more row')} changed after their jobs were made, and are left as they are`,
    );
}

const redo = 'run with --redo KEY to make it again';
const afterStates: Readonly<Record<string, { readonly after: string; readonly next: string }>> = {
  saved: { after: 'was saved', next: redo },
  waiting: { after: 'was handed over', next: 'run the batch where it was handed over to change it' },
  failed: { after: 'failed', next: 'run with --retry-failed to make it as it now stands' },
  unknown: {
    after: 'was sent, and its outcome is not known',
    next: 'settle that first: gw jobs resolve KEY --as ID (or --as none)',
  },
};

/** Counts over a manifest, collected while it is checked. */
export class Tally {
  rows = 0;
  faults = 0;
  /** Rows that an earlier run has saved; `failedBefore` have failed and are not made again. */
  savedBefore = 0;
  failedBefore = 0;
  /** Keys of rows that are made again. */
  readonly redone: string[] = [];
  /** Rows that a run would send. */
  toMake = 0;
  /** Position of the last row of the manifest, even if the run leaves it out. */
  lastRow = 0;
  /** Rows that differ from the requests of their jobs. */
  readonly changed: ChangedRow[] = [];
  /** For a queue: the digest of each row whose inputs can be read. */
  readonly asked = new Map<string, string>();
  /** Rows to create whose request was made before under another key: own key to other key. */
  readonly alike = new Map<string, string>();
  readonly chains = new Chains(creates);
  /** Rows by command and model. */
  readonly kinds = new Map<string, Pick<CheckedRow, 'model'> & { command: string; rows: number }>();
  /** The estimated costs of the rows to create, by currency or unit. */
  readonly costs = new Map<string, number>();
  /** The number of these rows without a price, and the reason for the first one. */
  unpriced = 0;
  whyUnpriced = '';
  /** Unsaved rows in groups with the same estimate: their number, and the facts of the estimate. */
  readonly toDo = new Map<string, { readonly rows: number; readonly like: Like }>();

  constructor(
    /** The rows that the ledger knows. */
    readonly known: ReadonlyMap<string, KnownRow>,
    /** Digest of the request to key, for jobs that were made recently. */
    readonly lately: ReadonlyMap<string, string>,
    /** Keys of rows that were handed to other machines and that no report called saved; they are only followed. */
    readonly handed: ReadonlySet<string>,
    /** True if a row is made again, whatever the state of its job. */
    readonly isRedone: (key: string) => boolean = () => false,
    /** True if failed rows are made again. */
    readonly retriesFailed = false,
  ) {}

  /** The job of a row before this run; undefined if there is none, and if the row is made again. */
  readonly before = (key: string): KnownRow | undefined =>
    this.isRedone(key) ? undefined : this.known.get(key);

  /** True if a row has a job that this run replaces by no other, so that nothing of the row is sent any more. */
  stands(key: string): boolean {
    const state = this.before(key)?.state;
    return state !== undefined && (state !== 'failed' || !this.retriesFailed);
  }

  async add(given: Row, checked: Partial<CheckedRow>): Promise<void> {
    const { command, flags, key, line, nth, row } = given;
    const { model, estimate, changed, asked } = checked;
    this.rows += 1;
    const { resolution, duration } = flags;
    const like = { family: familyOf(command), model, settings: { resolution, duration } };
    this.chains.add(given, like);
    if (this.isRedone(key)) this.redone.push(key);
    const state = this.before(key)?.state;
    const isFollowed = this.handed.has(key);
    const isNew = state === undefined && !isFollowed;
    if (isNew) this.toMake += 1;
    if (estimate && !isFollowed && !this.stands(key)) this.#price(estimate);
    if (changed !== undefined && state !== undefined)
      this.changed.push({ key, line, nth, field: changed, state });
    if (this.lately.size > 0 && isNew && !this.isRedone(key) && asked) {
      const other = this.lately.get(await asked());
      if (other !== undefined) this.alike.set(key, other);
    }
    this.lastRow = row;
    if (state === 'failed' && !this.retriesFailed) this.failedBefore += 1;
    if (state === 'saved') this.savedBefore += 1;
    else {
      const alike = JSON.stringify(like);
      this.toDo.set(alike, { rows: (this.toDo.get(alike)?.rows ?? 0) + 1, like });
    }
    const kind = model === undefined ? command : `${command} ${model}`;
    this.kinds.set(kind, { command, model, rows: (this.kinds.get(kind)?.rows ?? 0) + 1 });
  }

  /** Warns of rows that repeat requests made under keys outside this manifest; true if there are any. */
  warnOfAlike({ io }: Pick<Context, 'io'>): boolean {
    const others = [...this.alike.values()].filter((key) => !this.chains.has(key));
    const names = [...new Set(others.map((key) => key.replace(/\/.*$/s, '/…')))];
    const as = `${names.slice(0, 3).join(', ')}${names.length > 3 ? ' and others' : ''}`;
    const rows = counted(others.length, 'row was', 'rows were');
    if (names[0]) io.warn(`${rows} made before as ${as}: made under another key they are paid for again`);
    return names.length > 0;
  }

  /** Describes the longest chain of rows that wait for each other. */
  longestChain(msOf: Parameters<Chains['longest']>[0]): CheckLine {
    const { rows, ms } = this.chains.longest(msOf);
    const text = `longest chain: ${counted(rows, 'row')} one after the other, ${likely(ms).text}`;
    return { text, json: { longest_chain: rows, ...likely(ms).json } };
  }

  #price(estimate: Estimate): void {
    if ('unknown' in estimate) {
      this.unpriced += 1;
      this.whyUnpriced ||= estimate.unknown;
    } else {
      const { amount, unit } = estimate;
      this.costs.set(unit, exactSum([this.costs.get(unit) ?? 0, amount]));
    }
  }
}

/** One fault may list everything that a row lacks, so the limit is large. */
const MAX_SHOWN = 4000;

/** A placeholder for requests that are only shown, never sent. */
const nowhere = { baseUrl: 'https://gateway.invalid', key: 'no-request-is-sent' };

export const showingOnly = (ctx: Context): Context => ({
  ...ctx,
  gateway: once(() => ctx.gatewayWith(nowhere)),
});

interface Fault extends Place {
  readonly message: string;
}

/**
 * Checks every row as its create would, without sending anything; yields each fault once and counts repetitions. A
 * spreadsheet repeats a fault of a column in every row, so its faults come at the end, with their lines.
 */
export async function* checkRows(...args: Parameters<typeof faultsIn>): AsyncGenerator<Fault> {
  const isSheet = /\.[ct]sv$/i.test(args[0].manifest.named);
  const linesOf = new Map<string, number[]>();
  for await (const fault of faultsIn(...args)) {
    const told = isSheet ? fault.message : `${placeText(fault)} ${fault.message}`;
    const lines = linesOf.get(told) ?? [];
    if (!isSheet && lines.length === 0) yield fault;
    lines.push(fault.line);
    linesOf.set(told, lines);
  }
  for (const [message, lines] of isSheet ? linesOf : [])
    yield {
      line: lines[0] ?? 1,
      message: new Set(lines).size === 1 ? message : `${message} (${rowsText(lines)})`,
    };
}

const MOST_LINES = 5;

/** `200 rows: lines 2, 3, 4, 5, 6, …, 201`; `rows` has each row's line, which rows of one count share. */
function rowsText(rows: readonly number[]): string {
  const lines = [...new Set(rows)];
  const shown = lines.length <= MOST_LINES + 1 ? lines : [...lines.slice(0, MOST_LINES), '…', lines.at(-1)];
  return `${counted(rows.length, 'row')}: lines ${shown.join(', ')}`;
}

/** Prints each warning once, because rows are read twice, and a row with a count several times. */
export const warningOnce = (io: Io, told = new Set<string>()): Io => ({
  ...io,
  warn: (text, urgent) => {
    if (!told.has(text)) io.warn(text, urgent);
    told.add(text);
  },
});

async function* faultsIn(
  input: OpenRows,
  tally: Tally,
  ctx: Context,
  { online = false, queue }: { readonly online?: boolean; readonly queue?: FollowedQueue | undefined } = {},
): AsyncGenerator<Fault> {
  const { named } = input.manifest;
  const io = warningOnce(ctx.io);
  let place: Place = { line: 1 };
  const warn = (text: string) => io.warn(`${named}:${placeText(place)}: ${text.replace(/^: /, '')}`);
  const showing = { ...showingOnly(ctx), ...(online && { online: ctx.gateway }) };
  const between = new RowOutputs({ ...input, before: tally.before });
  const check = rowChecker({ ...input.files, outputs: between.door(ctx, true) }, showing, warn);
  const stay = new Set<string>();
  const onLeftOut = (key: string, row: number) => {
    tally.chains.leaveOut(key);
    tally.lastRow = row;
  };
  for await (const read of readRows({ ...input, onLeftOut })) {
    ctx.signal.throwIfAborted();
    place = { line: read.line, nth: read.nth };
    const outside = input.files.outside.size;
    const faults = 'faults' in read ? [...read.faults] : [];
    const row = 'faults' in read ? read.rest : read;
    if (row !== undefined) {
      const bound = queue && unportable(row, creates, (text) => ctx.io.withoutSecrets(text));
      for (const name of bound?.staying ?? []) stay.add(name);
      faults.push(...(bound?.faults ?? []));
      try {
        const checked = await check(row, tally.before(row.key));
        if (queue) tally.asked.set(row.key, await checked.asked());
        if (faults.length === 0) await tally.add(row, checked);
      } catch (error) {
        ctx.signal.throwIfAborted();
        // Inputs matter only for what is still to be sent.
        const isOnQueue = queue ? await queue.isMade(row.key) : tally.handed.has(row.key);
        if (faults.length === 0 && (tally.stands(row.key) || isOnQueue)) {
          for (const file of [...input.files.outside].slice(outside)) input.files.outside.delete(file);
          await tally.add(row, {});
        }
        // Faults of outside files are reported once for all rows.
        else if (!(error instanceof OutsideFile)) {
          // A missing asset is a fault of its row.
          const isMissing = error instanceof GwError && error.kind === 'not_found';
          faults.push(...faultsOf(isMissing ? usage(error.message, error.hint) : error));
        }
      }
    }
    if (faults.length > 0) tally.faults += 1;
    if (faults.length > 0 && row) tally.chains.leaveOut(row.key);
    for (const message of faults) yield { ...place, message };
  }
  for (const name of stay) ctx.io.note(`${name} is left out: it is for this machine alone`);
  // Chains are known only after all rows are read; rows with own faults have been reported.
  const wrong = new Set<string>();
  for (const { key, ...fault } of tally.chains.faults()) {
    wrong.add(key);
    yield fault;
  }
  tally.faults += wrong.size;
  tally.rows -= wrong.size;
}

/** `gw batch check` prints every fault of a manifest, and what a run would create. */
export const check = defineCommand({
  args: manifestArgs,
  flags: {
    ...nameFlags,
    ...fileFlags,
    online: on('look up at the gateway whether assets can be used'),
    ...defaultFlags,
  },
  examples: [
    `printf 'command,prompt\\nvideo beta,a fox in the snow\\n' > foxes.csv && gw batch check foxes.csv`,
  ],
  notes: [
    'Checks every row as gw batch run would, media too, and sends nothing; needs no key (but with --online). Each fault is one line, ' +
      'FILE:LINE: field: message, and the exit code is 2 where there is one.',
    defaultsNote,
  ],
  // A manifest may be untrusted, so its text is escaped for terminals and CI logs.
  human: (line: CheckLine) => `${oneLine(line.text, MAX_SHOWN)}\n`,
  raw: (line) => `${safeJson(line.json)}\n`,
  async *run({ args, flags }, ctx): AsyncGenerator<Outcome<CheckLine>> {
    const input = await openRows(args, flags, ctx);
    const { named } = input.manifest;
    const lately = new Map<string, string>();
    const { known, elsewhere } = await knownRows(input.name, ctx, { lately });
    const tally = new Tally(known, lately, elsewhere);
    const letGrow = keepYoungSpaceSmall();
    try {
      for await (const fault of checkRows(input, tally, ctx, { online: flags.online === true })) {
        const { line, nth: row, message } = fault;
        const text = `${named}:${placeText(fault)}: ${message}`;
        yield { value: { text, json: { file: named, line, row, message } } };
      }
    } finally {
      letGrow();
      input.close();
    }
    if (input.files.outside.size > 0) await allowOutside(input, false, ctx);
    warnOfChanged(tally, named, false, ctx);
    tally.warnOfAlike(ctx);
    if (tally.faults > 0) {
      const of = tally.faults === 1 ? 'one row is' : `${tally.faults} rows are`;
      const others = `${tally.rows} can be sent as ${tally.rows === 1 ? 'it stands' : 'they stand'}`;
      throw usage(`${named}: ${of} wrong, and ${others}`);
    }
    if (tally.rows === 0) throw usage(`${named}: there is no row in it`);
    for (const [kind, json] of tally.kinds)
      yield { value: { text: `${counted(json.rows, 'row')} of ${kind}`, json } };
    const { savedBefore: saved, rows, costs, unpriced, whyUnpriced } = tally;
    if (saved > 0) yield { value: { text: `${saved} of ${rows} saved already`, json: { saved, rows } } };
    if ((costs.size > 0 || unpriced > 0) && (await tellsCosts({}, ctx))) {
      const spend = [...costs].map(([unit, amount]) => ({ unit, amount }));
      const words = [
        ...(spend.length > 0 ? [`estimated cost: ${spendText(spend)} by your price file`] : []),
        ...(unpriced > 0 ? [`${counted(unpriced, 'row')} of unknown cost: ${whyUnpriced}`] : []),
      ];
      yield { value: { text: words.join('; '), json: { estimated_cost: spend, unpriced } } };
    }
    await warnOfBudget(tally.toMake, costs, ctx);
    const hasChains = tally.chains.hasAny;
    if (saved === rows && !hasChains) return;
    const msOf = await estimates(ctx);
    if (hasChains) yield { value: tally.longestChain(msOf) };
    if (saved === rows) return;
    const leftMs = likelyMs(tally, msOf, (await ctx.settings()).account.value);
    if (leftMs !== 0) yield { value: likely(leftMs) };
  },
});

const likely = (ms: number | undefined) => ({
  text: ms === undefined ? 'how long it takes is not known yet' : `about ${durationText(ms)}`,
  json: { likely_s: ms === undefined ? null : Math.round(ms / 1000) },
});

/** The number of newest jobs that are searched for ones like a row. */
const JUDGED_BY = 500;

/** Estimates a row's duration from similar jobs at this gateway; undefined if there are none. */
async function estimates(ctx: Context) {
  const gateway = gatewayName(await ctx.settings());
  const jobs = await (await ctx.ledger()).find({ states: ['succeeded'], gateway, limit: JUDGED_BY });
  // An image records no acceptance time, and takes only seconds.
  return (like: Like) => (like.family === 'image' ? 0 : estimateMs(jobs, { ...like, gateway }));
}

/** Estimates the time for the unfinished rows with the allowed parallel tasks; undefined if some row has no estimate. */
function likelyMs(
  { toDo, chains, savedBefore }: Tally,
  msOf: (like: Like) => number | undefined,
  account: AccountType,
): number | undefined {
  const ofPool = new Map<string, number>();
  for (const { rows, like } of toDo.values()) {
    const each = msOf(like);
    if (each === undefined) return undefined;
    const { name: pool, atOnce } = placeOf(like, account);
    ofPool.set(pool, (ofPool.get(pool) ?? 0) + (each * rows) / Math.min(rows, atOnce));
  }
  const chainMs = savedBefore === 0 ? chains.longest(msOf).ms : undefined;
  return Math.max(chainMs ?? 0, ...ofPool.values());
}
