import { faultsOf, type Row, readRows } from '../../batch/rows.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { type Context, gatewayName } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { on } from '../../flags/flag.ts';
import { once } from '../../host.ts';
import { counted, durationText } from '../../io/quantity-text.ts';
import type { Estimate } from '../../jobs/cost.ts';
import { exactSum, spendText } from '../../jobs/stats.ts';
import { estimateMs } from '../../ledger/estimate.ts';
import type { Job } from '../../ledger/event.ts';
import { tellsCosts } from '../before-create.ts';
import { defaultFlags, defaultsNote, manifestArgs, nameFlags, openRows } from './flags.ts';
import { type KnownRow, knownRows } from './known-rows.ts';
import { familyOf, placesOf } from './places.ts';
import { type CheckedRow, checkRow } from './row-command.ts';

/** One line of what a check prints. */
export interface CheckLine {
  readonly text: string;
  readonly json: unknown;
}

/** What a manifest holds, counted while it is checked. */
export class Tally {
  rows = 0;
  faults = 0;
  /** Of these, what an earlier run has saved. */
  savedBefore = 0;
  /** Position of the last row. */
  lastRow = 0;
  /** Rows by command and model. */
  readonly kinds = new Map<string, number>();
  /** What the rows that are still to be made cost by the price file, by currency, in each row's amount. */
  readonly costs = new Map<string, number>();
  /** Of them, how many have no price, and why the first has none. */
  unpriced = 0;
  whyUnpriced = '';
  /** Rows that are not saved yet: how many are alike, and one of them. */
  readonly toDo = new Map<
    string,
    { rows: number; readonly like: Pick<Job, 'family' | 'model' | 'settings'> }
  >();

  /** `known` is what the ledger knows of the rows. */
  constructor(readonly known: ReadonlyMap<string, KnownRow> = new Map()) {}

