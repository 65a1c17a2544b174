import type { DirHost } from '../config/dirs.ts';
import { type Answer, answer } from './answer.ts';
import { sourcesOf } from './sources.ts';
import { splitLine } from './split-line.ts';
import type { CompletionTable } from './table.ts';

/** What the launcher knows. */
export type CompletionHost = DirHost & { readonly table: CompletionTable };

/**
 * The text that a completion script asked for. The first line is what to complete: `value` or `file`.
 *
 * - `--at=CURRENT WORD…`: the word at the cursor, and those between `gw` and it. The first line goes on with a tab and the
 *   part of CURRENT that stays; the others are a value, a tab and its summary.
 * - `--line=LINE --breaks=CHARS`: bash's line up to the cursor. The other lines are what takes the place of the text that
 *   readline replaces.
 */
export function complete([first = '', ...rest]: readonly string[], host: CompletionHost): string {
  const sources = sourcesOf(host);
  if (first.startsWith('--at=')) {
    const found = answer(host.table, rest, first.slice('--at='.length), sources);
    return text(
      `${found.kind}\t${found.before}`,
      found.candidates.map(({ value, summary }) => `${value}\t${summary}`),
    );
  }
  const { words, current, keptLength } = splitLine(first.slice('--line='.length), breaksIn(rest));
  const found = answer(host.table, words.slice(1), current, sources);
  return text(found.kind, valuesAfter(found, keptLength));
}

const breaksIn = ([breaks = '']: readonly string[]): string => breaks.slice('--breaks='.length);

const valuesAfter = ({ before, candidates }: Answer, keptLength: number): string[] =>
  candidates.map(({ value }) => `${before}${value}`.slice(keptLength));

const text = (head: string, lines: readonly string[]): string => `${[head, ...lines].join('\n')}\n`;
