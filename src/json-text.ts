import { quietly } from './host.ts';

/** A punctuation mark, a quoted `text`, a `word` (number, true, false, null), or `other` for an invalid character. */
type JsonKind = '{' | '}' | '[' | ']' | ',' | ':' | 'text' | 'word' | 'other';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The kind of token that a character below U+0080 begins; undefined for white space. */
const kinds: (JsonKind | undefined)[] = [];
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (' \t\n\r'.includes(character)) kinds[code] = undefined;
  else if ('{}[],:'.includes(character)) kinds[code] = character as JsonKind;
  else if (code === QUOTE) kinds[code] = 'text';
  else kinds[code] = /[\w.+-]/.test(character) ? 'word' : 'other';
}

/**
 * Reads the tokens of JSON text one by one from a given position; no other code looks for the end of a quoted text.
 * It accepts text in pieces, and invalid JSON. It allocates nothing, because every reply passes through it.
 */
export class JsonTokens {
  kind: JsonKind = 'other';
  /** Where the token starts in this piece; 0 for a token that continues from the previous piece. */
  start = 0;
  end: number;
  /** True if the token is a `text` without its closing quote; the next piece continues it. */
  isOpen = false;
  private isEscaped = false;

  constructor(
    private text = '',
    from = 0,
  ) {
    this.end = from;
  }

  /** Continues with the next piece, after all tokens of the previous one have been read. */
  push(text: string): void {
    this.text = text;
    this.end = 0;
  }

  /** Moves to the next token; false if there is none. */
  next(): boolean {
    const { text } = this;
    const { length } = text;
    for (let at = this.end; at < length; at += 1) {
      if (this.isOpen) return this.readText(at, at);
      const code = text.charCodeAt(at);
      const kind = code < 128 ? kinds[code] : 'other';
      if (kind === undefined) continue;
      if (kind === 'text') return this.readText(at, at + 1);
      this.kind = kind;
      this.start = at;
      at += 1;
      if (kind === 'word') while (at < length && kinds[text.charCodeAt(at)] === 'word') at += 1;
      this.end = at;
      return true;
    }
    this.end = length;
    return false;
  }

  private readText(start: number, content: number): boolean {
    const { text } = this;
    const from = this.isEscaped ? content + 1 : content;
    this.kind = 'text';
    this.start = start;
    for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
      if (this.isEscapedAt(at, from)) continue;
      this.end = at + 1;
      this.isOpen = false;
      this.isEscaped = false;
      return true;
    }
    this.end = text.length;
    this.isOpen = true;
    this.isEscaped = this.isEscapedAt(text.length, from);
    return true;
  }

  private isEscapedAt(at: number, from: number): boolean {
    let before = at;
    while (before > from && this.text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
    return (at - before) % 2 === 1;
  }
}

/** Parses JSON text written by gw or the user; undefined if it is invalid. */
export const jsonOf = (text: string): unknown => quietly(() => JSON.parse(text));

/** The position of a value in JSON text. */
interface JsonPlace {
  readonly start: number;
  readonly end: number;
}

/** Yields the direct members of the object or list at a position of valid JSON, by name or by index from 0. */
export function* membersOf(text: string, from: number): Generator<JsonPlace & { name: string | number }> {
  const tokens = new JsonTokens(text, from);
  tokens.next();
  let depth = tokens.kind === '{' || tokens.kind === '[' ? 1 : 0;
  let name: string | number | undefined;
  let count = 0;
  let start: number | undefined;
  let end = 0;
  while (depth > 0 && tokens.next()) {
    const { kind } = tokens;
    if (kind === '}' || kind === ']') depth -= 1;
    if (depth === 0 || (depth === 1 && kind === ',')) {
      if (start !== undefined) yield { name: name ?? count, start, end };
      count += 1;
      start = undefined;
    } else if (depth === 1 && kind === ':') {
      name = JSON.parse(text.slice(start, end)) as string;
      start = undefined;
    } else {
      start ??= tokens.start;
      end = tokens.end;
    }
    if (kind === '{' || kind === '[') depth += 1;
  }
}

/** The position of the value at a path in valid JSON; for a repeated name the last one, as JSON.parse does. */
export function placeOf(text: string, path: readonly (string | number)[]): JsonPlace | undefined {
  let place: JsonPlace = { start: 0, end: text.length };
  for (const name of path) {
    let found: JsonPlace | undefined;
    for (const member of membersOf(text, place.start)) if (member.name === name) found = member;
    if (found === undefined) return undefined;
    place = found;
  }
  return place;
}

/** The texts of the direct members of the object or list at a path in valid JSON. */
export function textsAt(text: string, ...path: (string | number)[]): string[] {
  const place = placeOf(text, path);
  return place ? [...membersOf(text, place.start)].map(({ start, end }) => text.slice(start, end)) : [];
}

/** Puts JSON text on one line by removing only the white space between tokens. */
export function compactJson(text: string): string {
  const tokens = new JsonTokens(text);
  let out = '';
  while (tokens.next()) out += text.slice(tokens.start, tokens.end);
  return out;
}

