import type { Node } from './command.ts';
import { environmentVariables } from './config/environment.ts';
import { errorKinds, signalExitCodes } from './errors.ts';
import { globalFlags } from './flags/flag.ts';
import { type Page, pageOf, type Row, rowOf } from './help.ts';
import { drawExample } from './io/wrap.ts';
import { program } from './program.ts';

// The manual gw(1), made from the command tree when gw is built.

/** The manual page in roff. */
export async function manual(version: string): Promise<string> {
  const pages: Page[] = [];
  const visit = async (node: Node, path: readonly string[]): Promise<void> => {
    const spec = await node.load?.();
    if (path.length > 0 && spec) pages.push(pageOf(node, path, spec));
    for (const child of node.children ?? []) await visit(child, [...path, child.name]);
  };
  await visit(program, []);
  const codes = Object.entries(errorKinds).map(
    ([kind, { exitCode, meaning }]): Row => [String(exitCode), `${kind}: ${meaning}`],
  );
  const signals = Object.entries(signalExitCodes).map(([signal, code]): Row => [String(code), signal]);
  return [
    `.TH GW 1 "" "gw ${version}" ""`,
    '.SH NAME',
    `gw \\- ${escaped(program.summary)}`,
    '.SH SYNOPSIS',
    '.B gw COMMAND\n[options]',
    '.SH COMMANDS',
    ...pages.map(commandPart),
    '.SH OPTIONS OF EVERY COMMAND',
    rows(Object.entries(globalFlags).map(rowOf)),
    '.SH ENVIRONMENT',
    rows(Object.entries(environmentVariables)),
    '.SH EXIT STATUS',
    rows([['0', 'done'], ...codes, ...signals]),
    '',
  ].join('\n');
}

const commandPart = ({ usage, about, groups, notes, examples }: Page): string =>
  [
    `.SS ${escaped(usage)}`,
    escaped(about),
    ...groups.map((group) => rows(group.rows)),
    ...notes.map((note) => `.PP\n${note.includes('\n') ? asTyped(note) : escaped(note)}`),
    `.PP\nExamples:\n${asTyped(examples.flatMap((line) => drawExample(line, 72)).join('\n'))}`,
  ].join('\n');

const rows = (all: readonly Row[]): string =>
  all.map(([term, text]) => `.TP\n.B ${escaped(term)}\n${escaped(text)}`).join('\n');

const asTyped = (text: string): string => `.nf\n${escaped(text)}\n.fi`;

/** Escapes text for roff: backslashes, minus signs that are typed, and lines that would begin a request. */
const escaped = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');
