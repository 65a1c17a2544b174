import type * as z from 'zod/mini';
import { GwError } from '../errors.ts';
import { inOurWords } from '../gateway/body.ts';
import type { Fields } from '../gateway/json-value.ts';
import { leavesOf } from '../io/layout.ts';
import type { BodyFlags } from './body-flags.ts';
import { type FlagSet, type FlagValues, flagName } from './flag.ts';
import { parseSet } from './json-body.ts';

// Stored defaults yield to typed flags: a default that breaks a rule only together with them is left out. Defaults and the
// values of a preset yield to the fields of --body and --set.

/** The flags that the profile or a preset gave; this is not a flag itself. */
export interface SaidBy {
  readonly stored?: readonly string[] | undefined;
  readonly ofPreset?: { readonly name: string; readonly keys: readonly string[] } | undefined;
}

export type WithStored = FlagValues<FlagSet> & SaidBy;

/** The name of a flag in messages, with its source if it was not typed. */
export function toldAs(flag: string, { stored, ofPreset }: SaidBy, command: string): string {
  const isIn = (keys?: readonly string[]) => keys?.some((key) => flagName(key) === flag);
  if (isIn(stored)) return `defaults.${command.replaceAll(' ', '.')}.${flag.slice(2)}`;
  return isIn(ofPreset?.keys) ? `--preset ${ofPreset?.name}, ${flag.slice(2)}` : flag;
}

/** A placeholder for a medium: the rules of other fields depend only on its presence. */
export const ANY_MEDIUM = 'https://example.com/any';

interface Asked {
  readonly schema: z.ZodMiniType | undefined;
  readonly fields: Pick<BodyFlags, 'flagAt'>;
  readonly body: Fields;
}

/** A field that the user gave, and the option that gave it. */
export type Said = readonly [option: string, path: readonly string[]];

/** The fields that --body (`base`) and --set (`sets`) give. */
export const saidIn = (base: Fields, sets: readonly string[] = []): Said[] => [
  ...saidBy('--body', leavesOf(base)),
  ...sets.map(parseSet).flatMap(({ path, value }) => saidBy('--set', leavesOf(value, path.join('.')))),
];
const saidBy = (flag: '--body' | '--set', leaves: ReturnType<typeof leavesOf>): Said[] =>
  [...leaves].map(([at]) => [flag, at.split('.')]);

/** Drops stored values that yield; `note` is told of each. `asked` makes the body from flags, --body and --set. */
export function withoutYielding(
  flags: WithStored,
  asked: (flags: FlagValues<FlagSet>, base: Fields, sets: readonly string[]) => Asked,
  note: (text: string) => void,
  said: readonly Said[] = [],
  base: Fields = {},
  sets: readonly string[] = [],
): WithStored {
  const { stored = [], ...all } = flags;
  const { name, keys: preset = [] } = all.ofPreset ?? {};
  if (stored.length + preset.length === 0) return all;
  const alone = brokenBy(() => asked(Object.fromEntries(stored.map((key) => [key, all[key]])), {}, []));
  const left = { ...all };
  const broken = brokenBy(() => asked(all, base, sets));
  const { fields } = asked({}, {}, []);
  const flagAt = (path: Said[1]) => (path[0] === 'model' ? '--model' : fields.flagAt(path, {}));
  for (const key of [...stored, ...preset]) {
    const flag = flagName(key);
    const isStored = stored.includes(key);
    // A preset is typed, so it has priority over a session and over a file of messages.
    const [by] =
      said.find(
        ([option, path]) =>
          flagAt(path) === flag.replace(/-file$/, '') && (isStored || /^--(body|set)$/.test(option)),
      ) ?? [];
    const why = by ? `${by} says it` : isStored && !alone.has(flag) ? broken.get(flag) : undefined;
    if (why === undefined) continue;
    const source = isStored ? "the profile's defaults" : `--preset ${name}`;
    note(`${flag} ${String(all[key])} of ${source} is left out: ${why}`);
    delete left[key];
  }
  return { ...left, stored: stored.filter((key) => key in left) };
}

/** The broken rules, by the flag that breaks each. */
function brokenBy(asked: () => Asked): ReadonlyMap<string | undefined, string> {
  try {
    const { schema, fields, body } = asked();
    const issues = schema?.safeParse(body, { error: inOurWords }).error?.issues ?? [];
    // If a flag breaks several rules, the first one is kept.
    return new Map(issues.toReversed().map(({ path, message }) => [fields.flagAt(path, body), message]));
  } catch (error) {
    // A body that cannot be made at all is reported where it is read.
    if (error instanceof GwError) return new Map();
    throw error;
  }
}
