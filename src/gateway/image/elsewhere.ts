import { type FoundImage, fieldsOf, imageOfItem, listOf, textOf } from './item.ts';

// Where else than documented a reply has been seen to hold its images. The document says of native replies only that they
// come "as Base64 or as an image URL", so an image that has been paid for is looked for in every shape that is in use.

/** The parts of native candidates. */
export const partsOf = (candidates: unknown): readonly unknown[] =>
  listOf(candidates).flatMap((each) => listOf(fieldsOf(fieldsOf(each).content).parts));

/**
 * The images of a reply that has none where they belong: `images[]`, `data` or `output` as one object, the message of a
 * chat choice, an `imageUrl`, and a text that is a link or shows an image in Markdown. Thoughts are no result.
 */
export function imagesElsewhere(reply: unknown): (FoundImage | undefined)[] {
  const { data, images, output, candidates, choices } = fieldsOf(reply);
  const messages = listOf(choices).map((choice) => fieldsOf(fieldsOf(choice).message));
  const parts = partsOf(candidates)
    .map(fieldsOf)
    .filter((part) => part.thought !== true);
  return [
    ...listOf(images).map(imageOf),
    imageOf(data),
    imageOf(output),
    ...listOf(output).map(imageOf),
    ...messages.flatMap((message) => listOf(message.images).map(imageOf)),
    ...parts.map((part) => urlImage(textOf(part.imageUrl, fieldsOf(part.imageUrl).url))),
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
