import type { ChatTurn } from '../chat/chat.ts';
import type { Context } from '../context.ts';
import type { ConfinedPath } from '../disk/confined-path.ts';
import { flagName } from '../flags/flag.ts';
import type { HowAsked } from '../jobs/create/job-request.ts';
import type { Job } from '../ledger/event.ts';
import { type MediaInput, shownAs } from '../media/resolve.ts';

// References to outputs (`job:last#last_frame`, `row:fox`), as every command that takes media reads them: found before the media
// are checked, and told in three ways: what is sent, what a key compares, and what is shown.

/** Whether a reference, behind the ID that it may be given (`fox=job:last`), names an output of a job or of a row. */
export const namesOutput = (raw: string): boolean =>
  // The table behind \p{L} takes a millisecond, and is seldom needed.
  /(?:^|=)(?:job|row):/i.test(raw) && /^(?:[\p{L}\p{N}_-]{1,64}=)?(?:job|row):/iu.test(raw);

/** Whose word names outputs of jobs, where that is a stranger's: of a manifest, a sidecar, a tool call. */
export interface OutputDoor {
  /** Throws `usage` where the file of a job's output may not be read. */
  readonly admit: (file: string, job: Job, named: string) => void;
  /** True where rows are only checked: what is not made yet may still come. */
  readonly isEarly?: boolean | undefined;
  /** The job of another row; undefined where it is still to be made. Throws GwError where there will be none. */
  readonly rowJob?: ((id: string, named: string) => Promise<Job | undefined>) | undefined;
  /** What the words of a row were found to mean where it was handed over, such as `job:last`. */
  readonly meant?: Readonly<Record<string, string>> | undefined;
}

/** The door of a stranger who says these flags: their outputs are files that he may name. At other flags stands another's word. */
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

/** The references with each output of a job found. Throws GwError for one that there is not. */
export const findOutputs = async (
  inputs: readonly MediaInput[],
  ctx: Context,
  how: HowAsked = {},
): Promise<readonly MediaInput[]> =>
  inputs.some(({ raw }) => namesOutput(raw))
    ? (await import('./resolve.ts')).resolveOutputs(inputs, ctx, how)
    : inputs;

/** What a key compares of a reference: the words, not what the file holds. `sent` is what goes into the body. */
export const askedOf = ({ output }: MediaInput, sent: string): string => output?.asked ?? sent;

/** What is shown of a reference, which never is an output's link. */
export const shownOf = ({ output }: MediaInput, sent: string): string => (output ? shownAs(output) : sent);

/** The flags of a request as they are kept: with the output that was meant, whichever is the last one on another day. */
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

/** Says that a shown command cannot run: it names outputs, whose files and links it must not hold. */
export const noteOutputsInCurl = (io: Context['io']): void =>
  io.note('the command names an output of a job in place of its data, and cannot run as it stands');

/** A request of chat as it is only shown: its outputs by their words, in whatever form their data stand in it. */
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
