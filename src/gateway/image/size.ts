import type { FreeSizes, SizeRule } from './models.ts';

// `size` of an image request: a word or WIDTHxHEIGHT.

export interface ImageSize {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Parses `1024x1024`; undefined for any other text. */
export function parseImageSize(text: string): ImageSize | undefined {
  const [, width, height] = /^([1-9]\d{0,5})x([1-9]\d{0,5})$/.exec(text) ?? [];
  return width && height ? { widthPx: Number(width), heightPx: Number(height) } : undefined;
}

const textOf = ({ widthPx, heightPx }: ImageSize): string => `${widthPx}x${heightPx}`;

export function takesSize(rule: SizeRule, text: string): boolean {
  if (rule.words.includes(text) || rule.list?.includes(text)) return true;
  const size = parseImageSize(text);
  return size !== undefined && rule.free !== undefined && fits(rule.free, size);
}

function fits(free: FreeSizes, { widthPx, heightPx }: ImageSize): boolean {
  const [long, short] = widthPx > heightPx ? [widthPx, heightPx] : [heightPx, widthPx];
  const pixels = widthPx * heightPx;
  return (
    widthPx % free.multipleOf === 0 &&
    heightPx % free.multipleOf === 0 &&
    long <= short * free.maxAspect &&
    long <= (free.maxEdgePx ?? long) &&
    pixels >= free.pixels.min &&
    pixels <= free.pixels.max
  );
}

/** The sizes that a rule allows, in words: `256x256, 512x512 or 1024x1024`. */
export function sizeInWords({ words, list = [], free }: SizeRule): string {
  const forms = [...words, ...list, ...(free ? [`WIDTHxHEIGHT ${freeInWords(free)}`] : [])];
  return forms.length > 1 ? `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}` : forms.join('');
}

function freeInWords({ multipleOf, maxAspect, maxEdgePx, pixels }: FreeSizes): string {
  const aspect = `from 1:${maxAspect} to ${maxAspect}:1`;
  if (maxEdgePx === undefined) return `of ${pixels.min}-${pixels.max} pixels, ${aspect}`;
  return `with both divisible by ${multipleOf}, ${aspect}, at most ${maxEdgePx}x${pixels.max / maxEdgePx}`;
}

/**
 * The allowed size closest to the typed one: a word that differs only in case (`2k`), or the `WIDTHxHEIGHT` whose edges
 * differ least in proportion. Undefined if the text is neither.
 */
export function nearestSize(rule: SizeRule, typed: string): string | undefined {
  const word = rule.words.find((each) => each.toLowerCase() === typed.toLowerCase());
  if (word) return word;
  // People also write 1024X1024 and 1024*1024.
  const wanted = parseImageSize(typed.trim().replace(/\s*[xX*×]\s*/, 'x'));
  if (!wanted) return undefined;
  const candidates = rule.free ? around(rule.free, wanted) : (rule.list ?? []).map(parseImageSize);
  let best: { readonly size: ImageSize; readonly far: number } | undefined;
  for (const size of candidates) {
    if (!size) continue;
    const far =
      Math.abs(Math.log(size.widthPx / wanted.widthPx)) + Math.abs(Math.log(size.heightPx / wanted.heightPx));
    if (!best || far < best.far) best = { size, far };
  }
  return best && textOf(best.size);
}

/** Yields allowed sizes near the ideal one, which keeps the wanted aspect ratio and area as far as the limits allow. */
function* around(free: FreeSizes, { widthPx, heightPx }: ImageSize): Generator<ImageSize> {
  const ratio = clamp(widthPx / heightPx, 1 / free.maxAspect, free.maxAspect);
  const area = clamp(widthPx * heightPx, free.pixels.min, free.pixels.max);
  const ideal = { width: Math.sqrt(area * ratio), height: Math.sqrt(area / ratio) };
  const scale = Math.min(
    1,
    (free.maxEdgePx ?? Number.POSITIVE_INFINITY) / Math.max(ideal.width, ideal.height),
  );
  const width = ideal.width * scale;
  const height = ideal.height * scale;
  for (const steps of [-2, -1, 0, 1, 2]) {
    const wide = (Math.round(width / free.multipleOf) + steps) * free.multipleOf;
    const beside = otherEdge(free, wide, height);
    if (beside) yield { widthPx: wide, heightPx: beside };
    const high = (Math.round(height / free.multipleOf) + steps) * free.multipleOf;
    const across = otherEdge(free, high, width);
    if (across) yield { widthPx: across, heightPx: high };
  }
}

/** The allowed length closest to `wanted` for the other edge; undefined if no length is allowed. */
function otherEdge(free: FreeSizes, edgePx: number, wanted: number): number | undefined {
  const { multipleOf: step, maxAspect, maxEdgePx = Number.POSITIVE_INFINITY, pixels } = free;
  if (edgePx <= 0 || edgePx > maxEdgePx) return undefined;
  const least = Math.ceil(Math.max(pixels.min / edgePx, edgePx / maxAspect) / step) * step;
  const most = Math.floor(Math.min(pixels.max / edgePx, edgePx * maxAspect, maxEdgePx) / step) * step;
  return least > most ? undefined : clamp(Math.round(wanted / step) * step, least, most);
}

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max);
