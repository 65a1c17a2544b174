import { alphaFixedRatios, alphaResolutions } from '../../gateway/alpha/models.ts';
import { BETA_DEFAULT_DURATION_S, type BetaVariant, betaO1Media } from '../../gateway/beta/modes.ts';
import { betaFamily } from '../../gateway/beta/task.ts';
import { fieldsOf, textOf } from '../../gateway/json-value.ts';
import { base64Bytes, checkMedia, readImageSize } from '../media-check.ts';
import { type Film, nearestRatio } from '../movie.ts';
import { refuseField } from '../request-body.ts';
import type { World } from '../route.ts';
import { seededInt } from '../seeded.ts';
import {
  forcedFailure,
  makeTaskId,
  paceOf,
  reviewFailure,
  type SandboxStatus,
  type SandboxTask,
  statusAt,
  taskTimes,
} from '../task.ts';
import { outputItems } from './products.ts';

/** The kinds of output of family B ("Output items by `type`"). */
export const betaProducts = ['video', 'image', 'audio', 'voice', 'element'] as const;
export type BetaProduct = (typeof betaProducts)[number];

/** Words in a prompt that choose the outputs, such as `output-audio`; several may be combined. */
export const productWord = (product: BetaProduct): string => `output-${product}`;

/** The family-specific data of a beta task. */
export interface BetaPlan {
  readonly film: Film;
  readonly products: readonly BetaProduct[];
  readonly watermark: boolean;
  readonly prompt: string;
  readonly externalId?: string;
}

/** At speed 1 a task takes about 50-110 s from create to its end. */
const pace = {
  queueMs: { least: 2000, spread: 6000 },
  runMs: { least: 35_000, spread: 15_000, perOutputS: 3500 },
  factors: { '720p': 1, '1080p': 1.4, '4k': 2.5 },
};

/** How long the sandbox keeps records of family B (not documented): longer than their outputs live. */
export const BETA_RECORD_DAYS = 60;
const DAY_MS = 24 * 3_600_000;

/** One task in this many never shows `processing` ("any of the three may follow"). */
const STRAIGHT_ONE_IN = 5;

/** Defaults of omitted settings ("Family B endpoints"), also for bodies that the document does not show. */
const defaults = { resolution: '720p', ratio: '16:9' } as const;
const MAX_FILM_S = 60;

const oneOf = (known: readonly string[], value: unknown): string | undefined =>
  typeof value === 'string' && known.includes(value) ? value : undefined;

/** Plans a whole task of family B. */
export function planTask(request: BetaRequest, variant: BetaVariant, world: World): SandboxTask<BetaPlan> {
  const createdAtMs = world.now();
  const id = makeTaskId('vb', createdAtMs);
  const { settings, prompt, imageRatio, watermark, externalId } = request;
  const durationS = typeof settings.duration === 'number' ? settings.duration : BETA_DEFAULT_DURATION_S;
  const film: Film = {
    durationS: Math.min(MAX_FILM_S, Math.max(1, Math.round(durationS))),
    ratio: oneOf(alphaFixedRatios, settings.aspect_ratio) ?? imageRatio ?? defaults.ratio,
    resolution: oneOf(alphaResolutions, settings.resolution) ?? defaults.resolution,
    format: 'mp4',
    audio: settings.audio !== undefined && settings.audio !== 'off',
  };
  const failure = forcedFailure(world, 'failed') ?? reviewFailure(prompt);
  const { queueMs, runMs } = paceOf(id, pace, film);
  const isStraight = seededInt(id, 'straight') % STRAIGHT_ONE_IN === 0;
  return {
    id,
    family: betaFamily.name,
    model: variant.model,
    ...taskTimes(
      createdAtMs,
      isStraight ? { queueMs: queueMs + runMs, runMs: 0 } : { queueMs, runMs },
      world,
    ),
    expiresAtMs: createdAtMs + BETA_RECORD_DAYS * DAY_MS,
    ...(failure && { failure }),
    plan: {
      film,
      products: productsOf(prompt),
      watermark,
      prompt,
      ...(externalId !== undefined && { externalId }),
    },
  };
}

