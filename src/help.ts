import type { AnyCommand, Node } from './command.ts';
import { settingsTable } from './config/table.ts';
import { type Flag, type FlagGroup, flagGroups, flagName } from './flags/flag.ts';
import { displayWidth, padToWidth } from './io/display-width.ts';
import type { Style } from './io/style.ts';
import { drawExample, wrapLine } from './io/wrap.ts';

// The pages of --help, made from the command tree. This module is loaded only for help.

/** How a page is drawn: in whole lines of at most this many columns. */
export interface Paper {
  readonly columns: number | undefined;
  readonly style: Style;
}

const WIDEST = 120;
const NARROWEST = 40;
const paperWidth = ({ columns }: Pick<Paper, 'columns'>): number =>
  Math.max(NARROWEST, Math.min(columns || 80, WIDEST));

/** A page as data; the terminal and the manual draw the same one. */
export interface Page {
  readonly name: string;
  readonly usage: string;
  readonly about: string;
  readonly groups: readonly { readonly title: string; readonly rows: readonly Row[] }[];
  /** The line that names the options shared by all commands. */
  readonly shared: string;
  readonly notes: readonly string[];
  readonly examples: readonly string[];
}
export type Row = readonly [term: string, text: string];

export function pageOf(node: Node, path: readonly string[], spec: AnyCommand | undefined): Page {
  const name = ['gw', ...path].join(' ');
  const children = node.children ?? [];
  const commands = children.map((child): Row => [child.name, child.summary]);
  return {
    name,
    usage: `${name} ${usageOf({ children: node.children, args: spec?.args })}`,
    about: sentence(spec?.about ?? node.summary),
    groups: [
      ...(commands.length > 0 ? [{ title: 'Commands', rows: commands }] : []),
      ...(spec ? optionGroups(spec) : []),
    ],
    shared: sharedLine(spec),
    notes: spec?.notes ?? [],
    examples: spec?.examples ?? [],
  };
}

/** The examples of a page; a group shows the first runnable example of each of its commands. */
export async function examplesOf({ load, children = [] }: Node): Promise<readonly string[]> {
  if (load) return (await load()).examples;
  const all = await Promise.all(children.map(examplesOf));
  return [...new Set(all.flatMap((each) => each.find((example) => !example.includes('# fill in')) ?? []))];
}

/** The page of a node for a terminal or a pipe. */
export function drawPage(page: Page, paper: Paper): string {
  const width = paperWidth(paper);
  const { strong } = paper.style;
  const blocks = [
    wrapLine(`Usage: ${page.usage}`, width, 7),
    wrapLine(page.about, width),
    page.groups.flatMap(({ title, rows }) => [strong(`${title}:`), ...drawRows(rows, width, strong)]),
    wrapLine(page.shared, width),
    ...page.notes.map((note) => drawNote(note, width)),
    ...(page.examples.length > 0
      ? [[strong('Examples:'), ...page.examples.flatMap((line) => drawExample(line, width))]]
      : []),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** The commands by purpose; a command that is not listed appears in the last group. */
const sections: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Make', ['image', 'video', 'batch', 'again', 'asset', 'worker', 'queue']],
  ['Keep', ['jobs', 'open', 'gallery', 'listen']],
  ['Talk', ['chat', 'sessions']],
  ['Set up', []],
];

/** The page of `gw` without a command: the commands by purpose, examples, and the current state. */
export function drawFrontPage(
  root: Node,
  examples: readonly string[],
  standing: string,
  paper: Paper,
): string {
  const width = paperWidth(paper);
  const { strong } = paper.style;
  const children = root.children ?? [];
  const named = new Set(sections.flatMap(([, names]) => names));
  const gutter = 8;
  const column = gutter + Math.max(...children.map(({ name }) => name.length)) + 2;
  const groups = sections.flatMap(([title, names]) => {
    const own = names.length > 0 ? names : children.flatMap(({ name }) => (named.has(name) ? [] : name));
    const rows = own.flatMap((name) => children.filter((child) => child.name === name));
    return rows.flatMap(({ name, summary }, at) => {
      const head = `${padToWidth(at === 0 ? title : '', gutter)}${padToWidth(name, column - gutter)}`;
      const [first = '', ...rest] = wrapLine(head + summary, width, column);
      return [strong(first.slice(0, column)) + first.slice(column), ...rest];
    });
  });
  const lines = [
    ...wrapLine('Usage: gw COMMAND [options]', width, 7),
    ...wrapLine(sentence(root.summary), width),
    '',
    ...groups,
    '',
    ...examples.flatMap((line) => drawExample(line, width)),
    '',
    ...(standing === '' ? [] : wrapLine(standing, width)),
    ...wrapLine('Help: gw COMMAND --help; gw help options, environment, exit-codes', width, 6),
  ];
  return `${lines.join('\n')}\n`;
}

/** Draws a table whose last column is wrapped; `gw help TOPIC` prints it. */
export function drawTable(cells: readonly (readonly string[])[], paper: Paper): string {
  const width = paperWidth(paper);
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => (row[column] ?? '').length)),
  );
  const last = widths.length - 1;
  const terms = cells.map((row) => row.slice(0, last).map((cell, at) => padToWidth(cell, widths[at] ?? 0)));
  const rows = cells.map((row, at): Row => [(terms[at] ?? []).join('  ').trimEnd(), row[last] ?? '']);
  return `${drawRows(rows, width, paper.style.strong, 0).join('\n')}\n`;
}

