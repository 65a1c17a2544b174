import { shellQuote } from '../errors.ts';
import type { PreparedRequest } from './client.ts';
import { credentialHeaders, HIDDEN } from './credential.ts';
import type { MultipartField } from './multipart-body.ts';
import { prettyJson } from './parse-json.ts';

export interface ShowOptions {
  /** `short` tells the size of Base64 instead of printing it. */
  readonly base64: 'full' | 'short';
}

/** A request as people read it, for --dry-run: method and URL, headers with the key hidden, indented JSON body or the fields of a form. */
export function showRequest(
  { method, url, headers, body, multipart }: PreparedRequest,
  options: ShowOptions = { base64: 'full' },
): string {
  const lines = [`${method} ${url.href}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${hideKey(name, value)}`);
  if (body) {
    const text = new TextDecoder().decode(body);
    lines.push('', indented(text, options.base64 === 'short'));
  }
  if (multipart) lines.push('', ...multipart.fields.map(fieldLine));
  return `${lines.join('\n')}\n`;
}

/** A request as --dry-run --json prints it. */
export function requestJson({
  method,
  url,
  headers,
  body,
  multipart,
}: PreparedRequest): Record<string, unknown> {
  const shown = Object.entries(headers).map(([name, value]) => [name, hideKey(name, value)]);
  return {
    method,
    url: url.href,
    headers: Object.fromEntries(shown),
    ...(body && { body: JSON.parse(new TextDecoder().decode(body)) }),
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

function indented(text: string, shortBase64: boolean): string {
  // Numbers and escapes stay as they are sent.
  if (!shortBase64) return prettyJson(text)?.trimEnd() ?? text;
  try {
    return JSON.stringify(JSON.parse(text, shortened), null, 2);
  } catch {
    return text;
  }
}

const SHORT_FROM_CHARACTERS = 200;

function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length < SHORT_FROM_CHARACTERS) return value;
  const found = /^(data:[^,]{0,100};base64,)?[A-Za-z0-9+/_-]+={0,2}$/.exec(value);
  return found
    ? `${found[1] ?? ''}… (${value.length - (found[1]?.length ?? 0)} characters of Base64)`
    : value;
}

/** Above this the body goes through a here-document of its own: one argument of a command is limited to 128 KiB on Linux. */
const LARGEST_ARGUMENT_BYTES = 100 * 1024;

/** One curl command that sends the same request and reads the key from `$GW_API_KEY`, for a POSIX shell. */
export function curlCommand({ method, url, headers, body, multipart }: PreparedRequest): string {
  const parts = ['curl', '--silent', '--show-error'];
  let secret: string | undefined;
  // curl reads braces and brackets in an address as patterns.
  if (/[[\]{}]/.test(url.href)) parts.push('--globoff');
  parts.push(...(method === 'HEAD' ? ['--head'] : ['--request', method]), shellQuote(url.href));
  for (const [name, value] of Object.entries(headers)) {
    // curl makes up a boundary of its own.
    if (multipart && name === 'content-type') continue;
    if (!credentialHeaders.has(name.toLowerCase())) parts.push('--header', shellQuote(`${name}: ${value}`));
    // An argument would show in the process list: curl reads the key on stdin, as a line of its configuration.
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

/** `--form-string` takes a value as it is; `--form` reads a file, its path and name in quotes of curl's own. */
function formArgument(field: MultipartField): string[] {
  if (!('file' in field)) return ['--form-string', shellQuote(`${field.name}=${field.value}`)];
  const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const { path, name, type } = field.file;
  return ['--form', shellQuote(`${field.name}=@${quoted(path)};type=${type};filename=${quoted(name)}`)];
}

/** A line that the text does not hold. */
function hereMark(text: string): string {
  const lines = new Set(text.split('\n'));
  let mark = 'GW_BODY';
  while (lines.has(mark)) mark += '_';
  return mark;
}