  add({ command, flags, key, row }: Row, { model, estimate }: CheckedRow): void {
    this.rows += 1;
    const state = this.known.get(key)?.state;
    if (estimate && (state === undefined || state === 'not_sent' || state === 'failed'))
      this.#price(estimate);
    this.lastRow = row;
    if (this.known.get(key)?.state === 'saved') this.savedBefore += 1;
    else {
      const { resolution, duration } = flags;
      const like = { family: familyOf(command), model, settings: { resolution, duration } };
      const alike = JSON.stringify(like);
      const counted = this.toDo.get(alike) ?? { rows: 0, like };
      counted.rows += 1;
      this.toDo.set(alike, counted);
    }
    const kind = model === undefined ? command : `${command} ${model}`;
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
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

/** Never asked: a request that is only shown goes nowhere. */
const nowhere = { baseUrl: 'https://gateway.invalid', key: 'no-request-is-sent' };

/** Checks every row as its create would; gives each fault and counts the rest. Nothing is sent. */
export async function* checkRows(
  input: Awaited<ReturnType<typeof openRows>>,
  tally: Tally,
  ctx: Context,
  online = false,
): AsyncGenerator<{ readonly line: number; readonly message: string }> {
  const { named, file } = input.manifest;
  const gateway = once(() => ctx.gatewayWith(nowhere));
  const showing = { ...ctx, gateway, ...(online && { online: ctx.gateway }) };
  for await (const read of readRows(input)) {
    ctx.signal.throwIfAborted();
    const { line } = read;
    let faults: readonly string[] = [];
    if ('faults' in read) faults = read.faults;
    else {
      const warn = (text: string) => ctx.io.warn(`${named}:${line}: ${text.replace(/^: /, '')}`);
      try {
        tally.add(read, await checkRow(read, file, tally.known.get(read.key), showing, warn));
      } catch (error) {
        ctx.signal.throwIfAborted();
        faults = faultsOf(isMissing(error) ? usage(error.message, error.facts.hint) : error);
      }
    }
    if (faults.length > 0) tally.faults += 1;
    for (const message of faults) yield { line, message };
  }
}

/** An asset that is not there is a fault of its row. */
const isMissing = (error: unknown): error is GwError =>
  error instanceof GwError && error.kind === 'not_found';

/** `gw batch check`: every fault of a manifest, and what it would make. */
export const check = defineCommand({
  args: manifestArgs,
  flags: { ...nameFlags, online: on('look up at the gateway whether assets can be used'), ...defaultFlags },
  examples: [
    `printf 'command,prompt\\nvideo beta,a fox in the snow\\n' > foxes.csv && gw batch check foxes.csv`,
  ],
  notes: [
    'Checks every row as gw batch run would, media too, and sends nothing; needs no key (but with --online). Each fault is one line, ' +
      'FILE:LINE: field: message, and the exit code is 2 where there is one.',
    defaultsNote,
  ],
  human: (line: CheckLine) => `${line.text}\n`,
  raw: (line) => `${JSON.stringify(line.json)}\n`,
  async *run({ args, flags }, ctx): AsyncGenerator<Outcome<CheckLine>> {
    const input = await openRows(args, flags, ctx);
    const { named } = input.manifest;
    const tally = new Tally(await knownRows(input.name, ctx));
    try {
      for await (const { line, message } of checkRows(input, tally, ctx, flags.online === true)) {
        yield { value: { text: `${named}:${line}: ${message}`, json: { file: named, line, message } } };
      }
    } finally {
      input.close();
    }
    if (tally.faults > 0) {
      const of = tally.faults === 1 ? 'one row is' : `${tally.faults} rows are`;
      throw usage(`${named}: ${of} wrong, and ${tally.rows} can be sent as they stand`);
    }
    if (tally.rows === 0) throw usage(`${named}: there is no row in it`);
    for (const [kind, rows] of tally.kinds) {
      const [, command = '', model] = /^(\S+ \S+)(?: (.*))?$/.exec(kind) ?? [];
      yield {
        value: { text: `${counted(rows, 'row')} of ${kind}`, json: { command, model, rows } },
      };
    }
    const { savedBefore, rows } = tally;
    if (savedBefore > 0) {
      yield {
        value: { text: `${savedBefore} of ${rows} saved already`, json: { saved: savedBefore, rows } },
      };
    }
    const { costs, unpriced, whyUnpriced } = tally;
    if ((costs.size > 0 || unpriced > 0) && (await tellsCosts({}, ctx))) {
      const spend = [...costs].map(([unit, amount]) => ({ unit, amount }));
      const words = [
        ...(spend.length > 0 ? [`estimated cost: ${spendText(spend)} by your price file`] : []),
        ...(unpriced > 0 ? [`${counted(unpriced, 'row')} of unknown cost: ${whyUnpriced}`] : []),
      ];
      yield { value: { text: words.join('; '), json: { estimated_cost: spend, unpriced } } };
    }
    if (savedBefore === rows) return;
    const leftMs = await likelyMs(tally, ctx);
    if (leftMs === undefined) {
      yield { value: { text: 'how long it takes is not known yet', json: { likely_s: null } } };
    } else if (leftMs > 0) {
      const json = { likely_s: Math.round(leftMs / 1000) };
      yield { value: { text: `about ${durationText(leftMs)}`, json } };
    }
  },
});

/** As many of the newest jobs are looked through for ones like a row. */
const JUDGED_BY = 500;

/**
 * How long the rows that are not done will take, by what jobs like them took at this gateway and by how many run at once;
 * undefined where a row is like none.
 */
async function likelyMs({ toDo }: Tally, ctx: Context): Promise<number | undefined> {
  const settings = await ctx.settings();
  const gateway = gatewayName(settings);
  const jobs = await (await ctx.ledger()).find({ states: ['succeeded'], gateway, limit: JUDGED_BY });
  const ofPool = new Map<string, number>();
  for (const { rows, like } of toDo.values()) {
    // An image has no word for when it was accepted, and is there in seconds.
    const each = like.family === 'image' ? 0 : estimateMs(jobs, { ...like, gateway });
    if (each === undefined) return undefined;
    const { pool, atOnce } = placesOf(like, settings.account.value);
    ofPool.set(pool, (ofPool.get(pool) ?? 0) + (each * rows) / Math.min(rows, atOnce));
  }
  return Math.max(0, ...ofPool.values());
}
