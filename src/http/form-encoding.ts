import type { MultipartBody, MultipartField } from './multipart-body.ts';

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
