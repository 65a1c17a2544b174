import { randomBytes } from 'node:crypto';

/** A text field of a form. */
export interface MultipartText {
  readonly name: string;
  readonly value: string;
}

/** A file of a form, read from disk while it is sent. */
export interface MultipartFile {
  readonly name: string;
  readonly file: {
    /** Absolute. */
    readonly path: string;
    /** What the gateway is told it is called: no directories. */
    readonly name: string;
    readonly type: string;
    /** The length that it had when it was looked at; another length is not sent. */
    readonly bytes: number;
  };
}

export type MultipartField = MultipartText | MultipartFile;

/** A form with files (RFC 7578): its fields in the order in which they are sent. */
export interface MultipartBody {
  /** Stands between the fields; 128 random bits, so that no file holds it. */
  readonly boundary: string;
  readonly fields: readonly MultipartField[];
}

/** A form of these fields. */
export const multipartBody = (fields: readonly MultipartField[]): MultipartBody => ({
  boundary: `gw-${randomBytes(16).toString('hex')}`,
  fields,
});

// How a form is written (RFC 7578), apart from its files' content.

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** How long a form is in the request. */
export function formBytes({ boundary, fields }: MultipartBody): number {
  const heads = fields.map((field) => encode(headOf(boundary, field)).length + contentBytes(field) + 2);
  return heads.reduce((sum, bytes) => sum + bytes, 0) + encode(endOf(boundary)).length;
}

const contentBytes = (field: MultipartField): number =>
  'file' in field ? field.file.bytes : encode(field.value).length;

/** What stands before the content of a field. */
export function headOf(boundary: string, field: MultipartField): string {
  const start = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(field.name)}"`;
  if (!('file' in field)) return `${start}\r\n\r\n`;
  const { name, type } = field.file;
  return `${start}; filename="${quoted(name)}"\r\ncontent-type: ${type}\r\n\r\n`;
}

/** What stands after the last field. */
export const endOf = (boundary: string): string => `--${boundary}--\r\n`;

/** As browsers write names: UTF-8, with what would end the quoted text or the line written as in a URL. */
const quoted = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
