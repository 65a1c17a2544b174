import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutToWidth, displayWidth, padToWidth } from '../../src/io/display-width.ts';
import type { Table } from '../../src/io/io.ts';
import { alignedLines, idLines, tabbedLines } from '../../src/io/table-text.ts';

describe('displayWidth', () => {
  test.each([
    ['', 0],
    ['plain', 5],
    ['é', 1],
    ['e\u0301', 1],
    ['漢字', 4],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['😀', 2],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['⠋', 1],
    ['█░', 2],
    ['✓', 1],
    ['\u200b', 0],
    ['1', 1],
  ])('%j takes %i columns', (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  test.each([
    ['short', 10, 'short'],
    ['exactly', 7, 'exactly'],
    ['too long', 5, 'too …'],
    ['漢字漢字', 5, '漢字…'],
    ['漢字漢字', 4, '漢…'],
    ['ab', 1, '…'],
    ['ab', 0, ''],
  ])('%j cut to %i is %j', (text, columns, cut) => {
    expect(cutToWidth(text, columns)).toBe(cut);
  });

  test('a cut text never takes more than it may', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat({ max: 40 }), (text, columns) => {
        expect(displayWidth(cutToWidth(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  test('padding counts columns, not characters', () => {
    expect(padToWidth('漢', 4)).toBe('漢  ');
    expect(padToWidth('12', 4, 'right')).toBe('  12');
    expect(padToWidth('12345', 4)).toBe('12345');
  });
});

const table: Table = {
  columns: [
    { name: 'id', whole: true },
    { name: 'status' },
    { name: 'bytes', align: 'right' },
    { name: 'prompt' },
  ],
  rows: [
    { id: 'task-1', cells: ['task-1', 'running', '12', '漢字 and a fox\tthat\nruns'] },
    { id: 'task-22', cells: ['task-22', 'succeeded', '34567', 'short'] },
  ],
};

describe('a table', () => {
  test('on a terminal is aligned under a header', () => {
    expect(alignedLines(table, 80)).toBe(
      [
        'ID       STATUS     BYTES  PROMPT',
        'task-1   running       12  漢字 and a fox\\tthat\\nruns',
        'task-22  succeeded  34567  short',
        '',
      ].join('\n'),
    );
  });

  test('is cut to the terminal, the widest column first, and the ID never', () => {
    const lines = alignedLines(table, 38).trimEnd().split('\n');
    expect(lines).toEqual([
      'ID       STATUS     BYTES  PROMPT',
      'task-1   running       12  漢字 and a…',
      'task-22  succeeded  34567  short',
    ]);
    const narrow = alignedLines(table, 24).trimEnd().split('\n');
    expect(narrow.every((line) => displayWidth(line) <= 24)).toBe(true);
    expect(narrow[2]).toMatch(/^task-22 {2}/);
  });

  test('fits any terminal', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string(), fc.string()), { minLength: 1 }),
        fc.integer({ min: 1, max: 60 }),
        (cells, columns) => {
          const names = ['one', 'two', 'three'].map((name) => ({ name }));
          const text = alignedLines(
            { columns: names, rows: cells.map((row) => ({ id: '', cells: row })) },
            columns,
          );
          const lines = text.split('\n');
          expect(lines).toHaveLength(cells.length + 2);
          for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  test('in a pipe is rows with tabs and no header', () => {
    expect(tabbedLines(table)).toBe(
      'task-1\trunning\t12\t漢字 and a fox\\tthat\\nruns\ntask-22\tsucceeded\t34567\tshort\n',
    );
  });

  test('of IDs is one a line', () => {
    expect(idLines(table)).toBe('task-1\ntask-22\n');
    expect(idLines({ columns: [], rows: [{ id: 'a\n::error::', cells: [] }] })).toBe('a\\n::error::\n');
  });

  test('without rows is nothing; missing cells are empty', () => {
    expect(alignedLines({ columns: table.columns, rows: [] }, 80)).toBe('');
    expect(tabbedLines({ columns: table.columns, rows: [{ id: 'x', cells: ['x'] }] })).toBe('x\t\t\t\n');
  });
});
