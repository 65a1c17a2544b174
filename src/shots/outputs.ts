import type { ChatTurn } from '../chat/chat.ts';
import type { Context } from '../context.ts';
import type { ConfinedPath } from '../disk/confined-path.ts';
import { flagName } from '../flags/flag.ts';
import type { HowAsked } from '../jobs/create/job-request.ts';
import type { Job } from '../ledger/event.ts';
import { type MediaInput, shownAs } from '../media/resolve.ts';

// References to outputs (`job:last#last_frame`, `row:fox`) in every command that takes media. They are resolved before
// the media are checked, and appear in three forms: as sent, as a --once key compares them, and as shown.

/** True if a reference, with or without an ID before it (`fox=job:last`), names an output of a job or of a row. */
export const namesOutput = (raw: string): boolean =>
  // The first test avoids the table behind \p{L}, which takes a millisecond to load.
  /(?:^|=)(?:job|row):/i.test(raw) && /^(?:[\p{L}\p{N}_-]{1,64}=)?(?:job|row):/iu.test(raw);

/** Restricts the outputs that an untrusted source may name: a manifest, a sidecar or a tool call. */
export interface OutputDoor {
  /** Throws `usage` if the file of a job's output may not be read. */
  readonly admit: (file: string, job: Job, named: string) => void;
  /** True if rows are only checked, so that an output may still be missing. */
  readonly isEarly?: boolean | undefined;
  /** The job of another row; undefined if it is still to be made. Throws GwError if it will not be made. */
  readonly rowJob?: ((id: string, named: string) => Promise<Job | undefined>) | undefined;
  /** The outputs that a row's references, such as `job:last`, meant when the row was handed over. */
  readonly meant?: Readonly<Record<string, string>> | undefined;
}

/** Restricts outputs named by these untrusted flags to files that may be read; other flags keep the rule of `outer`. */
export function strangersDoor(
  said: Readonly<Record<string, unknown>>,
  confined: ConfinedPath,
  outer?: OutputDoor,
): OutputDoor | undefined {
  const isNaming = ([, value]: [string, unknown]) => [value].flat().some((raw) => namesOutput(`${raw}`));
  const named = Object.entries(said).filter(isNaming);
  if (named.length === 0) return outer;
  return {
    ...outer,
    admit(file, job, what) {
      outer?.admit(file, job, what);
      if (named.some(([key]) => what.startsWith(`${flagName(key)} `))) confined(file, what);
    },
  };
}

/** Resolves each reference to a job's output. Throws GwError for a missing one. */
export const findOutputs = async (
  inputs: readonly MediaInput[],
  ctx: Context,
  how: HowAsked = {},
): Promise<readonly MediaInput[]> =>
  inputs.some(({ raw }) => namesOutput(raw))
    ? (await import('./resolve.ts')).resolveOutputs(inputs, ctx, how)
    : inputs;

/** The form of a reference that a key compares: its words, not the file's content. `sent` is what the body contains. */
export const askedOf = ({ output }: MediaInput, sent: string): string => output?.asked ?? sent;

/** The form of a reference that is shown; it is never an output's link. */
export const shownOf = ({ output }: MediaInput, sent: string): string => (output ? shownAs(output) : sent);

/** The flags of a request as stored: `last` is replaced by the job it meant, because it changes with time. */
export const pinned = (
  flags: Readonly<Record<string, unknown>>,
  inputs: readonly Pick<MediaInput, 'raw' | 'output'>[],
): Record<string, unknown> => {
  const label = (word: unknown): unknown => {
    if (typeof word !== 'string' || !namesOutput(word)) return word;
    const found = inputs.find(({ raw, output }) => output && (word === raw || word.endsWith(`=${raw}`)));
    return found?.output ? word.slice(0, word.length - found.raw.length) + found.output.label : word;
  };
  const labelled = (value: unknown) => (Array.isArray(value) ? value.map(label) : label(value));
  return Object.fromEntries(Object.entries(flags).map(([key, value]) => [key, labelled(value)]));
};

/** The outputs that a request was made from, by the words that name them. */
export const outputsByWord = (
  inputs: readonly Pick<MediaInput, 'output'>[],
): Readonly<Record<string, string>> | undefined => {
  const found = inputs.flatMap(({ output }) => (output ? [[output.asked, output.label] as const] : []));
  return found.length > 0 ? Object.fromEntries(found) : undefined;
};

/** Says that a shown command cannot run as it is: it names outputs instead of including their data or links. */
export const noteOutputsInCurl = (io: Context['io']): void =>
  io.note('the command names an output of a job in place of its data, and cannot run as it stands');

/** A chat request in the form that is shown: the data of outputs are replaced by their references. */
export function withShown<T extends { readonly body?: unknown }>(
  input: T,
  turns: readonly ChatTurn[],
  { globals }: Pick<Context, 'globals'>,
): T {
  const shown = new Map<unknown, string>();
  for (const part of turns.flatMap((turn) => ('parts' in turn ? turn.parts : []))) {
    if (part.type !== 'image' || part.shown === undefined) continue;
    shown.set(part.url, part.shown);
    shown.set(part.url.slice(part.url.indexOf(',') + 1), part.shown);
  }
  if (shown.size === 0 || !(globals.dryRun ?? globals.curl)) return input;
  return { ...input, body: JSON.parse(JSON.stringify(input.body, (_, value) => shown.get(value) ?? value)) };
}
