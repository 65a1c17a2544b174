import type { Context } from './context.ts';
import type { Completes, FlagSet, FlagValues, GlobalFlags } from './flags/flag.ts';
import type { Table } from './io/io.ts';
import type { Estimate } from './jobs/cost.ts';
import type { JobRequest } from './jobs/create/job-request.ts';
import type { Made } from './jobs/create/make.ts';

// A command as one typed value, and a node of the tree they stand in.

/** What a paid create asks for. */
export interface AskedBody {
  readonly request: JobRequest;
  /** As a key of --once compares it. Reads the files of a form. */
  readonly body: () => Promise<unknown>;
}

/** A request that is shown in place of being sent: what makes its text, and what --json prints. */
export class ShownRequest {
  constructor(
    readonly text: () => string,
    readonly json: () => unknown,
    readonly asked?: AskedBody,
    /** What it is going to cost, where that was asked for. */
    readonly estimate?: Estimate,
  ) {}
}

/** A list that is printed while it is read: however long it is, a few of its rows are in memory. */
export class RowStream<T> {
  constructor(readonly rows: AsyncIterable<T>) {}
}

/** One result of a command: what came of it, and what went wrong; either may be missing. */
export interface Outcome<R> {
  readonly value?: R | ShownRequest | (R extends readonly (infer T)[] ? RowStream<T> : never);
  readonly error?: unknown;
  /** What became of a create, for whoever makes rows of it. */
  readonly made?: Made;
}

export interface CommandInput<F extends FlagSet> {
  /** The words after the command. */
  readonly args: readonly string[];
  /** What was typed, nothing else. */
  readonly flags: FlagValues<F>;
  readonly globals: GlobalFlags;
  /** Which outputs of jobs a preset of the working directory may name. */
  readonly outputs?: Context['outputs'];
}

export interface CommandSpec<F extends FlagSet, R> {
  /** What the command does, in a sentence; its summary in the tree where absent. */
  readonly about?: string;
  /** Words after the command, as help shows them: `[PROMPT...]`, `ID...`, none when absent. */
  readonly args?: {
    readonly name: string;
    readonly summary: string;
    readonly required?: boolean;
    readonly many?: boolean;
    /** For completion: what the first word may be, and what each may be. */
    readonly choices?: readonly string[];
    readonly completes?: Completes;
  };
  /** Where a command takes no words: what somebody means who gives it one. */
  readonly strayWord?: string;
  /** None when absent. */
  readonly flags?: F;
  /** Complete command lines that run as printed against the sandbox. */
  readonly examples: readonly string[];
  /** What a reader must know beside the flags. */
  readonly notes?: readonly string[];
  /** Whether the command sends a request with a body, one without, or none (when absent): which shared options apply. */
  readonly sends?: 'body' | 'query' | 'nothing';
  /** One outcome, or several as they come. */
  run(input: CommandInput<F>, ctx: Context): Promise<Outcome<R>> | AsyncIterable<Outcome<R>>;
  /** The result for people: whole lines, or a table. */
  human(value: R, ctx: Context, failed: boolean): string | Table | Promise<string | Table>;
  /** The JSON text of a result where it is not simply the value (a gateway's reply, unchanged). */
  raw?(value: R): string | Uint8Array;
}

/** A spec whose types have done their work. */
export interface AnyCommand extends CommandSpec<FlagSet, unknown> {
  readonly flags: FlagSet;
  readonly sends: 'body' | 'query' | 'nothing';
}

/** Declares a command; the types of `run` and `human` follow from the flags and the result. */
export function defineCommand<const F extends FlagSet, R>(spec: CommandSpec<F, R>): AnyCommand {
  return { flags: {}, sends: 'nothing', ...spec } as unknown as AnyCommand;
}

/** A node of the command tree: a group of commands or one that is loaded when it is called. */
export interface Node {
  readonly name: string;
  readonly summary: string;
  readonly children?: readonly Node[];
  /** The command of a leaf, or what a group does when it is called by itself. */
  readonly load?: () => Promise<AnyCommand>;
}

export const group = (
  name: string,
  summary: string,
  children: readonly Node[],
  load?: Node['load'],
): Node => ({ name, summary, children, ...(load && { load }) });
export const leaf = (name: string, summary: string, load: () => Promise<AnyCommand>): Node => ({
  name,
  summary,
  load,
});
