import { replyThat } from '../endpoint.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';
import { fieldsOf, isObject, itemsOf } from '../json-value.ts';
import { amountOf, type TaskUsage } from '../task.ts';

// Reads the images of a reply leniently ("Image response", and the public shape of native replies).

/** Accepts any object; each field is checked where it is used. */
export const imageReply = replyThat(isObject);

export interface ImageInReply extends FoundImage {
  /** Its index among the reply's images, from 0; an item of `data[]` without an image leaves a gap. */
  readonly index: number;
}

/**
 * The images of a reply, in order: `data[]` with `b64_json` or `url`, native `candidates[].content.parts[]` with
 * `inlineData`, `fileData` or an image URL, and a single image beside other fields (the final event of a stream). If
 * there are none, other places that replies are known to use are searched. Parts that are thoughts do not count.
 */
export function readImages(reply: unknown): ImageInReply[] {
  const { data, candidates } = fieldsOf(reply);
  const found = placed([
    ...itemsOf(data).map(imageOfItem),
    ...partsOf(candidates).flatMap((part) => imageOfPart(part) ?? []),
    ...(data === undefined && candidates === undefined ? [imageOfItem(reply)] : []),
  ]);
  return found.length > 0 ? found : placed(imagesElsewhere(reply));
}

/** True if a reply without an image shows that none was made: an empty list, a text, or a link to something else. */
export const saysNoImage = (reply: unknown): boolean => {
  const lists = [fieldsOf(reply).data, fieldsOf(reply).candidates].filter((list) => list !== undefined);
  if (lists.length > 0) return lists.every(Array.isArray);
  return readRefusal(reply) !== undefined || findLink(reply) !== undefined;
};

const placed = (found: readonly (FoundImage | undefined)[]): ImageInReply[] =>
  found.flatMap((image, index) => (image ? [{ index, ...image }] : []));

/** The gateway's reason for a missing image: the first error among the reply's items. */
export function readMissing(reply: unknown): string | undefined {
  for (const item of [...itemsOf(fieldsOf(reply).data), reply]) {
    const { error } = fieldsOf(item);
    const said = firstText(error, fieldsOf(error).message, fieldsOf(error).code);
    if (said !== undefined) return said;
  }
  return undefined;
}

/** The prompt as the model revised it (`data[].revised_prompt`); normally empty or absent. */
export const readRevisedPrompt = (reply: unknown): string | undefined =>
  firstText(...itemsOf(fieldsOf(reply).data).map((item) => fieldsOf(item).revised_prompt));

/** The tokens that a reply reports: `usage.total_tokens`, or `usageMetadata.totalTokenCount`. */
export function readImageUsage(reply: unknown): TaskUsage | undefined {
  const { usage, usageMetadata } = fieldsOf(reply);
  const tokens = amountOf(fieldsOf(usage).total_tokens) ?? amountOf(fieldsOf(usageMetadata).totalTokenCount);
  return tokens === undefined ? undefined : { tokens };
}

/** The explanation in a reply without an image: the model's text, or the finish reason. */
export function readRefusal(reply: unknown): string | undefined {
  const { candidates, promptFeedback } = fieldsOf(reply);
  const [first] = itemsOf(candidates);
  const { content, finishReason } = fieldsOf(first);
  const words = itemsOf(fieldsOf(content).parts)
    .map(fieldsOf)
    .filter((part) => part.thought !== true)
    .flatMap((part) => firstText(part.text) ?? [])
    .join(' ');
  return firstText(words, fieldsOf(promptFeedback).blockReason, finishReason, readMissing(reply));
}

// Undocumented places where replies hold images. The document only says that native replies come "as Base64 or as an
// image URL", so gw searches every shape in use: the image has been paid for.

const partsOf = (candidates: unknown): readonly unknown[] =>
  itemsOf(candidates).flatMap((each) => itemsOf(fieldsOf(fieldsOf(each).content).parts));

/**
 * Searches other places for images: `images[]`, `data` or `output` as one object, the message of a chat choice, an
 * `imageUrl`, and a text that is a link or shows an image in Markdown. Thoughts do not count.
 */
function imagesElsewhere(reply: unknown): (FoundImage | undefined)[] {
  const { data, images, output, candidates, choices } = fieldsOf(reply);
  const messages = itemsOf(choices).map((choice) => fieldsOf(fieldsOf(choice).message));
  const parts = partsOf(candidates)
    .map(fieldsOf)
    .filter((part) => part.thought !== true);
  return [
    ...itemsOf(images).map(imageOf),
    imageOf(data),
    imageOf(output),
    ...itemsOf(output).map(imageOf),
    ...messages.flatMap((message) => itemsOf(message.images).map(imageOf)),
    ...parts.map((part) => urlImage(firstText(part.imageUrl, fieldsOf(part.imageUrl).url))),
    ...[...parts.map(({ text }) => text), ...messages.map(({ content }) => content)].flatMap(imagesInText),
  ].filter((image) => image !== undefined);
}

function imageOf(value: unknown): FoundImage | undefined {
  return imageOfItem(value) ?? urlImage(fieldsOf(value).imageUrl) ?? urlImage(value);
}

const webUrl = /^https?:\/\/\S+$/i;
const urlImage = (url: unknown): FoundImage | undefined =>
  typeof url === 'string' && webUrl.test(url) ? { kind: 'url', url } : undefined;

