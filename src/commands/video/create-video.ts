import type * as z from 'zod';
import { defineCommand, type Outcome } from '../../command.ts';
import type { Settings } from '../../config/settings.ts';
import type { Access, Context } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { breachesOf, type FlagOfPath, refuseOrWarn } from '../../flags/breaches.ts';
import { type FlagSet, type FlagValues, flagName } from '../../flags/flag.ts';
import { pollFlags, promptFlags, saveFlags, waitFlags } from '../../flags/job-flags.ts';
import { applySets, readJsonBody } from '../../flags/json-body.ts';
import { readPrompt, refuseSharedStdin } from '../../flags/prompt.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Note, TaskFamily } from '../../gateway/task.ts';
import { type CreateInput, createJob } from '../../jobs/create.ts';
import { checkTarget } from '../../jobs/download/check-target.ts';
import { planTarget } from '../../jobs/download/plan-target.ts';
import { type IdentifiedBody, identifyBody } from '../../jobs/external-id.ts';
import type { IntentEvent } from '../../ledger/event.ts';
import { type MediaInput, type ResolvedMedia, resolveMedia } from '../../media/resolve.ts';
import { showInstead } from '../show-instead.ts';
import { followFromFlags, type JobResult, jobLines, outcomeOf, waitDeadlineMs } from './follow-job.ts';
import { createFollowers } from './followers.ts';
import { breachesUnlessListed } from './unlisted-model.ts';

// `gw video FAMILY create`, written once: what the families differ in arrives as data and pure functions.

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

/** The create command of a family: argv -> body -> job on disk -> reply, and with --wait the outputs on disk. */
export function videoCreate<F extends FlagSet>(spec: VideoCreate<F>) {
  const flags = { ...promptFlags, ...spec.flags, ...waitFlags, ...pollFlags, ...saveFlags };
  return defineCommand<typeof flags, JobResult>({
    args: { name: 'PROMPT', summary: 'the prompt, as words', many: true },
    flags,
    examples: spec.examples,
    ...(spec.notes && { notes: spec.notes }),
    sends: 'body',
    human: (result, _, failed) => jobLines(result, failed),
    async run({ args, flags: given, globals }, ctx) {
      const flags = given as SharedValues;
      const settings = await ctx.settings();
      const typed = given as unknown as FlagValues<F>;
      const { body: bodyFile, apiKeyFile } = globals;
      refuseSharedStdin({ '--api-key-file': apiKeyFile, '--body': bodyFile, '--prompt': flags.prompt });
      const base =
        globals.body === undefined
          ? {}
          : await readJsonBody(globals.body, {
              cwd: ctx.host.cwd,
              stdin: ctx.host.stdin,
              signal: ctx.signal,
            });
      const model = spec.modelOf(typed, base, settings);
      const inputs = spec.media(typed, model);
      const need = spec.promptNeed?.(typed) ?? 'required';
      const prompt = await readPrompt(
        {
          words: args,
          flag: flags.prompt,
          optional:
            need !== 'required' || inputs.length > 0 || bodyFile !== undefined || globals.set !== undefined,
          mayReadStdin: need !== 'given' && bodyFile === undefined && apiKeyFile !== '-',
        },
        ctx,
      );
      const resolved = await resolveMedia(
        inputs,
        {
          maxBodyBytes: spec.endpointOf(typed).maxBodyBytes,
          totalS: spec.totalReferenceS(model),
          validate: globals.validate === undefined,
        },
        { cwd: ctx.host.cwd },
      );
      const media = inputs.map((input, index) => ({ input, url: resolved.items[index]?.url ?? input.raw }));
      const body = spec.fill(
        applySets(spec.body({ base, flags: typed, prompt, media, model }), globals.set ?? []),
        typed,
      );
      const validate = globals.validate === undefined;
      // A flag is named only where it was typed, or is missing: a body or a profile may have set the field.
      const flagOf: FlagOfPath = (path) => {
        const name = spec.flagOf(path, body);
        const isTyped = Object.keys(given).some((key) => flagName(key) === name);
        const isMissing = isAbsent(body, path);
        return isTyped || isMissing || (name === '--prompt' && args.length > 0) ? name : undefined;
      };
      refuseOrWarn(resolved.breaches, validate, ctx.io);
      const breaches = await breachesUnlessListed(
        (verdict) => breachesOf(spec.schemaOf(typed), body, flagOf, verdict),
        { model: body.model, known: spec.knownModels },
        ctx,
      );
      refuseOrWarn(breaches, validate, ctx.io);
      for (const { path, message } of spec.warnings(body, typed)) {
        ctx.io.warn([flagOf(path), message].filter(Boolean).join(': '));
      }

      const endpoint = spec.endpointOf(typed);
      const identified = identifyBody(spec.family, body);
      const shown = await showInstead(endpoint, { body: identified.body }, ctx);
      if (shown !== undefined) return { value: shown };
      const checkFirst = async () => {
        if (validate) await spec.checkFirst?.(body, flagOf, ctx);
      };
      const ready = {
        spec,
        endpoint,
        model,
        ...identified,
        media: resolved.items,
        flags,
        settings,
        checkFirst,
      };
      return sendAndFollow(ready, ctx);
    },
  });
}

type SharedValues = FlagValues<typeof promptFlags & typeof waitFlags & typeof pollFlags & typeof saveFlags>;