/** Draws text that contains its own paragraphs and tables. */
export const drawText = (notes: readonly string[], paper: Paper): string =>
  `${notes.map((note) => drawNote(note, paperWidth(paper)).join('\n')).join('\n\n')}\n`;

export function usageOf(node: {
  readonly children?: unknown;
  readonly args?: AnyCommand['args'] | undefined;
}): string {
  if (node.children) return 'COMMAND [options]';
  const { name, required, many } = node.args ?? { name: '' };
  const word = name && `${name}${many ? '...' : ''}`;
  return word ? `[options] ${required ? word : `[${word}]`}` : '[options]';
}

const sentence = (text: string): string => {
  const upper = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
};

function optionGroups(spec: AnyCommand) {
  const argument: Row[] = spec.args
    ? [[`${spec.args.name}${spec.args.many ? '...' : ''}`, spec.args.summary]]
    : [];
  const flags = Object.entries<Flag>(spec.flags).filter(([, flag]) => !flag.hidden);
  const groupsOf = (each: Flag): FlagGroup => each.group ?? 'how';
  const used = flagGroups.filter((name) => flags.some(([, flag]) => groupsOf(flag) === name));
  if (used.length < 2) {
    const rows = [...argument, ...flags.map(rowOf)];
    return rows.length === 0 ? [] : [{ title: 'Options', rows }];
  }
  return used.map((name, at) => ({
    title: sentence(name).slice(0, -1),
    rows: [...(at === 0 ? argument : []), ...flags.filter(([, flag]) => groupsOf(flag) === name).map(rowOf)],
  }));
}

const LONGEST_TERM = 24;

/** An option as help shows it: `-o, --out PATH`, `--[no-]wait`. */
export function rowOf([key, flag]: readonly [string, Flag]): Row {
  const bare = flagName(key).slice(2);
  const name = flag.negativeOnly ? `--no-${bare}` : flag.negatable ? `--[no-]${bare}` : `--${bare}`;
  const { choices = [], summary, value, list, short } = flag;
  const head = short ? `-${short}, ${name}` : name;
  const isList = value === choices.join('|');
  // A long list of choices goes into the text, and the last word of the flag's name replaces it here.
  const placeholder =
    isList && head.length + 1 + (value ?? '').length > LONGEST_TERM
      ? (bare.split('-').at(-1) ?? bare).toUpperCase()
      : value;
  const isShown = placeholder === value && (isList || value === undefined);
  const rest =
    isShown || choices.every((choice) => mentions(summary, choice)) ? '' : ` (${choices.join(', ')})`;
  const setting = flag.completes?.startsWith('model:') && flag.completes.replace(':', 's.');
  const without =
    setting && ` (default ${settingsTable[setting as 'models.chat'].default}, or the setting ${setting})`;
  return [
    placeholder === undefined ? head : `${head} ${placeholder}${list ? '...' : ''}`,
    `${summary}${without || ''}${rest}`,
  ];
}

const mentions = (summary: string, word: string): boolean => summary.split(/:?[\s,;()]+/).includes(word);

function sharedLine(spec: AnyCommand | undefined): string {
  const some = { body: '--dry-run, --set', query: '--dry-run', nothing: '--json' }[spec?.sends ?? 'nothing'];
  return `Options of every command (--sandbox, ${some}): gw help options`;
}

function drawRows(rows: readonly Row[], width: number, strong: Style['strong'], indent = 2): string[] {
  const longest = Math.max(...rows.map(([term]) => displayWidth(term)));
  const column = indent + Math.min(longest, Math.max(LONGEST_TERM, Math.floor(width / 4))) + 2;
  return rows.flatMap(([term, text]) => {
    const head = `${' '.repeat(indent)}${term}`;
    const lines = wrapLine(text, width - column).map((line) => ' '.repeat(column) + line);
    if (text === '') return [strong(head)];
    if (displayWidth(head) + 2 > column) return [...wrapLine(head, width, indent + 4).map(strong), ...lines];
    const [first = '', ...rest] = lines;
    return [`${strong(head)}${first.slice(head.length)}`, ...rest];
  });
}

/** Draws a note line by line: commands become examples, indents stay, and table rows (term, two blanks, text) hang. */
const drawNote = (note: string, width: number): string[] =>
  note.split('\n').flatMap((line) => {
    if (/^ {2}(\w+=)?(gw|printf|ffmpeg|ENTRYPOINT) (?!.* {2})/.test(line)) return drawExample(line, width);
    const term = /^ +\S+(?: \S+)* {2,}(?=\S)/.exec(line)?.[0].length ?? width;
    const listed = line.search(/\S|$/) + (/^ +[^ :]+(?:, [^ :]+)*: /.test(line) ? 2 : 0);
    return wrapLine(line, width, term <= width / 2 ? term : listed);
  });
