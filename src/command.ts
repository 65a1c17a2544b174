import type { Context } from './context.ts';
import type { Completes, FlagSet, FlagValues, GlobalFlags } from './flags/flag.ts';
import type { Table } from './io/io.ts';
import type { Estimate } from './jobs/cost.ts';
import type { JobRequest } from './jobs/create/job-request.ts';
import type { Made } from './jobs/create/make.ts';

// Types of a command and of a node in the command tree.

/** The request of a paid create, and the body that --once compares. */
export interface AskedBody {
  readonly request: JobRequest;
  /** Makes the body that a --once key is compared by. It reads the files of a form. */
  readonly body: () => Promise<unknown>;
}

/** A request that is printed instead of sent: a function for its text, and the value for --json. */
export class ShownRequest {
  constructor(
    readonly text: () => string,
    readonly json: () => unknown,
    readonly asked?: AskedBody,
    /** The estimated cost, if the user asked for it. */
    readonly estimate?: Estimate,
  ) {}
}

/** A list that is printed while it is read, so that only a few rows are in memory. */
export class RowStream<T> {
  constructor(readonly rows: AsyncIterable<T>) {}
}

/** One outcome of a command: a value, an error, or both. */
export interface Outcome<R> {
  readonly value?: R | ShownRequest | (R extends readonly (infer T)[] ? RowStream<T> : never);
  readonly error?: unknown;
  /** The outcome of a create, for a caller that builds batch rows from it. */
  readonly made?: Made;
}

export interface CommandInput<F extends FlagSet> {
  /** The words after the command. */
  readonly args: readonly string[];
  /** Only the flags that were typed; no defaults. */
  readonly flags: FlagValues<F>;
  readonly globals: GlobalFlags;
  /** The outputs of jobs that a preset of the working directory may name. */
  readonly outputs?: Context['outputs'];
}

interface CommandSpec<F extends FlagSet, R> {
  /** One sentence on what the command does; if absent, its summary in the tree. */
  readonly about?: string;
  /** The words after the command, as help shows them (`[PROMPT...]`, `ID...`); absent if it takes none. */
  readonly args?: {
    readonly name: string;
    readonly summary: string;
    readonly required?: boolean;
    readonly many?: boolean;
    /** For completion: the values of the first word, and the kind of value for every word. */
    readonly choices?: readonly string[];
    readonly completes?: Completes;
  };
  /** For a command without words: a hint for a user who types one. */
  readonly strayWord?: string;
  /** Absent if the command has no flags. */
  readonly flags?: F;
  /** Complete command lines that run as printed against the sandbox. */
  readonly examples: readonly string[];
  /** Further text of the help page. */
  readonly notes?: readonly string[];
  /** The kind of request: with a body, without one, or none (the default); it selects the shared options. */
  readonly sends?: 'body' | 'query' | 'nothing';
  /** Returns one outcome, or yields several as they come. */
  run(input: CommandInput<F>, ctx: Context): Promise<Outcome<R>> | AsyncIterable<Outcome<R>>;
  /** The result for people: whole lines, or a table. */
  human(value: R, ctx: Context, failed: boolean): string | Table | Promise<string | Table>;
  /** The JSON text of a result, if it is not the value itself (such as an unchanged gateway reply). */
  raw?(value: R): string | Uint8Array;
}

/** A command whose type parameters are no longer needed. */
export interface AnyCommand extends CommandSpec<FlagSet, unknown> {
  readonly flags: FlagSet;
  readonly sends: 'body' | 'query' | 'nothing';
}

/** Declares a command; the types of `run` and `human` follow from the flags and the result. */
export function defineCommand<const F extends FlagSet, R>(spec: CommandSpec<F, R>): AnyCommand {
  return { flags: {}, sends: 'nothing', ...spec } as unknown as AnyCommand;
}

/** A node of the command tree: a group, or a command that is loaded when it is called. */
export interface Node {
  readonly name: string;
  readonly summary: string;
  readonly children?: readonly Node[];
  /** Loads the command of a leaf, or the command that runs if a group is called without a subcommand. */
  readonly load?: () => Promise<AnyCommand>;
}

export const group = (
  name: string,
  summary: string,
  children: readonly Node[],
  load?: Node['load'],
): Node => ({ name, summary, children, ...(load && { load }) });
/** A command that its file exports under the command's own name, or under `exported`. */
export const leaf = <N extends string, E extends string = N>(
  name: N,
  summary: string,
  file: () => Promise<{ readonly [K in NoInfer<E>]: AnyCommand }>,
  exported?: E,
): Node => leafBy(name, summary, async () => (await file())[exported ?? (name as string as E)]);

/** A command that is made when it is called, such as one of several families. */
export const leafBy = (name: string, summary: string, load: () => Promise<AnyCommand>): Node => ({
  name,
  summary,
  load,
});
