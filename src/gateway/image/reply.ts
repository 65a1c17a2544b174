import * as z from 'zod';
import type { TaskUsage } from '../task.ts';
import { imagesElsewhere, partsOf } from './elsewhere.ts';
import { type FoundImage, fieldsOf, imageOfItem, imageOfPart, listOf, textOf } from './item.ts';

// What an image reply holds ("Image response", and the public shape of native replies), read leniently.

/** A reply is an object; every field of it is looked at where it is used. */
export const ImageReply = z.looseObject({});
export type ImageReply = z.infer<typeof ImageReply>;

/** One image of a reply. */
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
    ...listOf(data).map(imageOfItem),
    ...partsOf(candidates).flatMap((part) => imageOfPart(part) ?? []),
    ...(data === undefined && candidates === undefined ? [imageOfItem(reply)] : []),
  ]);
  return found.length > 0 ? found : placed(imagesElsewhere(reply));
}

/** Whether a reply has its images in another form than a list, so that nobody can say that it holds none. */
export const isMistyped = (reply: unknown): boolean => {
  const { data, candidates } = fieldsOf(reply);
  return [data, candidates].some((list) => list !== undefined && !Array.isArray(list));
};

const placed = (found: readonly (FoundImage | undefined)[]): ImageInReply[] =>
  found.flatMap((image, index) => (image ? [{ index, ...image }] : []));

/** Why an image of a reply is missing, in the gateway's words: the error of the first item that holds one instead. */
export function readMissing(reply: unknown): string | undefined {
  for (const item of [...listOf(fieldsOf(reply).data), reply]) {
    const { error } = fieldsOf(item);
    const said = textOf(error, fieldsOf(error).message, fieldsOf(error).code);
    if (said !== undefined) return said;
  }
  return undefined;
}

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
  return textOf(words, fieldsOf(promptFeedback).blockReason, finishReason, readMissing(reply));
}
