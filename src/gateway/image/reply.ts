import { replyThat } from '../endpoint.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';
import { fieldsOf, isObject, itemsOf } from '../json-value.ts';
import { amountOf, type TaskUsage } from '../task.ts';

// What an image reply holds ("Image response", and the public shape of native replies), read leniently.

/** A reply is an object; every field of it is looked at where it is used. */
export const imageReply = replyThat(isObject);

export interface ImageInReply extends FoundImage {
  /** Its place among the images of the reply, from 0; an item of `data[]` that holds none leaves its place empty. */
  readonly index: number;
}

/**
 * The images of a reply, in order: `data[]` with `b64_json` or `url`, native `candidates[].content.parts[]` with
 * `inlineData`, `fileData` or an image URL, and a single image beside other fields (the final event of a stream); where
 * none of these is there, wherever else a reply is known to have them. Parts that are thoughts are no result. None for a
 * reply that holds no image.
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

/** Whether a reply without an image says that none was made: by an empty list, in words, or with a link to something else. */
export const saysNoImage = (reply: unknown): boolean => {
  const lists = [fieldsOf(reply).data, fieldsOf(reply).candidates].filter((list) => list !== undefined);
  if (lists.length > 0) return lists.every(Array.isArray);
  return readRefusal(reply) !== undefined || findLink(reply) !== undefined;
};

const placed = (found: readonly (FoundImage | undefined)[]): ImageInReply[] =>
  found.flatMap((image, index) => (image ? [{ index, ...image }] : []));

/** Why an image of a reply is missing, in the gateway's words: the error of the first item that holds one instead. */
export function readMissing(reply: unknown): string | undefined {
  for (const item of [...itemsOf(fieldsOf(reply).data), reply]) {
    const { error } = fieldsOf(item);
    const said = firstText(error, fieldsOf(error).message, fieldsOf(error).code);
    if (said !== undefined) return said;
  }
  return undefined;
}

/** The prompt that the model made of the one it was given (`data[].revised_prompt`); normally empty or absent. */
export const readRevisedPrompt = (reply: unknown): string | undefined =>
  firstText(...itemsOf(fieldsOf(reply).data).map((item) => fieldsOf(item).revised_prompt));

/** What a reply says it used: `usage.total_tokens`, or `usageMetadata.totalTokenCount`. */
export function readImageUsage(reply: unknown): TaskUsage | undefined {
  const { usage, usageMetadata } = fieldsOf(reply);
  const tokens = amountOf(fieldsOf(usage).total_tokens) ?? amountOf(fieldsOf(usageMetadata).totalTokenCount);
  return tokens === undefined ? undefined : { tokens };
}

/** What a reply without an image says in its place: the words of the model, or the reason it ended. */
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

// Where else than documented a reply has been seen to hold its images. The document says of native replies only that they
// come "as Base64 or as an image URL", so an image that has been paid for is looked for in every shape that is in use.

const partsOf = (candidates: unknown): readonly unknown[] =>
  itemsOf(candidates).flatMap((each) => itemsOf(fieldsOf(fieldsOf(each).content).parts));

/**
 * The images of a reply that has none where they belong: `images[]`, `data` or `output` as one object, the message of a
 * chat choice, an `imageUrl`, and a text that is a link or shows an image in Markdown. Thoughts are no result.
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
/** A text beyond this is no link. */
const LONGEST_TEXT = 100_000;

function imagesInText(value: unknown): (FoundImage | undefined)[] {
  if (typeof value !== 'string' || value.length > LONGEST_TEXT) return [];
  const text = value.trim().replace(/^<(.*)>$/, '$1');
  const lone = onlyLink.exec(text)?.[1] ?? text;
  if (webUrl.test(lone)) return [urlImage(lone)];
  return [...text.matchAll(inMarkdown)].map(([, url]) => urlImage(url));
}

/** The first link of a reply that holds no image, and the path of the field that it stands in. */
export function findLink(reply: unknown): { readonly path: string; readonly url: string } | undefined {
  const waiting: { readonly value: unknown; readonly path: string }[] = [{ value: reply, path: '' }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, path } = next;
    const url = typeof value === 'string' ? /https?:\/\/[^\s"'<>()]+/i.exec(value)?.[0] : undefined;
    if (url !== undefined) return { path, url };
    if (typeof value !== 'object' || value === null) continue;
    // The last is looked at first, so they go in backwards. A path is only as long as anybody reads.
    for (const [name, inner] of Object.entries(value).reverse()) {
      if (path.length < 200) waiting.push({ value: inner, path: path === '' ? name : `${path}.${name}` });
    }
  }
  return undefined;
}

// One image of a reply, in each of the shapes that one comes in; read leniently.

const firstText = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '');

/** One image of a reply, before it has its place. Where Base64 has been left out, `isEmpty` says that none stands there. */
interface FoundImage {
  readonly kind: 'base64' | 'url';
  readonly url?: string | undefined;
  /** As the gateway names it; the bytes decide. */
  readonly mimeType?: string | undefined;
  /** A Base64 field that holds nothing. */
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

/** The image of a native part: `inlineData`, `fileData`, or as an item has it. Thoughts are no result. */
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

// One event of an image stream. The document says only that there are partial images and a final one; the shapes are
// those of the public API, read by their fields before their names.

export type ImageEvent =
  /** An unfinished image; `index` counts from 0. */
  | { readonly kind: 'partial'; readonly index: number }
  /**
   * A finished image, one that failed, or a whole reply in place of a stream; read it with `readImages`. `isLast` where it
   * says that it is the end.
   */
  | { readonly kind: 'final'; readonly isLast?: boolean }
  | { readonly kind: 'error'; readonly error: GatewayErrorFacts }
  /** Nothing that gw knows; passed over. */
  | { readonly kind: 'other' };

/**
 * What an event of an image stream is, from its JSON (Base64 may have been left out of it). The final image may come
 * before all partial ones, so the order says nothing. `name` is the one of the event line, which counts where the JSON
 * names no type.
 */
export function readImageEvent(event: unknown, name = ''): ImageEvent {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return { kind: 'other' };
  const fields = event as Readonly<Record<string, unknown>>;
  const type = typeof fields.type === 'string' ? fields.type : name;
  // One of several images that failed leaves its place among them empty.
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
