import { shellQuote } from '../errors.ts';
import type { PreparedRequest } from './client.ts';
import { credentialHeaders, HIDDEN } from './credential.ts';
import type { MultipartField } from './multipart-body.ts';
import { prettyJson } from './parse-json.ts';

/** A request as --dry-run shows it: method, URL, headers with the key hidden, and a JSON body or a form's fields. */
export function showRequest({ method, url, headers, body, multipart }: PreparedRequest): string {
  const lines = [`${method} ${url.href}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${hideKey(name, value)}`);
  if (body) {
    const text = new TextDecoder().decode(body);
    // Numbers and escapes are shown exactly as they are sent.
    lines.push('', prettyJson(text)?.trimEnd() ?? text);
  }
  if (multipart) lines.push('', ...multipart.fields.map(fieldLine));
  return `${lines.join('\n')}\n`;
}

/** A request as --dry-run --json prints it, without the body. */
export function requestJson({ method, url, headers, multipart }: PreparedRequest): Record<string, unknown> {
  const shown = Object.entries(headers).map(([name, value]) => [name, hideKey(name, value)]);
  return {
    method,
    url: url.href,
    headers: Object.fromEntries(shown),
    ...(multipart && { multipart: multipart.fields }),
  };
}

/** `image[]: fox.png (image/png, 1234 bytes) from /home/me/fox.png`; a text of several lines is quoted. */
function fieldLine(field: MultipartField): string {
  if (!('file' in field))
    return `${field.name}: ${/[\r\n]/.test(field.value) ? JSON.stringify(field.value) : field.value}`;
  const { name, type, bytes, path } = field.file;
  return `${field.name}: ${name} (${type}, ${bytes} bytes) from ${path}`;
}

function hideKey(name: string, value: string): string {
  if (!credentialHeaders.has(name.toLowerCase())) return value;
  return value.startsWith('Bearer ') ? `Bearer ${HIDDEN}` : HIDDEN;
}

/** A larger body is passed by a here-document: Linux limits one argument of a command to 128 KiB. */
const LARGEST_ARGUMENT_BYTES = 100 * 1024;

/** A curl command for a POSIX shell that sends the same request and reads the key from `$GW_API_KEY`. */
export function curlCommand({ method, url, headers, body, multipart }: PreparedRequest): string {
  const parts = ['curl', '--silent', '--show-error'];
  let secret: string | undefined;
  // By default curl treats braces and brackets in a URL as patterns.
  if (/[[\]{}]/.test(url.href)) parts.push('--globoff');
  parts.push(...(method === 'HEAD' ? ['--head'] : ['--request', method]), shellQuote(url.href));
  for (const [name, value] of Object.entries(headers)) {
    // curl chooses its own boundary.
    if (multipart && name === 'content-type') continue;
    if (!credentialHeaders.has(name.toLowerCase())) parts.push('--header', shellQuote(`${name}: ${value}`));
    // An argument is visible in the process list, so curl reads the key from stdin, as a line of its configuration.
    else secret = `header = "${name}: ${value.startsWith('Bearer ') ? 'Bearer ' : ''}$GW_API_KEY"`;
  }
  for (const field of multipart?.fields ?? []) parts.push(...formArgument(field));
  const documents: string[] = [];
  if (secret !== undefined) {
    parts.push('--config', '-');
    documents.push(`${secret}\nGW_CURL\n`);
  }
  const text = new TextDecoder().decode(body);
  const end = hereMark(text);
  if (body && body.byteLength <= LARGEST_ARGUMENT_BYTES) parts.push('--data-binary', shellQuote(text));
  else if (body) {
    parts.push('--data-binary', '@/dev/fd/3');
    documents.push(`${text}\n${end}\n`);
  }
  if (secret !== undefined) parts.push('<<GW_CURL');
  if (body && body.byteLength > LARGEST_ARGUMENT_BYTES) parts.push(`3<<'${end}'`);
  return `${parts.join(' ')}\n${documents.join('')}`;
}

/** `--form-string` takes a literal value; `--form` reads a file, whose path and name use curl's own quoting. */
function formArgument(field: MultipartField): string[] {
  if (!('file' in field)) return ['--form-string', shellQuote(`${field.name}=${field.value}`)];
  const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const { path, name, type } = field.file;
  return ['--form', shellQuote(`${field.name}=@${quoted(path)};type=${type};filename=${quoted(name)}`)];
}

/** A line that does not occur in the text, to end a here-document. */
function hereMark(text: string): string {
  const lines = new Set(text.split('\n'));
  let mark = 'GW_BODY';
  while (lines.has(mark)) mark += '_';
  return mark;
}
