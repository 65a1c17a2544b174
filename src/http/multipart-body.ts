import { randomBytes } from 'node:crypto';

/** A text field of a form. */
interface MultipartText {
  readonly name: string;
  readonly value: string;
}

/** A file of a form, read from disk while it is sent. */
export interface MultipartFile {
  readonly name: string;
  readonly file: {
    /** An absolute path. */
    readonly path: string;
    /** The file name that the gateway gets, without directories. */
    readonly name: string;
    readonly type: string;
    /** The size when gw checked the file; a file whose size has changed is not sent. */
    readonly bytes: number;
  };
}

export type MultipartField = MultipartText | MultipartFile;

/** A form with files (RFC 7578); its fields are sent in this order. */
export interface MultipartBody {
  /** Separates the fields; it has 128 random bits, so that no file contains it. */
  readonly boundary: string;
  readonly fields: readonly MultipartField[];
}

/** Makes a form of these fields. */
export const multipartBody = (fields: readonly MultipartField[]): MultipartBody => ({
  boundary: `gw-${randomBytes(16).toString('hex')}`,
  fields,
});

// How a form is encoded (RFC 7578), except for the content of files.

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The encoded size of a form. */
export function formBytes({ boundary, fields }: MultipartBody): number {
  const heads = fields.map((field) => encode(headOf(boundary, field)).length + contentBytes(field) + 2);
  return heads.reduce((sum, bytes) => sum + bytes, 0) + encode(endOf(boundary)).length;
}

const contentBytes = (field: MultipartField): number =>
  'file' in field ? field.file.bytes : encode(field.value).length;

/** The bytes before a field's content. */
export function headOf(boundary: string, field: MultipartField): string {
  const start = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(field.name)}"`;
  if (!('file' in field)) return `${start}\r\n\r\n`;
  const { name, type } = field.file;
  return `${start}; filename="${quoted(name)}"\r\ncontent-type: ${type}\r\n\r\n`;
}

/** The bytes after the last field. */
export const endOf = (boundary: string): string => `--${boundary}--\r\n`;

/** Quotes a name as browsers do: UTF-8, with quotes and line breaks percent-encoded. */
const quoted = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
