// Prints every message of the program: `node test/messages.js [KIND...]`, one per line as FILE:LINE KIND TEXT. These are the
// texts of errors, hints, warnings, notes and progress in the calls and fields that carry them; {…} stands for a value.
import * as fs from 'node:fs';
import * as path from 'node:path';

const root = path.join(import.meta.dirname, '../src');

/** The calls and fields that carry a message, with its kind; in `usage` and `new GwError` the hint comes second. */
const carriers = [
  [
    'error',
    /\b(?:usage|new GwError|new Refused\w*|new UnreadableJson|new ExchangeError|new BodyFault|new Interrupted|new UnknownOutcome|refused|failed|unreadable|issue|fault)\(/g,
  ],
  ['warning', /\b(?:warn|onWarning)\(/g],
  ['note', /\b(?:note|aside|onQueued|awaiting|trace|tell)\??\.?\(/g],
  ['hint', /\b(?:hint|remedy)(?:\??:|\s=)\s/g],
  ['hint', /\b(?:const|function) \w*[hH]int\w*\b/g],
  ['error', /\b(?:message|sentence|reason|problem)(?:\??:|\s=)\s/g],
];

/** The texts in a piece of source: up to the bracket that closes it, or a comma or semicolon outside brackets. */
function* textsFrom(source, start, isCall) {
  let depth = isCall ? 1 : 0;
  let isSecond = false;
  for (let at = start; at < source.length; at += 1) {
    const char = source[at];
    if (char === '/' && source[at + 1] === '/') at = source.indexOf('\n', at);
    else if (char === '/' && source[at + 1] === '*') at = source.indexOf('*/', at);
    else if (char === "'" || char === '"' || char === '`') {
      const { end, text } = literal(source, at);
      // An apostrophe in a regular expression has no closing quote on its line.
      if (end === undefined) continue;
      if (text.trim() !== '') yield { at, text, isSecond };
      at = end;
    } else if ('([{'.includes(char)) depth += 1;
    else if (')]}'.includes(char)) {
      depth -= 1;
      if (isCall ? depth === 0 : depth < 0) return;
    } else if (isCall && depth === 1 && char === ',') isSecond = true;
    else if (!isCall && depth === 0 && (char === ',' || char === ';')) return;
  }
}

/** Reads a string or template: its text, with {…} for each inserted value, and its end. */
function literal(source, start) {
  const quote = source[start];
  let text = '';
  for (let at = start + 1; at < source.length; at += 1) {
    const char = source[at];
    if (char === '\\') {
      text += source[at + 1] === 'n' ? ' ' : source[at + 1];
      at += 1;
    } else if (char === quote) return { end: at, text };
    else if (char === '\n' && quote !== '`') return { end: undefined, text };
    else if (quote === '`' && char === '$' && source[at + 1] === '{') {
      text += '{…}';
      let depth = 1;
      for (at += 2; depth > 0; at += 1) {
        if ('\'"`'.includes(source[at])) at = literal(source, at).end ?? at;
        else if (source[at] === '{') depth += 1;
        else if (source[at] === '}') depth -= 1;
      }
      at -= 1;
    } else text += char;
  }
  return { end: source.length, text };
}

/** The names that hold hints: `{ hint: isCut ? raiseLimit : undefined }`, `usage(message, kept)`. */
function* heldHints(source) {
  for (const [, value] of source.matchAll(/\bhint(?:\??:|\s=)\s*([^'"`,;{}\n]*)/g)) {
    for (const [, name] of value.matchAll(/(?:^|[?:|&]\s*)([a-z]\w*)\s*(?=$|[(:)])/g)) yield name;
  }
  const seconds = /\busage\((?:[^()'"`]|'[^'\n]*'|`[^`]*`)*,\s*([a-z]\w*)(?:\(\w*\))?\)/g;
  for (const [, name] of source.matchAll(seconds)) yield name;
}

/** False for a single word, which is a name or a value. */
const isMessage = (text) => /\p{L}{2,}\s+\S/u.test(text);

/** Every message, in the order of the files. */
export function messages() {
  const found = new Map();
  for (const name of fs.readdirSync(root, { recursive: true }).sort()) {
    if (!name.endsWith('.ts') || name.startsWith('sandbox/')) continue;
    const source = fs.readFileSync(path.join(root, name), 'utf8');
    const held = [...heldHints(source)].map((each) => new RegExp(`\\b(?:const|function) ${each}\\b`, 'g'));
    for (const [kind, pattern] of [...carriers, ...held.map((pattern) => ['hint', pattern])]) {
      for (const match of source.matchAll(pattern)) {
        const isCall = match[0].endsWith('(');
        const texts = [...textsFrom(source, match.index + match[0].length, isCall)];
        const starts = texts.filter(({ text }) => isMessage(text));
        for (const { at, text, isSecond } of starts) {
          const key = `${name}:${at}`;
          const line = source.slice(0, at).split('\n').length;
          const before = source.slice(Math.max(0, at - 400), at);
          const isHint =
            kind === 'hint' ||
            (isSecond && match[0] === 'usage(') ||
            /\bhint(?:\??:|\s=)[^,;]*$/.test(before);
          const known = found.get(key);
          if (!known || isHint)
            found.set(key, { name, at, line, kind: isHint ? 'hint' : (known?.kind ?? kind), text });
        }
      }
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.line - b.line));
}

if (process.argv[1] === import.meta.filename) {
  const kinds = process.argv.slice(2);
  const all = messages().filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
  for (const { name, line, kind, text } of all) process.stdout.write(`${name}:${line} ${kind} ${text}\n`);
  process.stdout.write(`${all.length} messages\n`);
}