interface Ready extends IdentifiedBody {
  readonly spec: Pick<VideoCreate<FlagSet>, 'family' | 'replyWarning'>;
  readonly endpoint: Endpoint;
  /** What the flags say the model is; the body's own word goes before it. */
  readonly model: string;
  readonly media: readonly ResolvedMedia[];
  readonly flags: SharedValues;
  readonly settings: Settings;
  checkFirst(): Promise<void>;
}

async function sendAndFollow(ready: Ready, ctx: Context): Promise<Outcome<JobResult>> {
  const { spec, endpoint, key, body, externalId, flags, settings } = ready;
  const { family } = spec;
  const save = {
    target: planTarget(flags.out ?? settings.out.value, ctx.host.cwd),
    force: flags.force ?? false,
    download: flags.download === undefined,
  };
  const access = await ctx.gateway();
  const { client } = access;
  if (save.download) {
    checkTarget(save, {
      family: family.name,
      model: String(body.model ?? ready.model),
      now: ctx.clock.now(),
      outputsExpected: 1,
    });
  }
  await ready.checkFirst();
  const ledger = await ctx.ledger();
  const deadlineMs = waitDeadlineMs(flags, ctx);
  const followers = createFollowers(ctx);
  const intent = intentOf(ready, access, save);
  const underWay = { now: false };
  const stopTelling = tellIfInterrupted(underWay, ctx);
  const making = createJob({
    family,
    endpoint,
    key,
    body,
    externalId,
    intent,
    client,
    ledger,
    clock: ctx.clock,
    signal: ctx.signal,
    note: (text) => ctx.io.note(text),
    onExchange: (isUnderWay) => {
      underWay.now = isUnderWay;
    },
    ...(flags.queue && {
      queue: {
        deadlineMs,
        random: ctx.host.random,
        onQueued: (text) => ctx.io.note(text),
        pool: await followers.poolOf(intent),
        looker: await followers.looker(family),
      },
    }),
  }).finally(stopTelling);
  const job = await making.catch((error: unknown) => {
    if (error instanceof GwError && error.kind === 'unknown_outcome') return { error };
    throw error;
  });
  if ('error' in job) return lostOutcome(job.error, family.name, key);
  const odd = job.isOwnReply ? spec.replyWarning?.(job.reply) : undefined;
  if (odd !== undefined) ctx.io.warn(odd);
  const accepted: JobResult = {
    family: family.name,
    id: job.id,
    status: job.status ?? '',
    record: job.reply,
    files: [],
  };
  if (!flags.wait) {
    if (!ctx.signal.aborted) return { value: accepted };
    const followed = { ...accepted, files: [], error: ctx.signal.reason };
    return outcomeOf(followed, { family: family.name, id: job.id, accepted }, ctx);
  }
  ctx.io.note(`task ${job.id}`);
  return followFromFlags(
    { id: job.id, key: job.key, family, flags, save, deadlineMs, accepted },
    followers,
    ctx,
  );
}

/** A job that may exist without an ID is printed under gw's own. */
const lostOutcome = (error: GwError, family: string, key: string): Outcome<JobResult> => ({
  value: { family, id: error.facts.taskId ?? key, status: 'unknown', record: null, files: [] },
  error,
});

/** A paid request under way is not dropped: its reply holds the ID of what was paid for. */
function tellIfInterrupted(underWay: { readonly now: boolean }, { io, signal }: Context): () => void {
  const tell = () => {
    if (underWay.now) io.note('waiting for the answer to a paid request; interrupt again to end at once');
  };
  signal.addEventListener('abort', tell);
  return () => signal.removeEventListener('abort', tell);
}

function intentOf(
  { spec, endpoint, model, body, media, settings }: Ready,
  { name: gateway, keyId }: Access,
  save: IntentEvent['save'],
): CreateInput['intent'] {
  const { content, contents, prompt, ...rest } = body;
  return {
    event: 'intent',
    family: spec.family.name,
    endpoint: endpoint.name,
    model: typeof body.model === 'string' ? body.model : model,
    prompt: promptIn(content ?? contents ?? prompt),
    settings: { ...scalarsOf(rest), ...scalarsOf(rest.settings) },
    media: media.map((item) => item.describe),
    profile: settings.profile.value,
    keyId,
    gateway,
    save,
  };
}

/** The plain values of an object; none where it is no object. */
const scalarsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each !== 'object'))
    : {};

/** Whether nothing stands at a path of fields; what lies in a list is not asked for. */
function isAbsent(body: unknown, path: readonly PropertyKey[]): boolean {
  let here = body;
  for (const key of path) {
    if (here === undefined) return true;
    if (typeof here !== 'object' || here === null || Array.isArray(here)) return false;
    here = Object.hasOwn(here, key) ? (here as Record<PropertyKey, unknown>)[key] : undefined;
  }
  return here === undefined;
}

/** The words of a request: a prompt field, or the text items of its content. */
function promptIn(source: unknown): string | undefined {
  if (typeof source === 'string') return source;
  if (!Array.isArray(source)) return undefined;
  const texts = source
    .map((item: { text?: unknown } | null) => item?.text)
    .filter((text) => typeof text === 'string');
  return texts.length > 0 ? texts.join('\n') : undefined;
}
