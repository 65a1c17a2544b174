import { sandboxProfile } from '../config/profile-name.ts';
import type { CompletionFlag, CompletionNode, CompletionTable } from './table.ts';
import { type Candidate, fitting, type RecentJob, type Sources, type Values, valuesFor } from './values.ts';

/** The candidates at the cursor. */
export interface Answer extends Values {
  /** The part of the word at the cursor that stays: `--ratio=`. */
  readonly before: string;
}

const nothing: Answer = { kind: 'value', before: '', candidates: [] };

/**
 * The candidates at the cursor. `words` are the words between `gw` and the cursor, `current` is the word at the cursor,
 * up to it. Commands come first; flags if the word begins with a dash, or if there are no other candidates.
 */
export function answer(
  table: CompletionTable,
  words: readonly string[],
  current: string,
  sources: Sources,
): Answer {
  const walked = walk(table, words);
  if (walked.pending) return flagValues(table, walked, walked.pending, '', current, sources);
  const flags = flagsOf(table, walked.node);
  if (!walked.flagsEnded && current.startsWith('-')) {
    const { flags: typed, before, value } = flagIn(flags, current);
    const last = typed.at(-1);
    if (before !== '' && value !== undefined && last) {
      return last.takesValue ? flagValues(table, walked, last, before, value, sources) : nothing;
    }
    return { kind: 'value', before: '', candidates: flagNames(flags, walked.given, current) };
  }
  const found = operands(table, walked, current, sources);
  const isOpen = current === '' && !walked.flagsEnded;
  if (found.kind !== 'value' || found.candidates.length > 0 || !isOpen) return { ...found, before: '' };
  return { kind: 'value', before: '', candidates: flagNames(flags, walked.given, '') };
}

/** The values of a flag that have not been given yet. */
function flagValues(
  table: CompletionTable,
  { given }: Walked,
  flag: CompletionFlag,
  before: string,
  typed: string,
  sources: Sources,
): Answer {
  const known = given.get(flag) ?? [];
  const kept = flag.commas ? typed.slice(0, typed.lastIndexOf(',') + 1) : '';
  const taken = new Set([...(flag.list ? known : []), ...kept.split(',')]);
  const found = valuesFor(flag, typed.slice(kept.length), table, sources);
  return {
    ...found,
    before: `${before}${kept}${found.before ?? ''}`,
    candidates: found.candidates.filter(({ value }) => !taken.has(value)),
  };
}

function flagNames(
  flags: readonly CompletionFlag[],
  given: Walked['given'],
  current: string,
): readonly Candidate[] {
  const open = flags.filter((flag) => flag.list || !given.has(flag));
  return fitting(
    open.flatMap(({ names, summary }) =>
      names.map((value, at) => ({ value, summary: at === 0 ? summary : `the opposite of ${names[0]}` })),
    ),
    current,
  );
}

function operands(
  table: CompletionTable,
  { node, args, given }: Walked,
  current: string,
  sources: Sources,
): Values {
  const choices = args.length === 0 ? (node.args?.choices ?? []) : [];
  const isValue = node.args?.completes === 'setting' && args.length > 0;
  const ofValue = /^(prices|cacert)$/.test(args[0] ?? '') ? 'file' : undefined;
  const completes = isValue ? ofValue : node.args?.completes;
  const found = valuesFor({ choices, completes }, current, table, {
    ...sources,
    jobs: () => jobsOfProfile(sources.jobs(), given),
  });
  const children = args.length === 0 ? childrenOf(node, current) : [];
  const commands = node.args?.completes === 'command' ? childrenOf(helped(table, args), current) : [];
  const candidates = [...children, ...found.candidates, ...commands];
  return { ...found, candidates: candidates.filter(({ value }) => !args.includes(value)) };
}

function jobsOfProfile(jobs: readonly RecentJob[], given: Walked['given']): readonly RecentJob[] {
  for (const [{ names }, [name]] of given) {
    const profile = names[0] === '--sandbox' ? sandboxProfile : names[0] === '--profile' ? name : undefined;
    if (profile !== undefined) return jobs.filter((job) => job.profile === profile);
  }
  return jobs;
}

const childrenOf = (node: CompletionNode | undefined, current: string) =>
  fitting(named(node?.children), current);
const named = (nodes: readonly CompletionNode[] = []) =>
  nodes.map(({ name, summary }) => ({ value: name, summary }));

const helped = (table: CompletionTable, path: readonly string[]): CompletionNode | undefined =>
  path.reduce<CompletionNode | undefined>(
    (node, word) => node?.children?.find(({ name }) => name === word),
    table.root,
  );

/** The words before the cursor, as the parser would read them. */
interface Walked {
  /** The command that the words lead to. */
  readonly node: CompletionNode;
  /** Words after the command. */
  readonly args: readonly string[];
  readonly given: ReadonlyMap<CompletionFlag, readonly string[]>;
  /** The flag whose value comes next. */
  readonly pending: CompletionFlag | undefined;
  /** True after `--`, which ends the flags. */
  readonly flagsEnded: boolean;
}

const flagsOf = (table: CompletionTable, node: CompletionNode): readonly CompletionFlag[] =>
  node.flags.map((at) => table.flags[at]).filter((flag) => flag !== undefined);

/** Walks down the tree word by word and ignores unknown words. */
function walk(table: CompletionTable, words: readonly string[]): Walked {
  let node = table.root;
  let pending: CompletionFlag | undefined;
  let flagsEnded = false;
  const args: string[] = [];
  const given = new Map<CompletionFlag, string[]>();
  const give = (flag: CompletionFlag, value?: string): void => {
    const values = given.get(flag) ?? [];
    given.set(flag, value === undefined ? values : [...values, value]);
  };
  for (const word of words) {
    if (pending) {
      give(pending, word);
      pending = undefined;
    } else if (!flagsEnded && word === '--') {
      flagsEnded = true;
    } else if (!flagsEnded && /^-./.test(word)) {
      const typed = flagIn(flagsOf(table, node), word);
      for (const flag of typed.flags) give(flag);
      const last = typed.flags.at(-1);
      if (last?.takesValue && typed.value === undefined) pending = last;
      else if (last && typed.value !== undefined) give(last, typed.value);
    } else {
      const child = args.length === 0 ? node.children?.find(({ name }) => name === word) : undefined;
      if (child) node = child;
      else args.push(word);
    }
  }
  return { node, args, given, pending, flagsEnded };
}

/** Parses a flag word: a flag with its value after `=`, or letters, the last of which may have an attached value. */
function flagIn(
  flags: readonly CompletionFlag[],
  word: string,
): {
  readonly flags: readonly CompletionFlag[];
  readonly before: string;
  readonly value: string | undefined;
} {
  if (word.startsWith('--')) {
    const at = word.indexOf('=');
    const name = at < 0 ? word : word.slice(0, at);
    const flag = flags.find(({ names }) => names.includes(name));
    const isSplit = flag !== undefined && at >= 0;
    return {
      flags: flag ? [flag] : [],
      before: isSplit ? `${name}=` : '',
      value: isSplit ? word.slice(at + 1) : undefined,
    };
  }
  const found: CompletionFlag[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const flag = flags.find(({ short }) => short === word[at]);
    if (!flag) break;
    found.push(flag);
    if (!flag.takesValue) continue;
    const rest = word.slice(at + 1);
    return { flags: found, before: word.slice(0, at + 1), value: rest === '' ? undefined : rest };
  }
  return { flags: found, before: '', value: undefined };
}
