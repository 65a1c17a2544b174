// One image of a reply, in each of the shapes that one comes in; read leniently.

type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none for anything else. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '');

/** One image of a reply, before it has its place. Where Base64 has been left out, `isEmpty` says that none stands there. */
export interface FoundImage {
  readonly kind: 'base64' | 'url';
  readonly url?: string | undefined;
  /** As the gateway names it; the bytes decide. */
  readonly mimeType?: string | undefined;
  /** A Base64 field that holds nothing. */
  readonly isEmpty?: boolean | undefined;
}

/** The image of an object with `b64_json`, `url` or `image_url`, such as an item of `data[]`. */
export function imageOfItem(value: unknown): FoundImage | undefined {
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

/** The image of a native part: `inlineData`, `fileData`, or as an item has it. Thoughts are no result. */
export function imageOfPart(value: unknown): FoundImage | undefined {
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
