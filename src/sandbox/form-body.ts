import { MB } from '../gateway/media-limits.ts';
import { splitForm } from './form-parts.ts';
import { Refusal } from './reply.ts';

/** A file of a multipart body. */
export interface FormFile {
  /** The name of its part: `image[]`. */
  readonly field: string;
  /** The file's own name. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A multipart body: its text fields by name, each with all its values, and its files in order. */
export interface FormBody {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly FormFile[];
}

/** The sandbox's own bound for a form, where the endpoint has none: the document states no gateway-wide limit. */
export const MAX_FORM_BYTES = 512 * MB;

export const isFormType = (contentType: string | undefined): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

/** Reads a multipart body. Throws Refusal (400 `InvalidRequest`) for what is none, or breaks off. */
export async function readForm(bytes: Uint8Array, contentType: string): Promise<FormBody> {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts = splitForm(body, contentType);
  if (!parts) throw new Refusal(400, 'The request body is not valid multipart form data.', 'InvalidRequest');
  const fields = new Map<string, string[]>();
  const files: FormFile[] = [];
  for (const { field, fileName, type = 'application/octet-stream', bytes: content } of parts) {
    if (fileName !== undefined) files.push({ field, name: fileName, type, bytes: content });
    else fields.set(field, [...(fields.get(field) ?? []), content.toString('utf8')]);
  }
  return { fields, files };
}

/** A form as the log of requests keeps it: its files by their sizes. */
export const formNote = ({ fields, files }: FormBody): object => ({
  fields: Object.fromEntries(fields),
  files: files.map(({ bytes, ...file }) => ({ ...file, sizeBytes: bytes.length })),
});
