import * as fc from 'fast-check';
import type { Token, Tokens } from 'marked';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Drawing } from '../../src/chat/repl/markdown/blocks.ts';
import { type Lex, loadLex, MarkdownStream } from '../../src/chat/repl/markdown/markdown-stream.ts';
import { type Ink, loadInk, wrap } from '../../src/chat/repl/markdown/spans.ts';
import { displayWidth } from '../../src/io/display-width.ts';

let lex: Lex;
let plain: Ink;
let colored: Ink;
beforeAll(async () => {
  lex = await loadLex();
  plain = await loadInk(false);
  colored = await loadInk(true);
});

const drawn = (more: Partial<Drawing> = {}): Drawing => ({
  ink: plain,
  columns: 40,
  hasUnicode: true,
  cutCode: false,
  ...more,
});

/** The whole text as it is drawn from these pieces. */
function render(pieces: readonly string[], drawing = drawn()): string {
  const stream = new MarkdownStream(lex);
  const lines = pieces.flatMap((piece) => stream.push(piece, drawing));
  return [...lines, ...stream.end(drawing)].join('\n');
}

const sample = `# A title

Some **bold** and *slanted* words, \`code\`, a [link](https://e.com/a) and https://auto.link that wrap.
Same paragraph.

1. one
2. two
   - nested
     more

- [x] done
- [ ] open

> quoted
> text

| left | right |
|:-----|------:|
| a | 1 |
| **b** | 22 |

\`\`\`js
if (a)
\tb();
\`\`\`

---

end`;

it('each kind of block has its look, without colour', () => {
  expect(render([sample])).toMatchInlineSnapshot(`
    "# A title

    Some **bold** and *slanted* words,
    \`code\`, a link (https://e.com/a) and
    https://auto.link that wrap. Same
    paragraph.

    1. one
    2. two
       • nested more

    • [x] done
    • [ ] open

    │ quoted text

    left  │ right
    ──────┼──────
    a     │     1
    **b** │    22

    \`\`\`js
      if (a)
          b();
    \`\`\`

    ────────────────────────────────────────

    end"
  `);
});

it('each kind of block has its look, with colour', () => {
  const shown = render([sample], drawn({ ink: colored })).replaceAll('\x1b[', '⟦');
  expect(shown).toMatchInlineSnapshot(`
    "⟦1m⟦4mA title⟦24m⟦22m

    Some ⟦1mbold⟦22m and ⟦3mslanted⟦23m words, ⟦36mcode⟦39m, a
    ⟦4mlink⟦24m⟦2m (https://e.com/a)⟦22m and
    ⟦4mhttps://auto.link⟦24m that wrap. Same
    paragraph.

    1. one
    2. two
       • nested more

    • [x] done
    • [ ] open

    ⟦2m│ ⟦22mquoted text

    ⟦1mleft⟦22m⟦2m │ ⟦22m⟦1mright⟦22m
    ⟦2m─────┼──────⟦22m
    a   ⟦2m │ ⟦22m    1
    ⟦1mb⟦22m   ⟦2m │ ⟦22m   22

    ⟦2mjs⟦22m
    ⟦36m  if (a)⟦39m
    ⟦36m      b();⟦39m

    ⟦2m────────────────────────────────────────⟦22m

    end"
  `);
});

it('cut at any place it is drawn as if it had come whole', () => {
  const whole = render([sample]);
  for (let at = 1; at < sample.length; at += 1) {
    expect(render([sample.slice(0, at), sample.slice(at)])).toBe(whole);
  }
  expect(render([...sample])).toBe(whole);
});

describe('while it comes', () => {
  it('a block is finished when the next one begins', () => {
    const stream = new MarkdownStream(lex);
    expect(stream.push('one\ntwo', drawn())).toEqual([]);
    expect(stream.live(drawn())).toEqual(['one two']);
    expect(stream.push('\n\n', drawn())).toEqual([]);
    expect(stream.push('three\n', drawn())).toEqual(['one two']);
    expect(stream.live(drawn())).toEqual(['', 'three']);
    expect(stream.end(drawn())).toEqual(['', 'three']);
  });

  it('code is shown as code before its fence is closed', () => {
    const stream = new MarkdownStream(lex);
    stream.push('```js\nconst x', drawn());
    expect(stream.live(drawn())).toEqual(['```js', '  const x', '```']);
  });

  it('a line that may turn a paragraph into a title does not finish it', () => {
    const stream = new MarkdownStream(lex);
    expect(stream.push('Title\n', drawn())).toEqual([]);
    expect(stream.push('=====\n\nx', drawn())).toEqual([]);
    expect(stream.push('\n', drawn())).toEqual(['# Title']);
  });

  it('lines that are drawn again are narrower than the terminal, code among them', () => {
    const stream = new MarkdownStream(lex);
    stream.push(`\`\`\`\n${'x'.repeat(200)}`, drawn());
    expect(Math.max(...stream.live(drawn({ cutCode: true })).map(displayWidth))).toBeLessThanOrEqual(40);
    expect(stream.end(drawn())[1]).toBe(`  ${'x'.repeat(200)}`);
  });
});