/** Repairs cut JSON text: removes incomplete values and closes what is open; empty if no value is complete. */
export function closedJson(text: string): string {
  const tokens = new JsonTokens(text);
  const closers: string[] = [];
  let before: JsonKind | undefined;
  // The end of the last complete value, and the number of objects and lists open there.
  let end = 0;
  let depth = 0;
  while (tokens.next()) {
    const { kind } = tokens;
    if (kind === '{') closers.push('}');
    if (kind === '[') closers.push(']');
    const isEnd = kind === '}' || kind === ']';
    if (isEnd) closers.pop();
    const isValue = kind === 'text' && !tokens.isOpen && (before === ':' || closers.at(-1) === ']');
    if (isEnd || isValue) {
      end = tokens.end;
      depth = closers.length;
    }
    before = kind;
  }
  return text.slice(0, end) + closers.slice(0, depth).reverse().join('');
}

const INDENT = '  ';

/**
 * Formats valid JSON text with an indent of two; texts and numbers stay as written. An empty list or object stays on
 * one line.
 */
export function indentJson(text: string): string {
  const tokens = new JsonTokens(text);
  let out = '';
  let depth = 0;
  const line = () => `\n${INDENT.repeat(depth)}`;
  let hasBegun = false;
  while (tokens.next()) {
    const { kind } = tokens;
    const opens = kind === '{' || kind === '[';
    if (kind === '}' || kind === ']') {
      depth -= 1;
      if (!hasBegun) out += line();
    } else if (hasBegun) out += line();
    out += text.slice(tokens.start, tokens.end);
    if (opens) depth += 1;
    if (kind === ':') out += ' ';
    if (kind === ',') out += line();
    hasBegun = opens;
  }
  return out;
}

/** The position where a text stops being JSON, and the reason. */
interface JsonFault {
  /** Both count from 1; the column counts UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
const ESCAPE_OR_FAULT = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\|[\x00-\x1f]/g;

/**
 * Finds the first fault of a text that JSON.parse refused, because the error of JSON.parse often lacks a position.
 * Undefined if the text is valid JSON. With `isOnce` a repeated name in an object is a fault too.
 */
export function findJsonFault(text: string, isOnce = false): JsonFault | undefined {
  const open: { readonly closer: '}' | ']'; readonly names: Set<unknown> }[] = [];
  let expected: 'value' | 'first' | 'name' | 'colon' | 'more' = 'value';
  const tokens = new JsonTokens(text);
  const fault = (offset: number, problem: string): JsonFault => {
    const before = text.slice(0, offset);
    return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n'), problem };
  };
  const shown = (at: number) => JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0));
  for (;;) {
    const isThere = tokens.next();
    const { kind, start, end } = tokens;
    const { closer, names } = open.at(-1) ?? {};
    const isNamed: boolean = closer === '}' && (expected === 'name' || expected === 'first');
    if (expected === 'more' && closer === undefined)
      return isThere ? fault(start, 'more text after the end of the JSON') : undefined;
    if (!isThere)
      return fault(text.length, closer ? `the text ends before its ${closer}` : 'there is no JSON in it');
    if (kind === closer && (expected === 'first' || expected === 'more')) {
      open.pop();
      expected = 'more';
    } else if (expected === 'more') {
      if (kind !== ',') return fault(start, `a comma or ${closer} is missing before ${shown(start)}`);
      expected = closer === '}' ? 'name' : 'value';
    } else if (expected === 'colon') {
      if (kind !== ':') return fault(start, `a colon is missing before ${shown(start)}`);
      expected = 'value';
    } else if (kind === 'text') {
      for (const { 0: found, index } of text.slice(start + 1, end).matchAll(ESCAPE_OR_FAULT)) {
        const at = start + 1 + index;
        if (found === '\\')
          return fault(at, 'an unknown escape stands in a text: a backslash is written \\\\');
        if (found < ' ')
          return fault(at, 'a line break or control character stands in a text: write it as \\n, \\t, …');
      }
      if (tokens.isOpen) return fault(start, 'this text has no closing quote');
      const name = isOnce && isNamed && text.slice(start, end);
      if (name && names?.size === names?.add(jsonOf(name)).size)
        return fault(start, `${name.slice(0, 60)} is given twice: give it once`);
      expected = isNamed ? 'colon' : 'more';
    } else if (isNamed) {
      return fault(start, `a name in double quotes is expected, not ${shown(start)}`);
    } else if (kind === '{' || kind === '[') {
      open.push({ closer: kind === '{' ? '}' : ']', names: new Set() });
      expected = 'first';
    } else if (kind === 'word' && SCALAR.test(text.slice(start, end))) expected = 'more';
    else {
      const word = kind === 'word' && JSON.stringify(text.slice(start, Math.min(end, start + 20)));
      return fault(start, `a value is expected, not ${word || shown(start)}`);
    }
  }
}
