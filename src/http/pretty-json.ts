import { parseJson } from './parse-json.ts';

const INDENT = '  ';
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * JSON text in lines, indented by two; strings and numbers stay as they were written. Undefined for a text that is not
 * JSON. A list or an object that is empty stays on its line.
 */
export function prettyJson(text: string): string | undefined {
  try {
    parseJson(text);
  } catch {
    return undefined;
  }
  let out = '';
  let depth = 0;
  const line = () => `\n${INDENT.repeat(depth)}`;
  let before = '';
  for (const [part] of text.matchAll(token)) {
    if (part === '}' || part === ']') {
      depth -= 1;
      out += before === '{' || before === '[' ? part : line() + part;
    } else {
      if (before === '{' || before === '[') out += line();
      out += part === ':' ? ': ' : part === ',' ? `,${line()}` : part;
      if (part === '{' || part === '[') depth += 1;
    }
    before = part;
  }
  return `${out}\n`;
}
