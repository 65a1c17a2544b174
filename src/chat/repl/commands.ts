import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CompleterResult } from 'node:readline';
import { usage } from '../../errors.ts';
import { nearest } from '../../flags/nearest.ts';
import { type Host, quietly } from '../../host.ts';
import { oneLine, visible } from '../../io/escape.ts';
import { counted } from '../../io/quantity-text.ts';
import type { ChatPart } from '../chat.ts';
import type { Conversation } from './conversation.ts';
import { asIs, wrap } from './markdown/spans.ts';

/** The functions that a command may use. */
export interface CommandContext {
  readonly conversation: Conversation;
  /** Shows a text, with control characters escaped. */
  show(text: string): void;
  /** Copies a text to the terminal's clipboard. */
  copy(text: string): void;
  columns(): number;
  /** Converts typed references to the images that are sent. Throws GwError `usage`. */
  readImages(references: readonly string[]): Promise<ChatPart[]>;
  /** The value of a setting, or the content of a file if it begins with @. Throws GwError `usage`. */
  readText(value: string): Promise<string>;
  /** Writes the conversation to a new file and returns its path. Throws GwError `usage`. */
  save(file: string | undefined): Promise<string>;
}

interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Returns true to end the conversation. */
  run(rest: string, ctx: CommandContext): unknown;
}

/** The lowest limit of common terminals: 74,994 bytes as base64. */
const MAX_COPY_BYTES = 56_244;

/** The word that removes a setting. */
const NONE = 'none';

export const commands: Readonly<Record<string, Command>> = {
  model: {
    usage: '/model [NAME]',
    summary: 'show the model, or go on with another one',
    run(rest, { conversation, show }) {
      const [name, ...more] = splitWords(rest);
      if (more.length > 0) throw usage(`/model takes one name, not ${more.length + 1}`);
      if (name !== undefined) conversation.model = name;
      show(`model: ${conversation.model ?? 'none is set; name one with /model NAME'}`);
    },
  },
  system: {
    usage: '/system [TEXT|@FILE|none]',
    summary: 'show the system prompt, set it, or go without one',
    async run(rest, { conversation, show, readText }) {
      if (rest === NONE) conversation.system = undefined;
      else if (rest !== '') conversation.system = await readText(rest);
      show(conversation.system === undefined ? 'no system prompt' : `system prompt: ${conversation.system}`);
    },
  },
  image: {
    usage: '/image [REF…|none]',
    summary: 'attach images (a path, URL or data URI) to the next message, or drop them',
    async run(rest, { conversation, show, readImages }) {
      if (rest === NONE) conversation.images = [];
      // All or none, so that after an error in the second path the first is not attached twice on a retry.
      else conversation.images = [...conversation.images, ...(await readImages(splitWords(rest)))];
      const { length } = conversation.images;
      const attached = `attached to the next message: ${counted(length, 'image')}`;
      show(length === 0 ? 'no image is attached' : attached);
    },
  },
  save: {
    usage: '/save [FILE]',
    summary: 'write the conversation to a file: Markdown, or JSON for --messages where it ends in .json',
    async run(rest, { save, show }) {
      const [file, ...more] = splitWords(rest);
      if (more.length > 0) throw usage('/save takes one file', 'put a name with blanks in quotes');
      show(`saved: ${await save(file)}`);
    },
  },
  copy: {
    usage: '/copy',
    summary: 'put the last answer on the clipboard, where the terminal lets a program do so',
    run(_, { conversation, copy, show }) {
      const last = conversation.turns.findLast((turn) => turn.role === 'assistant' && turn.text !== '');
      if (last?.role !== 'assistant') throw usage('/copy: there is no answer yet');
      const bytes = Buffer.byteLength(last.text);
      if (bytes > MAX_COPY_BYTES)
        throw usage(
          `/copy: the answer has ${bytes} bytes, and terminals take ${MAX_COPY_BYTES}`,
          'write the conversation to a file with /save',
        );
      copy(last.text);
      show(`sent to the clipboard: ${counted(last.text.length, 'character')}`);
    },
  },
  raw: {
    usage: '/raw',
    summary: 'show answers as they come, or draw their Markdown again',
    run(_, { conversation, show }) {
      conversation.raw = !conversation.raw;
      show(conversation.raw ? 'answers are shown as they come' : 'answers are drawn as Markdown');
    },
  },
  clear: {
    usage: '/clear',
    summary: 'start over; a stored conversation is kept aside',
    run(_, { conversation, show }) {
      conversation.startOver();
      show('the conversation starts over');
    },
  },
  help: {
    usage: '/help',
    summary: 'show this list',
    run: (_, { show, columns }) => show(helpText(columns())),
  },
  exit: { usage: '/exit', summary: 'leave (as Ctrl-D)', run: () => true },
};

const names = Object.keys(commands).map((name) => `/${name}`);

