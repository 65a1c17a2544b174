import { sandboxProfile } from '../config/profile-name.ts';
import type { RecentJob } from './recent-jobs.ts';
import type { CompletionFlag, CompletionNode, CompletionTable } from './table.ts';
import { type Candidate, fitting, type Sources, type Values, valuesFor } from './values.ts';
import { flagIn, flagsOf, type Walked, walk } from './walk.ts';

/** What may stand at the cursor. */
export interface Answer extends Values {
  /** The part of the word at the cursor that stays: `--ratio=`. */
  readonly before: string;
}

const nothing: Answer = { kind: 'value', before: '', candidates: [] };

/**
 * What may stand at the cursor: `words` are those between `gw` and the cursor, `current` is the word at it, up to it.
 * Commands first; flags where the word begins with a dash, or where nothing else is known of it.
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

/** The values of a flag that do not stand there already. */
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

/** Flags that may still be given, by their names. */
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

/** Subcommands, and words after the command. */
function operands(
  table: CompletionTable,
  { node, args, given }: Walked,
  current: string,
  sources: Sources,
): Values {
  const choices = args.length === 0 ? (node.args?.choices ?? []) : [];
  const found = valuesFor({ choices, completes: node.args?.completes }, current, table, {
    ...sources,
    jobs: () => jobsOfProfile(sources.jobs(), given),
  });
  const children = args.length === 0 ? childrenOf(node, current) : [];
  const commands = node.args?.completes === 'command' ? childrenOf(helped(table, args), current) : [];
  const candidates = [...children, ...found.candidates, ...commands];
  return { ...found, candidates: candidates.filter(({ value }) => !args.includes(value)) };
}

/** The jobs of the profile that the line names, where it names one. */
function jobsOfProfile(jobs: readonly RecentJob[], given: Walked['given']): readonly RecentJob[] {
  for (const [{ names }, [name]] of given) {
    const profile = names[0] === '--sandbox' ? sandboxProfile : names[0] === '--profile' ? name : undefined;
    if (profile !== undefined) return jobs.filter((job) => job.profile === profile);
  }
  return jobs;
}

const childrenOf = (node: CompletionNode | undefined, current: string): readonly Candidate[] =>
  fitting(
    (node?.children ?? []).map(({ name, summary }) => ({ value: name, summary })),
    current,
  );

/** The command whose help is asked for. */
const helped = (table: CompletionTable, path: readonly string[]): CompletionNode | undefined =>
  path.reduce<CompletionNode | undefined>(
    (node, word) => node?.children?.find(({ name }) => name === word),
    table.root,
  );
