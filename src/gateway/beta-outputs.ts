import * as z from 'zod';
import type { Charge, TaskOutput } from './task.ts';

// What a record of family B offers and what it cost ("Output items by `type`", "Billing items").

const OutputItem = z.looseObject({
  type: z.string(),
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

/**
 * The files of a record. The first video or image has the plain role and so the name that was asked for; further ones
 * are numbered, and what lies beside them says what it is: `watermarked`, `mp3`, `wav`, `voice`. An element has none.
 */
export function betaOutputs(outputs: unknown): TaskOutput[] {
  const found: TaskOutput[] = [];
  const times = new Map<string, number>();
  const add = (role: string, type: TaskOutput['type'], value: unknown) => {
    const url = urlOf(value);
    if (url === undefined) return;
    const before = times.get(role) ?? 0;
    times.set(role, before + 1);
    // One file has the plain name; an image beside a video is no second one of it.
    const isPlain = before === 0 && (role !== type || !found.some((other) => other.role === other.type));
    found.push({ role: isPlain ? role : `${role}-${before + 1}`, type, url });
  };
  for (const item of itemsOf(OutputItem, outputs)) {
    if (item.type === 'video' || item.type === 'image') {
      add(item.type, item.type, item.url);
      add('watermarked', item.type, item.watermark_url);
    } else if (item.type === 'audio') {
      add('mp3', 'audio', item.mp3_url);
      add('wav', 'audio', item.wav_url);
    } else if (item.type === 'voice') {
      add('voice', 'audio', item.url);
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

/** What was deducted: money by currency, points by package. */
export function betaCharges(billing: unknown): Charge[] | undefined {
  const charges = itemsOf(BillingItem, billing).flatMap((item): Charge[] => {
    const amount = figure(item.amount);
    if (amount === undefined) return [];
    if (item.charge_type === 'unit') return [{ amount, unit: `${wordOf(item.package_type)} points` }];
    return [
      { amount, unit: wordOf(item.currency), ...(item.cash_type === 'test_balance' && { isTest: true }) },
    ];
  });
  return charges.length > 0 ? charges : undefined;
}

const wordOf = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : 'unknown');
