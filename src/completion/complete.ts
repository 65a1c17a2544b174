import * as fs from 'node:fs';
import * as path from 'node:path';
import { cacheDir, configDir, type DirHost, stateDir } from '../config/dirs.ts';
import { isProfileName } from '../config/profile-name.ts';
import { fieldsOf } from '../gateway/json-value.ts';
import { quietly } from '../host.ts';
import { answer } from './answer.ts';
import type { CompletionTable } from './table.ts';
import { isSafeWord, recentJobs, type Sources } from './values.ts';

/** The facts that the launcher passes. */
type CompletionHost = DirHost & { readonly table: CompletionTable };

/**
 * The reply to a completion script. Its first line is the kind of completion: `value` or `file`.
 *
 * - `--at=CURRENT WORD…`: the word at the cursor, and those between `gw` and it. The first line goes on with a tab
 *   and the part of CURRENT that stays; each other line is a value, a tab and its summary.
 * - `--line=LINE --breaks=CHARS`: bash's line up to the cursor. The other lines replace the text that readline
 *   replaces.
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
  const [breaks = ''] = rest;
  const line = splitLine(first.slice('--line='.length), breaks.slice('--breaks='.length));
  const { kind, before, candidates } = answer(host.table, line.words.slice(1), line.current, sources);
  return text(
    kind,
    candidates.map(({ value }) => `${before}${value}`.slice(line.keptLength)),
  );
}

const text = (head: string, lines: readonly string[]): string => `${[head, ...lines].join('\n')}\n`;

/** A command line up to the cursor, split as a shell would. */
interface SplitLine {
  /** The words before the one at the cursor, the command first. */
  readonly words: readonly string[];
  readonly current: string;
  /** The length of `current` that readline keeps: it replaces the text after the last unquoted break character. */
  readonly keptLength: number;
}

/** Break characters that readline counts as part of the word that they begin. */
const specialPrefixes = '$@';

/**
 * Splits bash's command line without expansion. `breaks` is COMP_WORDBREAKS, whose `=` and `:` split words that are one
 * word to gw, such as `--ratio=16:9`.
 */
export function splitLine(line: string, breaks: string): SplitLine {
  const words: string[] = [];
  let current = '';
  let keptLength = 0;
  let quote = '';
  let isOpen = false;
  for (let at = 0; at < line.length; at += 1) {
    const char = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote === "'" ? char === "'" : quote !== '' && char === quote) {
      quote = '';
    } else if (char === '\\' && quote !== "'" && (quote === '' || '"\\$`'.includes(next))) {
      current += next;
      isOpen = true;
      at += 1;
    } else if (quote !== '') {
      current += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      isOpen = true;
      keptLength = current.length;
    } else if (/\s/.test(char)) {
      if (isOpen) words.push(current);
      current = '';
      keptLength = 0;
      isOpen = false;
    } else {
      current += char;
      isOpen = true;
      if (breaks.includes(char)) keptLength = current.length - (specialPrefixes.includes(char) ? 1 : 0);
    }
  }
  return { words, current, keptLength };
}

/** A limit above the number of gateways that anybody uses. */
const MAX_LISTS = 16;
const MAX_FILE_BYTES = 1_048_576;

/** Local data for completion: the configuration, cached model lists, and the ledger. It only reads. */
const sourcesOf = (host: DirHost): Sources => ({
  profiles: () => orNone(() => profileNames(path.join(configDir(host), 'config.json'))),
  sessions: () => orNone(() => namesIn(path.join(stateDir(host), 'chat', 'sessions'), /\.jsonl$/)),
  presets: () =>
    [path.join(configDir(host), 'presets'), path.join(host.cwd, '.gw', 'presets')].flatMap((dir) =>
      orNone(() => namesIn(dir, /\.(json|ya?ml)$/)),
    ),
  models: () => orNone(() => listedModels(path.join(cacheDir(host), 'models'))),
  jobs: () => orNone(() => recentJobs(path.join(stateDir(host), 'ledger'))),
});

/** Unreadable data gives no candidates, because an error would disturb the line that the user is typing. */
const orNone = <T>(read: () => readonly T[]): readonly T[] => quietly(read) ?? [];

function profileNames(file: string): string[] {
  const { profiles } = readFields(file);
  return Object.keys(fieldsOf(profiles)).filter(isProfileName);
}

function namesIn(dir: string, ending: RegExp): string[] {
  const files = fs.readdirSync(dir).filter((name) => ending.test(name));
  return files.map((name) => name.replace(ending, '')).filter(isSafeWord);
}

function listedModels(dir: string): string[] {
  const files = fs.readdirSync(dir).filter((name) => name.endsWith('.json'));
  return files.slice(0, MAX_LISTS).flatMap((name) => {
    const ids = orNone(() => {
      const { ids } = readFields(path.join(dir, name));
      return Array.isArray(ids) ? (ids as unknown[]) : [];
    });
    return ids.filter((id) => typeof id === 'string').filter(isSafeWord);
  });
}

function readFields(file: string): Readonly<Record<string, unknown>> {
  const stats = fs.statSync(file);
  if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return {};
  return fieldsOf(JSON.parse(fs.readFileSync(file, 'utf8')));
}
