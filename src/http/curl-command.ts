import type { PreparedRequest } from './client.ts';
import { credentialHeaders } from './credential.ts';
import type { MultipartField } from './multipart-body.ts';

/** Above this the body goes through a here-document: one argument of a command is limited to 128 KiB on Linux. */
const LARGEST_ARGUMENT_BYTES = 100 * 1024;

/** One curl command that sends the same request and reads the key from `$GW_API_KEY`, for a POSIX shell. */
export function curlCommand({ method, url, headers, body, multipart }: PreparedRequest): string {
  const parts = ['curl', '--silent', '--show-error'];
  // curl reads braces and brackets in an address as patterns.
  if (/[[\]{}]/.test(url.href)) parts.push('--globoff');
  parts.push('--request', method, shellQuote(url.href));
  for (const [name, value] of Object.entries(headers)) {
    // curl makes up a boundary of its own.
    if (multipart && name === 'content-type') continue;
    const line = credentialHeaders.has(name.toLowerCase())
      ? keyHeader(name, value)
      : shellQuote(`${name}: ${value}`);
    parts.push('--header', line);
  }
  for (const field of multipart?.fields ?? []) parts.push(...formArgument(field));
  if (!body) return `${parts.join(' ')}\n`;
  const text = new TextDecoder().decode(body);
  if (body.byteLength <= LARGEST_ARGUMENT_BYTES)
    return `${parts.join(' ')} --data-binary ${shellQuote(text)}\n`;
  const end = hereMark(text);
  return `${parts.join(' ')} --data-binary @- <<'${end}'\n${text}\n${end}\n`;
}

/** A text as one word of a POSIX shell, whatever it holds. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** `--form-string` takes a value as it is; `--form` reads a file, its path and name in quotes of curl's own. */
function formArgument(field: MultipartField): string[] {
  if (!('file' in field)) return ['--form-string', shellQuote(`${field.name}=${field.value}`)];
  const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const { path, name, type } = field.file;
  return ['--form', shellQuote(`${field.name}=@${quoted(path)};type=${type};filename=${quoted(name)}`)];
}

function keyHeader(name: string, value: string): string {
  return `"${name}: ${value.startsWith('Bearer ') ? 'Bearer ' : ''}$GW_API_KEY"`;
}

/** A line that the text does not hold. */
function hereMark(text: string): string {
  const lines = new Set(text.split('\n'));
  let mark = 'GW_BODY';
  while (lines.has(mark)) mark += '_';
  return mark;
}