/** Parses a line that is a command and not a message: `/word`, alone or followed by a blank. */
export function parseCommand(line: string): { readonly name: string; readonly rest: string } | undefined {
  const found = /^\/([A-Za-z]*)(?:\s+([\s\S]*))?$/.exec(line);
  return found ? { name: found[1] ?? '', rest: (found[2] ?? '').trim() } : undefined;
}

/** Runs a command; true ends the conversation. Throws GwError `usage` for an unknown one. */
export async function runCommand(name: string, rest: string, ctx: CommandContext): Promise<boolean> {
  const known = name.toLowerCase();
  const command = Object.hasOwn(commands, known) ? commands[known] : undefined;
  if (command === undefined) {
    const [near] = nearest(`/${name}`, names);
    throw usage(
      `there is no command /${oneLine(name, 40)}`,
      `${near ? `did you mean ${near}? ` : ''}/help lists them; a message that begins with / is sent with a blank before it`,
    );
  }
  return (await command.run(rest, ctx)) === true;
}

const keys = [
  [
    '\\ Enter',
    'a backslash at the end of a line, or Alt-Enter, begins another line; a pasted block stays one message',
  ],
  ['Tab', 'completes commands, models and paths'],
  ['Up', 'goes back to earlier lines, or to those that begin with what is typed'],
  ['Ctrl-C', 'stops the answer, or clears the line'],
  ['Ctrl-D', 'leaves'],
] as const;

function helpText(columns: number): string {
  const rows = [...Object.values(commands).map((each) => [each.usage, each.summary] as const), ...keys];
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows
    .flatMap(([left, right]) =>
      wrap([{ text: right, paint: asIs }], Math.max(20, columns - width)).map(
        (line, index) => `${(index === 0 ? left : '').padEnd(width)}${line}`,
      ),
    )
    .join('\n');
}

/**
 * Splits words like a shell: quotes protect blanks, a backslash the next character. File managers quote paths like this
 * when a file is dropped on a terminal. Throws GwError `usage` for an open quote.
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  const word = /\s*((?:\\[\s\S]|"(?:\\[\s\S]|[^"\\])*"|'[^']*'|[^\s"'\\])+)/y;
  let end = 0;
  for (let found = word.exec(text); found !== null; found = word.exec(text)) {
    words.push(unquoted(found[1] ?? ''));
    end = word.lastIndex;
  }
  const rest = text.slice(end).trim();
  if (rest !== '')
    throw usage(
      `the quote in ${rest.slice(0, 40)} does not end`,
      'close it, or write \\" for the character itself',
    );
  return words;
}

function unquoted(word: string): string {
  return word.replace(
    /\\([\s\S])|"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'/g,
    (_, escaped?: string, double?: string, single?: string) =>
      escaped ?? single ?? (double ?? '').replace(/\\(["\\])/g, '$1'),
  );
}

/** A limit, so that a directory of a million files is not listed on the terminal. */
const MAX_MATCHES = 200;

/** Completes a line: commands, the models after `/model`, and paths after commands that take one. */
export function completerFor(
  host: Pick<Host, 'cwd' | 'homeDir'>,
  models: readonly string[] = [],
): (line: string) => CompleterResult {
  return (line) => {
    if (/^\/[a-z]*$/.test(line)) {
      const matches = names.filter((name) => name.startsWith(line));
      return [matches.length === 1 ? matches.map((match) => `${match} `) : matches, line];
    }
    const model = /^\/model\s+(\S*)$/.exec(line)?.[1];
    if (model !== undefined) return [models.filter((id) => id.startsWith(model)), model];
    const typed = /^\/(?:image|save)\s+(?:(?:\\.|[^\s\\])+\s+)*((?:\\.|[^\s\\])*)$/.exec(line)?.[1];
    return typed === undefined ? [[], line] : [pathsLike(typed, host), typed];
  };
}

/** Paths that begin with the typed text; blanks and quotes are escaped, and directories end in a slash. */
function pathsLike(typed: string, host: Pick<Host, 'cwd' | 'homeDir'>): string[] {
  const plain = typed.replace(/\\(.)/g, '$1');
  const slash = plain.lastIndexOf('/') + 1;
  const [dir, start] = [plain.slice(0, slash), plain.slice(slash)];
  const there = path.resolve(host.cwd, expandHome(dir, host.homeDir));
  const entries = quietly(() => fs.readdirSync(there, { withFileTypes: true })) ?? [];
  return entries
    .filter(({ name }) => name.startsWith(start) && (start !== '' || !name.startsWith('.')))
    .filter(({ name }) => visible(name) === name && !/[\n\t]/.test(name))
    .slice(0, MAX_MATCHES)
    .map((entry) => `${dir}${entry.name}`.replace(/[\s"'\\]/g, '\\$&') + (entry.isDirectory() ? '/' : ''));
}

/** Expands a leading `~/`, because no shell does it here. */
export function expandHome(file: string, homeDir: string | undefined): string {
  return homeDir !== undefined && /^~(?=\/|$)/.test(file) ? homeDir + file.slice(1) : file;
}
