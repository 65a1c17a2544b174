import { pipeline, Readable } from 'node:stream';
import { linesOf, MAX_ROW_BYTES, type TextLine, utf8Of, type WrittenRow } from './read-manifest.ts';

// A spreadsheet's file as it was saved: comma, semicolon or tab, UTF-8 or UTF-16, names in any case, columns and rows that
// are comments (the contract, section "batch").

const delimiters = [',', ';', '\t'];
const inWords: Readonly<Record<string, string>> = { ',': 'a comma', ';': 'a semicolon', '\t': 'a tab' };

/** The rows of a file of comma-, semicolon- or tab-separated values, whose first line names the columns. */
export async function* readCsv(file: string): AsyncGenerator<WrittenRow> {
  const lines = linesOf(utf8Of(file), MAX_ROW_BYTES);
  let said: string | undefined;
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const { text, fault } = next.value;
    const separator = /^"?sep=(.)"?$/i.exec(text)?.[1];
    if (separator !== undefined && said === undefined) said = separator;
    else if (text.trim() !== '' || fault !== undefined)
      return yield* rowsOf(next.value, lines, said ?? likelyDelimiter(text));
  }
}

/** The separator that the line of names has most of, outside of quotes. */
function likelyDelimiter(line: string): string {
  const bare = line.replace(/"[^"]*"/g, '');
  const counts = delimiters.map((each) => bare.split(each).length);
  return delimiters[counts.indexOf(Math.max(...counts))] ?? ',';
}

async function* rowsOf(
  head: TextLine,
  lines: AsyncIterator<TextLine, undefined>,
  delimiter: string,
): AsyncGenerator<WrittenRow> {
  const { parse } = await import('csv-parse');
  const parser = parse({ delimiter, info: true, relax_column_count: true, max_record_size: MAX_ROW_BYTES });
  const broken: WrittenRow[] = [];
  const source = async function* () {
    for (let next: TextLine | undefined = head; next; next = (await lines.next()).value) {
      const { line, text, fault } = next;
      if (fault !== undefined) return void broken.push({ line, fault });
      yield `${text}\n`;
    }
  };
  // What fails in the source fails the parser, and is thrown where its records are taken.
  pipeline(Readable.from(source()), parser, () => {});
  let names: readonly string[] | undefined;
  const skipped = head.line - 1;
  let read = skipped;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      const line = read + 1;
      read = skipped + info.lines;
      const cells = record.map((cell) => cell.trim());
      if (cells.every((cell) => cell === '')) continue;
      if (names === undefined) {
        names = cells.map(nameOf);
        const fault = headFault(names);
        if (fault === undefined) continue;
        yield { line, fault };
        return;
      }
      const [more] = cells.slice(names.length).filter((cell) => cell !== '');
      if (more !== undefined) {
        const fault = `the row has ${record.length} columns, and the first line names ${names.length}: put what holds ${inWords[delimiter] ?? delimiter} into double quotes`;
        yield { line, fault };
        continue;
      }
      const fields = fieldsOf(names, cells);
      if (Object.keys(fields).length > 0) yield { line, fields, isCells: true };
    }
  } catch (error) {
    if (broken.length === 0) yield csvFault(error, read + 1);
  }
  yield* broken;
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** `First Frame` -> `first-frame`; empty for a column that is a comment. */
const nameOf = (written: string): string =>
  /^[_#]/.test(written) ? '' : written.toLowerCase().replace(/[\s_]+/g, '-');

function headFault(names: readonly string[]): string | undefined {
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice === undefined) return undefined;
  return `${twice}: the first line names it twice; several of one flag are ${twice}, ${twice}.2, ${twice}.3`;
}

/** The fields of a row; an empty cell says nothing, and `image`, `image.2`, `image.3` are one list, wherever they stand. */
function fieldsOf(names: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const fields = new Map<string, unknown>();
  const columns = cells.map((cell, at) => {
    const [, name = names[at] ?? '', number = '-1'] = /^(.+)\.(\d{1,3})$/.exec(names[at] ?? '') ?? [];
    return { cell, name, number: Number(number) };
  });
  for (const { cell, name, number } of columns.sort((one, other) => one.number - other.number)) {
    if (cell === '' || name === '') continue;
    const before = fields.get(name);
    fields.set(name, number === -1 ? cell : [...(before === undefined ? [] : [before].flat()), cell]);
  }
  return Object.fromEntries(fields);
}

function csvFault(error: unknown, line: number): WrittenRow {
  const { code } = error as { readonly code?: string };
  const faults: Readonly<Record<string, string>> = {
    CSV_QUOTE_NOT_CLOSED: 'a double quote is opened and never closed: a quote inside a cell is written ""',
    CSV_INVALID_CLOSING_QUOTE: 'text stands behind a closing quote: a quote inside a cell is written ""',
    INVALID_OPENING_QUOTE:
      'a quote stands inside a cell without quotes: put the cell into double quotes, the inner one as ""',
    CSV_MAX_RECORD_SIZE: `the row is longer than ${MAX_ROW_BYTES / 1024 / 1024} MiB, the most that is read`,
  };
  const fault = code === undefined ? undefined : faults[code];
  if (fault === undefined) throw error;
  return { line, fault };
}
