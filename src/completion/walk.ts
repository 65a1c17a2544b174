import type { CompletionFlag, CompletionNode, CompletionTable } from './table.ts';

/** The words before the cursor, as the parser would take them. */
export interface Walked {
  /** The command that they lead to. */
  readonly node: CompletionNode;
  /** Words after the command. */
  readonly args: readonly string[];
  /** Each flag that was given, with its values. */
  readonly given: ReadonlyMap<CompletionFlag, readonly string[]>;
  /** The flag whose value the next word is. */
  readonly pending: CompletionFlag | undefined;
  /** After `--` nothing is a flag. */
  readonly flagsEnded: boolean;
}

/** The flags that a command takes. */
export const flagsOf = (table: CompletionTable, node: CompletionNode): readonly CompletionFlag[] =>
  node.flags.map((at) => table.flags[at]).filter((flag) => flag !== undefined);

/** Goes down the tree, word by word; what it does not know it passes over. */
export function walk(table: CompletionTable, words: readonly string[]): Walked {
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

/** A word's flags: one with its value after `=`, or letters, the last of which may have its value attached. */
export function flagIn(
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
