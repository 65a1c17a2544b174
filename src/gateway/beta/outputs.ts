import * as z from 'zod';
import type { Charge, TaskOutput, TaskUsage } from '../task.ts';

// What a record of family B offers and what it cost ("Output items by `type`", "Billing items").

const OutputItem = z.looseObject({
  type: z.unknown().optional(),
  url: z.unknown().optional(),
  watermark_url: z.unknown().optional(),
  duration: z.unknown().optional(),
  mp3_url: z.unknown().optional(),
  wav_url: z.unknown().optional(),
});

const BillingItem = z.looseObject({
  charge_type: z.unknown().optional(),
  cash_type: z.unknown().optional(),
  amount: z.unknown().optional(),
  currency: z.unknown().optional(),
  package_type: z.unknown().optional(),
});

/** The items of a list that fit; anything else in it, or in its place, is left to the record as it came. */
const itemsOf = <T>(schema: z.ZodType<T>, value: unknown): T[] =>
  (Array.isArray(value) ? value : []).flatMap((item) => {
    const parsed = schema.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });

const urlOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const isLink = (value: unknown): boolean => typeof value === 'string' && /^https?:\/\//i.test(value);

/**
 * The files of a record. The first video or image has the plain role and so the name that was asked for; further ones
 * are numbered, and what lies beside them says what it is: `watermarked`, `mp3`, `wav`, `voice`. An element has none.
 * What the document does not list is offered where it has a link, under its own word.
 */
export function betaOutputs(outputs: unknown): TaskOutput[] {
  const found: TaskOutput[] = [];
  const times = new Map<string, number>();
  const numbered = (role: string, type: string): string => {
    const count = (times.get(role) ?? 0) + 1;
    times.set(role, count);
    // One file has the plain name; an image beside a video is no second one of it.
    const isPlain = count === 1 && (role !== type || !found.some((other) => other.role === other.type));
    return isPlain ? role : `${role}-${count}`;
  };
  const offer = (role: string, type: TaskOutput['type'], value: unknown) => {
    const url = urlOf(value);
    if (url !== undefined) found.push({ role, type, url });
  };
  const add = (role: string, type: TaskOutput['type'], value: unknown) => {
    if (urlOf(value) !== undefined) offer(numbered(role, type), type, value);
  };
  for (const { type, ...item } of itemsOf(OutputItem, outputs)) {
    if (type === 'video' || type === 'image') {
      if ((urlOf(item.url) ?? urlOf(item.watermark_url)) === undefined) continue;
      const role = numbered(type, type);
      offer(role, type, item.url);
      offer(role === type ? 'watermarked' : `${role}-watermarked`, type, item.watermark_url);
    } else if (type === 'audio') {
      add('mp3', 'audio', item.mp3_url);
      add('wav', 'audio', item.wav_url);
    } else if (type === 'voice') {
      add('voice', 'audio', item.url);
    } else if (type !== 'element' && isLink(item.url)) {
      add(
        typeof type === 'string' && /^[a-z][a-z0-9_-]{0,31}$/.test(type) ? type : 'output',
        'any',
        item.url,
      );
    }
  }
  return found;
}

/** Whether all that was made is elements, which are used by their ID and have no file. */
export function isElementsOnly(outputs: unknown): boolean {
  const items = itemsOf(OutputItem, outputs);
  return items.length > 0 && items.every(({ type }) => type === 'element');
}

/** A figure that may come as a text: `duration` and `amount` do. */
function figure(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

/** Seconds of video in all; undefined where no video says its length. */
export function betaOutputS(outputs: unknown): number | undefined {
  const lengths = itemsOf(OutputItem, outputs)
    .filter(({ type }) => type === 'video')
    .flatMap(({ duration }) => figure(duration) ?? []);
  return lengths.length > 0 ? lengths.reduce((sum, each) => sum + each, 0) : undefined;
}

/** A figure that may be negative: a refund. */
function signedFigure(value: unknown): number | undefined {
  const isRefund = typeof value === 'string' ? value.trim().startsWith('-') : Number(value) < 0;
  if (!isRefund) return figure(value);
  const amount = figure(typeof value === 'string' ? value.trim().slice(1) : -Number(value));
  return amount === undefined ? undefined : -amount;
}

/**
 * What was deducted or given back: money by currency, points by package; and how many items say no amount or no currency.
 */
export function betaCharges(billing: unknown): Pick<TaskUsage, 'charges' | 'unreadCharges'> {
  const items = Array.isArray(billing) ? billing : [];
  const charges = itemsOf(BillingItem, items).flatMap((item): Charge[] => {
    const amount = signedFigure(item.amount);
    if (amount === undefined) return [];
    const kind = wordOf(item.package_type);
    if (item.charge_type === 'unit')
      return [{ amount, unit: kind === undefined ? 'points' : `${kind} points` }];
    const unit = wordOf(item.currency);
    return unit === undefined
      ? []
      : [{ amount, unit, ...(item.cash_type === 'test_balance' && { isTest: true }) }];
  });
  const unread = items.length - charges.length;
  return { ...(charges.length > 0 && { charges }), ...(unread > 0 && { unreadCharges: unread }) };
}

const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
