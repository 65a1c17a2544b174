/** Where a text stops being JSON, and why. */
export interface JsonFault {
  /** Both counted from 1; the column in UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

type Expected = 'value' | 'first' | 'name' | 'colon' | 'more' | 'end';

const BLANKS = /[ \t\n\r]*/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Finds the first fault of a text that JSON.parse refused, whose own message often has no position. None: it is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const closers: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  const afterValue = (): Expected => (closers.length > 0 ? 'more' : 'end');
  const fault = (offset: number, problem: string): JsonFault => {
    const before = text.slice(0, offset);
    const line = before.split('\n').length;
    return { line, column: offset - before.lastIndexOf('\n'), problem };
  };
  for (;;) {
    at = endOf(BLANKS, text, at) ?? at;
    const char = text[at];
    const closer = closers.at(-1);
    if (expected === 'end')
      return char === undefined ? undefined : fault(at, 'more text after the end of the JSON');
    if (char === undefined)
      return fault(at, closer ? `the text ends before its ${closer}` : 'there is no JSON in it');
    if (char === closer && (expected === 'first' || expected === 'more')) {
      closers.pop();
      at += 1;
      expected = afterValue();
    } else if (expected === 'more') {
      if (char !== ',') return fault(at, `a comma or ${closer} is missing before ${shown(char)}`);
      at += 1;
      expected = closer === '}' ? 'name' : 'value';
    } else if (expected === 'colon') {
      if (char !== ':') return fault(at, `a colon is missing before ${shown(char)}`);
      at += 1;
      expected = 'value';
    } else if (char === '"') {
      const string = scanString(text, at);
      if (string.problem !== undefined) return fault(string.at, string.problem);
      at = string.at;
      expected = expected === 'name' || (expected === 'first' && closer === '}') ? 'colon' : afterValue();
    } else if (expected === 'name' || (expected === 'first' && closer === '}')) {
      return fault(at, `a name in double quotes is expected, not ${shown(char)}`);
    } else if (char === '{' || char === '[') {
      closers.push(char === '{' ? '}' : ']');
      at += 1;
      expected = 'first';
    } else {
      const end = endOf(SCALAR, text, at);
      if (end === undefined) return fault(at, `a value is expected, not ${shown(wordAt(text, at))}`);
      at = end;
      expected = afterValue();
    }
  }
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function scanString(text: string, start: number): { at: number; problem?: string } {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (Number.isNaN(code)) return { at: start, problem: 'this text has no closing quote' };
    if (code === 0x22) return { at: at + 1 };
    if (code < 0x20)
      return { at, problem: 'a line break or control character stands in a text: write it as \\n, \\t, …' };
    const end: number | undefined = code === 0x5c ? endOf(ESCAPE, text, at) : at + 1;
    if (end === undefined)
      return { at, problem: 'an unknown escape stands in a text: a backslash is written \\\\' };
    at = end;
  }
}

/** The word or the one character at an offset. */
const wordAt = (text: string, at: number) =>
  /^[\w.+-]+/.exec(text.slice(at, at + 20))?.[0] ?? String.fromCodePoint(text.codePointAt(at) ?? 0);
const shown = (char: string) => JSON.stringify(char);
