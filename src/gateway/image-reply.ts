import * as z from 'zod';
import type { TaskUsage } from './task.ts';

// What an image reply holds ("Image response", and the public shape of native replies), read leniently.

/** A reply is an object; every field of it is looked at where it is used. */
export const ImageReply = z.looseObject({});
export type ImageReply = z.infer<typeof ImageReply>;

/** One image of a reply. Where Base64 has been left out of the record, `isEmpty` says that none stands there. */
export interface ImageInReply {
  /** Its place among the images of the reply, from 0. */
  readonly index: number;
  readonly kind: 'base64' | 'url';
  readonly url?: string | undefined;
  /** As the gateway names it; the bytes decide. */
  readonly mimeType?: string | undefined;
  /** A Base64 field that holds nothing. */
  readonly isEmpty?: boolean | undefined;
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '');

type Found = Omit<ImageInReply, 'index'>;

/**
 * The images of a reply, in order: `data[]` with `b64_json` or `url`, native `candidates[].content.parts[]` with
 * `inlineData`, `fileData` or an image URL, and a single image beside other fields (the final event of a stream).
 * Parts that are thoughts are no result. None for a reply that holds no image.
 */
export function readImages(reply: unknown): ImageInReply[] {
  const { data, candidates } = fieldsOf(reply);
  const parts = listOf(candidates).flatMap((each) => listOf(fieldsOf(fieldsOf(each).content).parts));
  const found: (Found | undefined)[] = [
    ...listOf(data).map(imageOfItem),
    ...parts.map(imageOfPart),
    ...(data === undefined && candidates === undefined ? [imageOfItem(reply)] : []),
  ];
  return found.filter((image) => image !== undefined).map((image, index) => ({ index, ...image }));
}

function imageOfItem(value: unknown): Found | undefined {
  const item = fieldsOf(value);
  const mimeType = mimeOf(textOf(item.output_format));
  const url = textOf(item.url, item.image_url, fieldsOf(item.image_url).url);
  // In URL mode `b64_json` is normally an empty string.
  if (textOf(item.b64_json)) return { kind: 'base64', ...(mimeType && { mimeType }) };
  if (url) return { kind: 'url', url, ...(mimeType && { mimeType }) };
  return typeof item.b64_json === 'string'
    ? { kind: 'base64', isEmpty: true, ...(mimeType && { mimeType }) }
    : undefined;
}

function imageOfPart(value: unknown): Found | undefined {
  const part = fieldsOf(value);
  if (part.thought === true) return undefined;
  const inline = fieldsOf(part.inlineData ?? part.inline_data);
  if (typeof inline.data === 'string') {
    const mimeType = textOf(inline.mimeType, inline.mime_type);
    return {
      kind: 'base64',
      ...(inline.data === '' && { isEmpty: true }),
      ...(mimeType && { mimeType }),
    };
  }
  const file = fieldsOf(part.fileData ?? part.file_data);
  const url = textOf(file.fileUri, file.file_uri);
  if (!url) return imageOfItem(part);
  const mimeType = textOf(file.mimeType, file.mime_type);
  return { kind: 'url', url, ...(mimeType && { mimeType }) };
}

const mimeOf = (format: string | undefined): string | undefined =>
  format && (format.includes('/') ? format : `image/${format}`);

const counted = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 ? value : undefined;

/** What a reply says it used: `usage.total_tokens`, or `usageMetadata.totalTokenCount`. */
export function readImageUsage(reply: unknown): TaskUsage | undefined {
  const { usage, usageMetadata } = fieldsOf(reply);
  const tokens = counted(fieldsOf(usage).total_tokens) ?? counted(fieldsOf(usageMetadata).totalTokenCount);
  return tokens === undefined ? undefined : { tokens };
}

/** What a reply without an image says in its place: the words of the model, or the reason it ended. */
export function readRefusal(reply: unknown): string | undefined {
  const { candidates, promptFeedback } = fieldsOf(reply);
  const [first] = listOf(candidates);
  const { content, finishReason } = fieldsOf(first);
  const words = listOf(fieldsOf(content).parts)
    .map(fieldsOf)
    .filter((part) => part.thought !== true)
    .flatMap((part) => textOf(part.text) ?? [])
    .join(' ');
  return textOf(words, fieldsOf(promptFeedback).blockReason, finishReason);
}