/** The products named in the prompt, in order; a video if there are none. */
function productsOf(prompt: string): BetaProduct[] {
  const named = betaProducts
    .map((product) => ({ product, at: prompt.indexOf(productWord(product)) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)
    .map(({ product }) => product);
  return named.length > 0 ? named : ['video'];
}

/** The parts of a create body that the sandbox uses, including bodies that the document does not show. */
type BetaRequest = Awaited<ReturnType<typeof readBetaRequest>>;

/** Reads a create body that matches its schema, and checks O1's Base64 images. Throws Refusal. */
export async function readBetaRequest(body: Readonly<Record<string, unknown>>) {
  const options = fieldsOf(body.options);
  const items = Array.isArray(body.contents) ? body.contents.map(fieldsOf) : [];
  const prompt = [body.prompt, ...items.map(({ text }) => text)].map(textOf).filter(Boolean).join('\n');
  return {
    prompt,
    settings: fieldsOf(body.settings),
    /** The ratio of a first frame that came as Base64. */
    imageRatio: await checkImages(items),
    watermark: fieldsOf(options.watermark_info).enabled === true,
    externalId: betaFamily.externalIds?.idOf(body),
    callbackUrl: textOf(options.callback_url) || undefined,
  };
}

const imageTypes: readonly unknown[] = ['first_frame', 'last_frame', 'refer_image'];

/** Checks the Base64 images of `contents` ("O1 combination rules"); returns the first frame's ratio. */
async function checkImages(items: readonly Readonly<Record<string, unknown>>[]): Promise<string | undefined> {
  let ratio: string | undefined;
  for (const [nth, { type, url }] of items.entries()) {
    if (!imageTypes.includes(type) || typeof url !== 'string' || /^https?:/i.test(url)) continue;
    // O1 accepts Base64 with and without the head of a data URI.
    const bytes = base64Bytes(url) ?? Buffer.from(url, 'base64');
    const refuse = (rule: string) => refuseField(['contents', nth, 'url'], rule);
    await checkMedia('image', bytes, betaO1Media.image, refuse);
    if (type !== 'first_frame') continue;
    const size = await readImageSize(bytes);
    if (size) ratio = nearestRatio(size.width, size.height);
  }
  return ratio;
}

const words: Readonly<Record<SandboxStatus, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'failed',
};

/** The status of a task at a given time, in family B's words. */
export const betaStatus = (task: SandboxTask, nowMs: number): string => words[statusAt(task, nowMs).status];

const headOf = (task: SandboxTask<BetaPlan>, nowMs: number) => ({
  id: task.id,
  status: betaStatus(task, nowMs),
  create_time: task.createdAtMs,
  update_time: statusAt(task, nowMs).sinceMs,
  ...(task.plan.externalId !== undefined && { external_id: task.plan.externalId }),
});

/** The field `data` of the create reply, also for a repeated create. */
export const createdData = (task: SandboxTask<BetaPlan>): object => ({
  ...headOf(task, task.createdAtMs),
  status: 'submitted',
});

/** The task record at a given time ("Task record in the query response"). */
export function taskRecord(task: SandboxTask<BetaPlan>, world: World, nowMs: number): object {
  const head = headOf(task, nowMs);
  const { failure } = task;
  if (nowMs < task.endsAtMs) return { ...head, message: '' };
  if (failure) return { ...head, message: `${failure.message} (${failure.code})` };
  return { ...head, message: '', outputs: outputItems(task, world), billing: billingOf(task) };
}

/** Invented prices, because the document states none: CNY per second of video, or per item. */
const listPriceS: Readonly<Record<string, number>> = { '720p': 0.6, '1080p': 1, '4k': 2.4 };
const LIST_PRICE_APIECE = 0.8;
const DISCOUNT = 0.9;
const POINTS_PER_CNY = 10;

const packageOf: Readonly<Record<BetaProduct, 'video' | 'image' | 'audio'>> = {
  video: 'video',
  image: 'image',
  audio: 'audio',
  voice: 'audio',
  element: 'image',
};

const rounded = (amount: number): number => Math.round(amount * 100) / 100;

/** The ways of payment: credit, test credit, a resource package, or the rest of a package and credit. */
const ways = ['balance', 'test_balance', 'unit', 'both'] as const;

/** The billing of a successful task ("Billing items"); its ID decides the way of payment. */
function billingOf({ id, plan }: SandboxTask<BetaPlan>): Record<string, unknown>[] {
  const way = ways[seededInt(id, 'billing') % ways.length];
  return plan.products.flatMap((product) => {
    const price =
      product === 'video'
        ? (listPriceS[plan.film.resolution] ?? LIST_PRICE_APIECE) * plan.film.durationS
        : LIST_PRICE_APIECE;
    const unit = (part: number) => ({
      charge_type: 'unit',
      package_type: packageOf[product],
      amount: rounded(part * POINTS_PER_CNY),
    });
    const cash = (part: number, cashType: 'balance' | 'test_balance') => ({
      charge_type: 'cash',
      cash_type: cashType,
      amount: rounded(part * DISCOUNT),
      currency: 'CNY',
      list_price: rounded(part),
    });
    if (way === 'unit') return [unit(price)];
    if (way === 'both') return [unit(price / 4), cash((3 * price) / 4, 'balance')];
    return [cash(price, way ?? 'balance')];
  });
}