const inMarkdown = /!\[[^\]]{0,500}\]\(\s{0,9}<?(https?:\/\/[^\s()<>]+)/gi;
const onlyLink = /^\[[^\]]{0,500}\]\((https?:\/\/[^\s()<>]+)\)$/i;
/** A text longer than this is not searched for a link. */
const LONGEST_TEXT = 100_000;

function imagesInText(value: unknown): (FoundImage | undefined)[] {
  if (typeof value !== 'string' || value.length > LONGEST_TEXT) return [];
  const text = value.trim().replace(/^<(.*)>$/, '$1');
  const lone = onlyLink.exec(text)?.[1] ?? text;
  if (webUrl.test(lone)) return [urlImage(lone)];
  return [...text.matchAll(inMarkdown)].map(([, url]) => urlImage(url));
}

/** The first link in a reply without an image, and the path of its field. */
export function findLink(reply: unknown): { readonly path: string; readonly url: string } | undefined {
  const waiting: { readonly value: unknown; readonly path: string }[] = [{ value: reply, path: '' }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path } = next;
    const url = typeof value === 'string' ? /https?:\/\/[^\s"'<>()]+/i.exec(value)?.[0] : undefined;
    if (url !== undefined) return { path, url };
    if (typeof value !== 'object' || value === null) continue;
    // The stack is popped from its end, so fields go in backwards. Nobody reads a path over 200 characters.
    for (const [name, inner] of Object.entries(value).reverse()) {
      if (path.length < 200) waiting.push({ value: inner, path: path === '' ? name : `${path}.${name}` });
    }
  }
  return undefined;
}

// The image of one item, in each shape that occurs.

const firstText = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '');

/** An image before it has an index. `isEmpty` tells an empty Base64 field from one whose Base64 was left out. */
interface FoundImage {
  readonly kind: 'base64' | 'url';
  readonly url?: string | undefined;
  /** The type that the gateway states; the file's bytes decide the actual type. */
  readonly mimeType?: string | undefined;
  /** True if the Base64 field is empty. */
  readonly isEmpty?: boolean | undefined;
}

/** The image of an object with `b64_json`, `url` or `image_url`, such as an item of `data[]`. */
function imageOfItem(value: unknown): FoundImage | undefined {
  const item = fieldsOf(value);
  const mimeType = mimeOf(firstText(item.output_format));
  const url = firstText(item.url, item.image_url, fieldsOf(item.image_url).url);
  // In URL mode `b64_json` is normally an empty string.
  if (firstText(item.b64_json)) return { kind: 'base64', ...(mimeType && { mimeType }) };
  if (url) return { kind: 'url', url, ...(mimeType && { mimeType }) };
  return typeof item.b64_json === 'string'
    ? { kind: 'base64', isEmpty: true, ...(mimeType && { mimeType }) }
    : undefined;
}

/** The image of a native part: `inlineData`, `fileData`, or the fields of an item. Thoughts do not count. */
function imageOfPart(value: unknown): FoundImage | undefined {
  const part = fieldsOf(value);
  if (part.thought === true) return undefined;
  const inline = fieldsOf(part.inlineData ?? part.inline_data);
  if (typeof inline.data === 'string') {
    const mimeType = firstText(inline.mimeType, inline.mime_type);
    return { kind: 'base64', ...(inline.data === '' && { isEmpty: true }), ...(mimeType && { mimeType }) };
  }
  const file = fieldsOf(part.fileData ?? part.file_data);
  const url = firstText(file.fileUri, file.file_uri);
  if (!url) return imageOfItem(part);
  const mimeType = firstText(file.mimeType, file.mime_type);
  return { kind: 'url', url, ...(mimeType && { mimeType }) };
}

const mimeOf = (format: string | undefined): string | undefined =>
  format && (format.includes('/') ? format : `image/${format}`);

// One event of an image stream. The document only says that there are partial images and a final one. The shapes follow
// the public API; the fields of an event decide before its name does.

type ImageEvent =
  /** An unfinished image; `index` counts from 0. */
  | { readonly kind: 'partial'; readonly index: number }
  /**
   * A finished image, a failed one, or a whole reply in place of a stream; read it with `readImages`. `isLast` is true
   * if the event marks the end.
   */
  | { readonly kind: 'final'; readonly isLast?: boolean }
  | { readonly kind: 'error'; readonly error: GatewayErrorFacts }
  /** An unknown event, which is skipped. */
  | { readonly kind: 'other' };

/**
 * Classifies an event of an image stream by its JSON, from which Base64 may have been left out. The final image may
 * come before the partial ones, so the order decides nothing. `name` is the SSE event name; it counts only if the JSON
 * has no type.
 */
export function readImageEvent(event: unknown, name = ''): ImageEvent {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return { kind: 'other' };
  const fields = event as Readonly<Record<string, unknown>>;
  const type = typeof fields.type === 'string' ? fields.type : name;
  // One of several images failed; its index stays empty.
  if (type.endsWith('.partial_failed')) return { kind: 'final' };
  if ((fields.error !== undefined && fields.error !== null) || type === 'error')
    return { kind: 'error', error: readGatewayError(event) };
  const index = fields.partial_image_index;
  if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0)
    return { kind: 'partial', index };
  if (type.endsWith('.partial_image')) return { kind: 'partial', index: 0 };
  const holdsImage = 'b64_json' in fields || 'url' in fields || 'data' in fields || 'candidates' in fields;
  if (type.endsWith('.completed')) return { kind: 'final', isLast: true };
  return holdsImage ? { kind: 'final' } : { kind: 'other' };
}
