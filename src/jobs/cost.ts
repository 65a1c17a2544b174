import type { Family, TaskView } from '../gateway/task.ts';
import type { Job } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { taskOf } from '../ledger/settled.ts';
import type { Prices } from './price-file.ts';
import { type Spend, spendOf } from './stats.ts';

/** The cost of a job, as far as it is known. */
export interface Cost {
  readonly spend: readonly Spend[];
  /** Amounts billed to test credit, which costs nothing. */
  readonly test: readonly Spend[];
  readonly by: 'billed' | 'prices';
}

/** The expected cost of a job by the price file, or why it is unknown. */
export type Estimate = Spend | { readonly unknown: string };

/** A job that is about to be made, or was made. */
export type Asked = Pick<Job, 'endpoint' | 'model' | 'settings'>;

/** Number of a model's newest jobs whose mean of tokens is used. */
const JUDGED_BY = 100;

/** The cost of jobs: the gateway's bill if there is one, else the user's price file. */
export class Pricing {
  readonly #means = new Map<string, Promise<number | undefined>>();

  constructor(
    readonly prices: Prices | undefined,
    private readonly ledger: () => Promise<Ledger>,
  ) {}

  /** The currencies in the price file. */
  get currencies(): readonly string[] {
    return [...new Set([...(this.prices?.values() ?? [])].map(({ currency }) => currency))];
  }

  /** The cost before a create. The number of tokens is the mean of the model's earlier jobs in this ledger. */
  async estimate(family: Family, asked: Asked): Promise<Estimate> {
    const { model } = asked;
    const needsTokens = this.prices?.get(model ?? '')?.perMillionTokens !== undefined;
    const tokens = needsTokens ? await this.#meanTokens(family, model) : undefined;
    return this.#by(family, asked, undefined, tokens);
  }

  /** The cost of a job in the ledger; undefined if nothing was made, or neither bill nor price file tells it. */
  costOf(job: Job, family: Family | undefined): Cost | undefined {
    if (family === undefined || job.state === 'not_sent' || job.state === 'refused') return undefined;
    const view = taskOf(job, family);
    const { charges, unreadCharges, tokens } = view?.usage ?? {};
    if (charges !== undefined && unreadCharges === undefined) {
      const { spend, test_spend: test } = spendOf(charges);
      return { spend, test, by: 'billed' };
    }
    const isMade = job.state === 'succeeded';
    const made = isMade || job.estimate === undefined ? this.#by(family, job, view, tokens) : job.estimate;
    const known = 'unknown' in made ? job.estimate : made;
    return known && { spend: [known], test: [], by: 'prices' };
  }

  #by(
    family: Family,
    { endpoint, model, settings }: Asked,
    view: TaskView | undefined,
    tokens: number | undefined,
  ): Estimate {
    if (this.prices === undefined) return { unknown: 'there is no price file (gw config set prices FILE)' };
    const price = this.prices.get(model ?? '');
    if (price === undefined) return { unknown: `the price file has no price of ${model ?? 'its model'}` };
    const { perImage, perSecond, perMillionTokens, currency } = price;
    const spend = (amount: number): Spend => ({ amount: Math.round(amount * 1e6) / 1e6, unit: currency });
    const said: Readonly<Record<string, unknown>> = {
      ...family.implied?.[endpoint],
      ...settings,
      ...view?.made,
    };
    const isImage = family.name === 'image';
    if (isImage && perImage !== undefined) return spend(perImage * (typeof said.n === 'number' ? said.n : 1));
    if (!isImage && perSecond !== undefined) {
      const { resolution, duration } = said;
      if (typeof perSecond !== 'number' && resolution === undefined)
        return { unknown: `the price of ${model} goes by resolution, and the request names none` };
      const rate = typeof perSecond === 'number' ? perSecond : perSecond[String(resolution).toLowerCase()];
      if (rate === undefined) return { unknown: `the price file has no price of ${model} at ${resolution}` };
      const seconds = view?.usage?.outputS ?? duration;
      if (typeof seconds === 'number' && seconds > 0) return spend(rate * seconds);
      return { unknown: `the price of ${model} goes by the second, and the request names no length` };
    }
    if (perMillionTokens === undefined)
      return { unknown: `the price file has no price of ${model} per ${isImage ? 'image' : 'second'}` };
    if (tokens !== undefined) return spend((perMillionTokens * tokens) / 1e6);
    return { unknown: `no job of ${model} in the ledger says yet how many tokens one takes` };
  }

  #meanTokens({ name }: Family, model: string | undefined): Promise<number | undefined> {
    const key = `${name} ${model}`;
    const mean = this.#means.get(key) ?? this.#readMean(name, model);
    this.#means.set(key, mean);
    // If no mean is known yet, ask again later: the next finished job may provide one.
    void mean.then(
      (known) => known === undefined && this.#means.delete(key),
      () => this.#means.delete(key),
    );
    return mean;
  }

  async #readMean(name: Family['name'], model: string | undefined): Promise<number | undefined> {
    const { loadFamily } = await import('../gateway/families.ts');
    const family = await loadFamily(name);
    const jobs = await (await this.ledger()).find({
      family: name,
      states: ['succeeded'],
      limit: JUDGED_BY,
      where: (job) => job.model === model && taskOf(job, family)?.usage?.tokens !== undefined,
    });
    const tokens = jobs.map((job) => taskOf(job, family)?.usage?.tokens ?? 0);
    return tokens.length === 0 ? undefined : tokens.reduce((sum, each) => sum + each, 0) / tokens.length;
  }
}
