import { linesOf, MAX_ROW_BYTES, type TextLine, tooLong, utf8Of, type WrittenRow } from './read-manifest.ts';

// Reads a file as spreadsheets save it: comma, semicolon or tab, UTF-8 or UTF-16, column names in any case, and comment
// columns and rows (the contract, section "batch").

const delimiters = [',', ';', '\t'];
const inWords: Readonly<Record<string, string>> = { ',': 'a comma', ';': 'a semicolon', '\t': 'a tab' };

/** The rows of a comma-, semicolon- or tab-separated file, whose first line names the columns. */
export async function* readCsv(file: string): AsyncGenerator<WrittenRow> {
  const lines = linesIn(file);
  let said: string | undefined;
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const { text, fault } = next.value;
    const separator = /^"?sep=(.)"?$/i.exec(text)?.[1];
    if (separator !== undefined && said === undefined) said = separator;
    else if (text.trim() !== '' || fault !== undefined)
      return yield* rowsOf(next.value, lines, said ?? likelyDelimiter(text));
  }
}

/** The lines of the file; old spreadsheets on a Mac end lines with CR alone. */
async function* linesIn(file: string): AsyncGenerator<TextLine, undefined> {
  let isOfMac: boolean | undefined;
  for await (const each of linesOf(utf8Of(file), MAX_ROW_BYTES)) {
    isOfMac ??= each.text.includes('\r');
    if (!isOfMac) yield each;
    else yield* each.text.split('\r').map((text, at) => ({ ...each, line: each.line + at, text }));
  }
}

/** The separator that occurs most often in the header line, outside of quotes. */
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
  let names: readonly string[] | undefined;
  for await (const { line, cells = [], fault } of recordsOf(head, lines, delimiter)) {
    if (fault !== undefined) {
      yield { line, fault };
      if (names === undefined) return;
    } else if (cells.every((cell) => cell === '')) continue;
    else if (names === undefined) {
      names = cells.map(nameOf);
      const wrong = headFault(names);
      if (wrong !== undefined) return yield { line, fault: wrong };
    } else if (cells.slice(names.length).some((cell) => cell !== '')) {
      const wrong = `the row has ${cells.length} columns, and the first line names ${names.length}: put what holds ${inWords[delimiter] ?? delimiter} into double quotes`;
      yield { line, fault: wrong };
    } else {
      const fields = fieldsOf(names, cells);
      if (Object.keys(fields).length > 0) yield { line, fields, isCells: true };
    }
  }
}

type CsvRecord = Pick<WrittenRow, 'line' | 'fault'> & { readonly cells?: readonly string[] };

const NOT_CLOSED = 'a double quote is opened and never closed: a quote inside a cell is written ""';
const faults: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: NOT_CLOSED,
  CSV_INVALID_CLOSING_QUOTE: 'text stands behind a closing quote: a quote inside a cell is written ""',
  INVALID_OPENING_QUOTE:
    'a quote stands inside a cell without quotes: put the cell into double quotes, the inner one as ""',
};

/** Yields each record of the text; it ends where no double quote is open. An unreadable record is a fault. */
async function* recordsOf(
  head: TextLine,
  lines: AsyncIterator<TextLine, undefined>,
  delimiter: string,
): AsyncGenerator<CsvRecord> {
  const { parse } = await import('csv-parse/sync');
  const read = (text: string): Omit<CsvRecord, 'line'> => {
    try {
      const [cells = []] = parse(text, { delimiter, record_delimiter: '\n' });
      return { cells: cells.map((cell) => cell.trim()) };
    } catch (error) {
      const fault = faults[(error as { readonly code?: string }).code ?? ''];
      if (fault === undefined) throw error;
      return { fault };
    }
  };
  let texts: string[] = [];
  let first = 1;
  let bytes = 0;
  for (let next: TextLine | undefined = head; next; next = (await lines.next()).value) {
    const { line, text, fault } = next;
    const isOdd = text.split('"').length % 2 === 0;
    const isOpen = texts.push(text) > 1;
    first = isOpen ? first : line;
    bytes = Buffer.byteLength(text) + (isOpen ? bytes : 0);
    if (bytes > MAX_ROW_BYTES) return yield { line: first, fault: tooLong(bytes) };
    if (fault !== undefined) yield { line, fault };
    if (isOpen && !isOdd) continue;
    const record = read(texts.join('\n'));
    if (!isOpen && isOdd && record.fault === NOT_CLOSED) continue;
    yield { line: first, ...record };
    texts = [];
  }
  if (texts.length > 0) yield { line: first, fault: NOT_CLOSED };
}

/** `First Frame` -> `first-frame`; empty for a comment column. */
const nameOf = (written: string): string =>
  /^[_#]/.test(written) ? '' : written.toLowerCase().replace(/[\s_]+/g, '-');

function headFault(names: readonly string[]): string | undefined {
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  return twice && `${twice}: the first line names it twice; several of one flag are ${twice}, ${twice}.2`;
}

/** The fields of a row: empty cells are skipped, and `image`, `image.2`, `image.3` form one list in any column order. */
function fieldsOf(names: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const fields = new Map<string, unknown>();
  const columns = cells.map((cell, at) => {
    const [, name = names[at] ?? '', number = '-1'] = /^(.+)\.(\d{1,3})$/.exec(names[at] ?? '') ?? [];
    return { cell, name, number: Number(number) };
  });
  for (const { cell, name, number } of columns.sort((one, other) => one.number - other.number)) {
    if (cell === '' || name === '') continue;
    fields.set(name, number === -1 ? cell : [fields.get(name) ?? [], cell].flat());
  }
  return Object.fromEntries(fields);
}
