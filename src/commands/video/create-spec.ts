import type * as z from 'zod';
import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import type { FlagOfPath } from '../../flags/breaches.ts';
import type { FlagSet, FlagValues } from '../../flags/flag.ts';
import type { pollFlags, promptFlags, saveFlags, waitFlags } from '../../flags/job-flags.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Note, TaskFamily } from '../../gateway/task.ts';
import type { IdentifiedBody } from '../../jobs/external-id.ts';
import type { MediaInput, ResolvedMedia } from '../../media/resolve.ts';

// What the families differ in, as data and pure functions, and what is ready to be sent once these have spoken.

export interface BodyInput<F extends FlagSet> {
  /** The body of --body, or empty. */
  readonly base: Record<string, unknown>;
  readonly flags: FlagValues<F>;
  readonly prompt: string | undefined;
  readonly media: readonly { readonly input: MediaInput; readonly url: string }[];
  readonly model: string;
}

export interface VideoCreate<F extends FlagSet> {
  readonly family: TaskFamily;
  readonly flags: F;
  endpointOf(flags: FlagValues<F>): Endpoint;
  schemaOf(flags: FlagValues<F>): z.ZodType;
  modelOf(flags: FlagValues<F>, base: Record<string, unknown>, settings: Settings): string;
  media(flags: FlagValues<F>, model: string): MediaInput[];
  /** Longest sum over all files of a kind that has a length, in seconds. */
  totalReferenceS(model: string): number | undefined;
  /** The models of its table; absent where it has no model IDs. */
  readonly knownModels?: readonly string[];
  body(input: BodyInput<F>): Record<string, unknown>;
  /** Whether a prompt is needed beside these flags, may be left out, or is given by one of them; needed when absent. */
  promptNeed?(flags: FlagValues<F>): 'required' | 'optional' | 'given';
  /** Adds what the documented rules imply. */
  fill(body: Record<string, unknown>, flags: FlagValues<F>): Record<string, unknown>;
  warnings(body: Record<string, unknown>, flags: FlagValues<F>): readonly Note[];
  /** Asks the gateway what must hold before anything is paid; passed over with --no-validate. Throws GwError. */
  checkFirst?(body: Record<string, unknown>, flagOf: FlagOfPath, ctx: Context): Promise<void>;
  /** What is odd about the reply to a create that was accepted. */
  replyWarning?(reply: unknown): string | undefined;
  flagOf(path: readonly PropertyKey[], body: Record<string, unknown>): string | undefined;
  readonly examples: readonly string[];
  readonly notes?: readonly string[];
}

/** The flags that every create has. */
export type SharedValues = FlagValues<
  typeof promptFlags & typeof waitFlags & typeof pollFlags & typeof saveFlags
>;

/** A create that has passed all checks. */
export interface ReadyCreate extends IdentifiedBody {
  readonly spec: Pick<VideoCreate<FlagSet>, 'family' | 'replyWarning'>;
  readonly endpoint: Endpoint;
  /** What the flags say the model is; the body's own word goes before it. */
  readonly model: string;
  readonly media: readonly ResolvedMedia[];
  readonly flags: SharedValues;
  readonly settings: Settings;
  checkFirst(): Promise<void>;
}