describe('text from outside cannot drive the terminal', () => {
  it.each([
    ['as a character reference', 'a &#27;[31m b &#x9b;31m c &#8238; d'],
    ['as itself', 'a \x1b[31m b \x9b31m \u202e'],
    ['in code', '`\x1b[31m`\n\n```\x1b[31m\n\x1b[31m\r\n```'],
    ['in an address', '[a](https://e.com/\x1b[31m) ![\x1b](\x9b) <https://e.com/\x1b>'],
    ['in a reference', '[x][y]\n\n[y]: https://e.com/&#27;[31m "t\x1b"'],
    ['in HTML', '<b \x1b[31m>x</b>\n\n<!-- \x1b[31m -->'],
    ['in a table', '| \x1b[31m | b |\n|--|--|\n| &#27; | \r |'],
    ['in a title', '# \x1b[31m\n\n> \x9b\n\n- \x1b'],
  ])('%s', (_, text) => {
    expect(render([text])).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  it('whatever it is', () => {
    const mark = fc.constantFrom(
      ...[
        '# ',
        '> ',
        '- ',
        '1. ',
        '```',
        '|',
        '\n',
        '\n\n',
        '**',
        '_',
        '`',
        '[',
        '](',
        ')',
        '&#27;',
        '&#155;',
      ],
      ...[
        '\x1b[31m',
        '\x9b',
        '\r',
        '\u202e',
        '<b>',
        '---',
        'word',
        '漢字',
        '👩‍👩‍👧',
        '\t',
        '\\',
        ' ',
        '~~',
        ':--',
      ],
    );
    void fc.assert(
      fc.property(fc.array(mark, { maxLength: 40 }), (marks) => {
        const stream = new MarkdownStream(lex);
        const drawing = drawn({ cutCode: true });
        const lines = [...marks.flatMap((each) => stream.push(each, drawing)), ...stream.live(drawing)];
        for (const line of lines) expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
      }),
      { numRuns: 500 },
    );
  });

  it('a hundred thousand quotes within each other are shown as they are', () => {
    const text = `${'>'.repeat(100_000)}x\n`;
    expect(render([text]).replaceAll('\n', '')).toBe(text.trimEnd());
  });
});

describe('drawing costs what the answer is long, at any nesting', () => {
  /** Draws a text that arrives in pieces. Counts how often the drawing looks at a block or mark of it. */
  function work(text: string, pieceLength = text.length) {
    let steps = 0;
    let tokens = 0;
    const counted = (token: Token): Token =>
      new Proxy(token, {
        get(target, key, receiver) {
          if (key === 'type') steps += 1;
          return Reflect.get(target, key, receiver);
        },
      });
    const deep = (list: Token[]): Token[] =>
      list.map((token) => {
        tokens += 1;
        const generic = token as Tokens.Generic;
        if (generic.tokens) generic.tokens = deep(generic.tokens);
        if (token.type === 'list') (token as Tokens.List).items = deep(generic.items) as Tokens.ListItem[];
        if (token.type === 'table') {
          const cells = [...(token as Tokens.Table).header, ...(token as Tokens.Table).rows.flat()];
          for (const cell of cells) cell.tokens = deep(cell.tokens);
        }
        return counted(token);
      });
    const stream = new MarkdownStream((source) => deep(lex(source)));
    const drawing = drawn({ ink: colored });
    const lines: string[] = [];
    for (let at = 0; at < text.length; at += pieceLength) {
      lines.push(...stream.push(text.slice(at, at + pieceLength), drawing));
    }
    lines.push(...stream.end(drawing));
    return { steps, tokens, lines };
  }

  it.each([
    ['numbers', '1. '.repeat(60)],
    ['bullets', `${'- '.repeat(60)}x`],
    ['quotes and a rule', `${'> '.repeat(60)}---`],
    ['quotes and lists by turns', `${'> 1. - '.repeat(40)}x`],
    [
      'lists that are indented',
      Array.from({ length: 60 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n'),
    ],
    ['links', `${'['.repeat(500)}x${'](y)'.repeat(500)}`],
    ['emphasis', `${'**a _b ~~c '.repeat(300)}${'~~ _ **'.repeat(300)}`],
    ['emphasis that never ends', '*__a'.repeat(2000)],
    ['stars', `${'*'.repeat(4000)}a${'*'.repeat(4000)}`],
    ['an address', `${'a.'.repeat(4000)}@`],
    ['a table of few bytes', `${'|a'.repeat(2000)}\n${'|-'.repeat(2000)}\n${'|\n'.repeat(20_000)}`],
    ['a line without end', 'word '.repeat(200_000)],
    ['a list without end', '- item\n'.repeat(30_000)],
  ])('%s', (_, text) => {
    const { steps, tokens, lines } = work(text);
    expect(steps).toBeLessThan(12 * (tokens + 10));
    expect(tokens).toBeLessThan(40 * (text.length + 100));
    expect(lines.join('').length).toBeLessThan(100 * (text.length + 100));
  });

  it('whatever stands within what', () => {
    const open = fc.constantFrom(
      '> ',
      '- ',
      '1. ',
      '  - ',
      '**',
      '_',
      '~~',
      '[',
      '![',
      '|',
      '# ',
      '`',
      '\n',
      'x ',
    );
    const close = fc.constantFrom('](y)', ']', '**', '_', '~~', '|', '`', '\n', '\n|-|-|\n', '---', ' x');
    const nested = fc
      .array(fc.tuple(open, fc.integer({ min: 1, max: 80 }), close), { minLength: 1, maxLength: 6 })
      .map((marks) => {
        const before = marks.map(([mark, times]) => mark.repeat(times)).join('');
        return `${before}x${marks.map(([, times, mark]) => mark.repeat(times)).join('')}`;
      });
    void fc.assert(
      fc.property(nested, fc.integer({ min: 1, max: 50 }), (text, pieceLength) => {
        const { steps, tokens, lines } = work(text, pieceLength);
        expect(steps).toBeLessThan(12 * (tokens + 10));
        expect(lines.join('').length).toBeLessThan(100 * (text.length + 100));
      }),
      { numRuns: 200 },
    );
  });

  it('what is too long for a block comes whole, with its lines as they were', () => {
    const code = Array.from({ length: 5000 }, (_, line) => `\tline ${line} of the code`).join('\n');
    const { lines } = work(`before\n\n\`\`\`\n${code}\n\`\`\`\n`, 1000);
    expect(lines.slice(0, 3)).toEqual(['before', '', '```']);
    expect(lines.slice(3, -1).join('\n')).toBe(code);
  });
});

describe('wrapping', () => {
  const lines = (text: string, columns: number) => wrap([{ text, paint: (each) => each }], columns);
  it.each<[string, number, string[]]>([
    ['one two three', 7, ['one two', 'three']],
    ['one two three', 3, ['one', 'two', 'thr', 'ee']],
    ['  a   b  ', 10, ['a b']],
    ['a\nb\n\nc', 10, ['a', 'b', '', 'c']],
    ['漢字漢字 ab', 5, ['漢字', '漢字', 'ab']],
    ['', 5, ['']],
    ['abcdef', 1, ['a', 'b', 'c', 'd', 'e', 'f']],
  ])('%j in %i columns', (text, columns, wanted) => {
    expect(lines(text, columns)).toEqual(wanted);
  });
  it('never passes the width and loses no letter', () => {
    void fc.assert(
      fc.property(fc.string({ maxLength: 80 }), fc.integer({ min: 2, max: 20 }), (raw, columns) => {
        const text = raw.replace(/[^\x20-\x7e]/g, '');
        const wrapped = lines(text, columns);
        for (const line of wrapped) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
        expect(wrapped.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      }),
    );
  });
});

it('a table that is too wide is wrapped within its cells', () => {
  const table = `| a | b |\n|---|---|\n| x | ${'many words '.repeat(10)}|`;
  for (const line of render([table]).split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(40);
});
