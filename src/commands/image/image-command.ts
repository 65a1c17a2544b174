import { type AnyCommand, defineCommand, type Outcome } from '../../command.ts';
import { readSwitch } from '../../config/environment.ts';
import type { Settings } from '../../config/settings.ts';
import { type Context, gatewayName } from '../../context.ts';
import { usage } from '../../errors.ts';
import { type BodyFlags, referencesOf } from '../../flags/body-flags.ts';
import { checkBody, type FlagOfPath, refuseOrWarn, setOver, typedFlagAt } from '../../flags/breaches.ts';
import { everywhere, type FlagSet, type FlagValues, on } from '../../flags/flag.ts';
import { budgetFlags, onceFlags, promptFlags, refuseOnce, saveFlags } from '../../flags/job-flags.ts';
import { applySets } from '../../flags/json-body.ts';
import { baseBody, readPrompt, refuseSharedStdin } from '../../flags/prompt.ts';
import { ANY_MEDIUM, saidIn, type WithStored, withoutYielding } from '../../flags/yielding.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { imageFamily } from '../../gateway/image/job.ts';
import { imageModels } from '../../gateway/image/models.ts';
import { withOddModel } from '../../gateway/json-value.ts';
import { wantsColor } from '../../io/style.ts';
import type { JobRequest } from '../../jobs/create/job-request.ts';
import type { KeptReference } from '../../ledger/event.ts';
import { parseReference, type ReferenceScheme } from '../../media/reference.ts';
import type { MediaInput } from '../../media/resolve.ts';
import { checkModel } from '../../models/check-model.ts';
import { placeholderList } from '../../placeholders.ts';
import { findOutputs, noteOutputsInCurl } from '../../shots/outputs.ts';
import { keptRequest } from '../before-create.ts';
import { showInstead } from '../show-instead.ts';
import { fileLines, type JobResult, resultIn } from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { noteOfName } from '../video/task-ids.ts';
import { requestInput } from './request-input.ts';
import { askedOf, planOutput, sendImages, settingsIn } from './send-images.ts';

// `gw image create`, `edit` and `native` share this code; their differences arrive as data and pure functions.

type Body = Record<string, unknown>;

interface ImageBodyInput {
  /** The body of --body with the typed fields laid over it. */
  readonly base: Readonly<Body>;
  readonly prompt: string | undefined;
  readonly model: string;
  /** The value sent for each reference: an address, or a file as Base64; `kind` is its flag's kind. */
  readonly media: readonly { readonly kind: string; readonly url: string }[];
}

interface ImageCommand {
  /** The words of the command: `image edit`. */
  readonly command: string;
  readonly endpoint: Endpoint;
  readonly fields: BodyFlags;
  /** The flags that are no field of the body, such as `--multipart`. */
  readonly flags: FlagSet;
  /** True if images without a prompt are a valid request. */
  readonly promptIsOptional: boolean;
  /** True if local files can be sent as a form. */
  readonly takesForm: boolean;
  /** Forms of reference besides a file, URL or data URI. */
  readonly schemes: readonly ReferenceScheme[];
  place(input: ImageBodyInput): Body;
  /** Adds what the documented rules imply. */
  fill?(body: Body): Body;
  /** The parameters of the endpoint's path, if it contains the model. */
  params?(model: string): Readonly<Record<string, string>>;
  readonly examples: readonly string[];
  readonly notes: readonly string[];
}

/** Flags of every image command for saving and showing images. */
const outputFlags = {
  out: {
    ...saveFlags.out,
    summary:
      `file, directory (ends in /) or pattern with ${placeholderList} ` +
      '(default ./{id}.{ext}, with several images ./{id}-{index}.{ext}); - writes the one image to stdout',
  },
  force: saveFlags.force,
  sidecar: saveFlags.sidecar,
  events: saveFlags.events,
  exec: saveFlags.exec,
  preview: on('show the image in the terminal', { from: ['preset'] }),
} as const;

/** Flags for the endpoints that stream. */
export const partialFlags = {
  keepPartials: on('save the partial images too, beside the final one', { from: everywhere }),
} as const;

type SharedValues = FlagValues<
  typeof promptFlags & typeof outputFlags & typeof partialFlags & typeof onceFlags & typeof budgetFlags
> & { readonly model?: string; readonly multipart?: boolean };

/** An image command: argv -> body -> job on disk -> reply -> images on disk. */
export function imageCommand(spec: ImageCommand): AnyCommand {
  return defineCommand<FlagSet, JobResult>({
    args: { name: 'PROMPT', summary: 'the prompt, as words', many: true },
    flags: {
      ...promptFlags,
      ...spec.fields.flags,
      ...spec.flags,
      ...outputFlags,
      ...onceFlags,
      ...budgetFlags,
    },
    examples: spec.examples,
    notes: spec.notes,
    sends: 'body',
    human: fileLines,
    run: ({ args, flags }, ctx) => run(spec, args, flags, ctx),
  });
}

/** Reads, checks and sends. The body is first checked with placeholders, so that errors appear before files are read. */
async function run(
  spec: ImageCommand,
  args: readonly string[],
  given: WithStored,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const { globals, host, io, signal } = ctx;
  const followers = createFollowers(ctx);
  const settings = await ctx.settings();
  refuseSharedStdin(args, { ...globals, ...given });
  const base = await baseBody(ctx);
  const said = saidIn(base, globals.set);
  const typed = withoutYielding(given, asOfFlags(spec, settings), io.note, said, base, globals.set);
  const flags = typed as SharedValues;
  const validate = globals.validate === undefined;
  const flagsOf = (of: Body) => typedFlagAt(spec.fields, of, typed, args, spec.command);
  const withSets = setOver(base, flagsOf, ctx);
  const { model, prompt, named, bodyWith } = await read(spec, args, typed, base, withSets, ctx);
  const references = await findOutputs(named, ctx, flags);
  const planned = bodyWith(references.map(standInFor));
  const images = typeof planned.n === 'number' ? planned.n : 1;
  if (!spec.endpoint.body) throw new Error(`${spec.endpoint.name} has no body`);
  const flagOf = flagsOf(planned);
  if (spec.params && model === '')
    throw usage('--model: is empty', 'gw models list --type image has the models');
  const warn = checkBody(spec.endpoint.body, planned, flagOf, base, ctx);
  refuseOnce(flags);
  const plan = planOutput(flags, images, settings, ctx);
  const isTyped = flags.keepPartials && !typed.stored?.includes('keepPartials');
  if (isTyped && !(Number(planned.partial_images) > 0))
    throw usage('--keep-partials: no partial images are asked for', 'add --partial-images N');

  const inputs = await requestInput({
    planned,
    bodyWith,
    references,
    base,
    sets: globals.set ?? [],
    validate,
    asForm: spec.takesForm ? flags.multipart : false,
    takesForm: spec.takesForm,
    params: spec.params?.(model),
    deps: { cwd: host.cwd, assetsDir: host.assetsDir, signal },
  });
  const { input, shown: toShow, asked: compared, media, breaches } = inputs;
  refuseOrWarn(breaches, validate, io);
  const request = requestOf(
    spec,
    { flagOf, typed, base, model, prompt, references, planned, images, media, settings, plan },
    ctx,
  );
  const asked = { request, body: () => askedOf(compared) };
  if (globals.curl && references.some(({ output }) => output)) noteOutputsInCurl(io);
  const shown = await showInstead(spec.endpoint, globals.dryRun || globals.curl ? toShow : input, ctx, asked);
  if (!shown) await checkModel(request.intent.model ?? model, Object.keys(imageModels), ctx);
  warn();
  noteOfName(flags.out ?? settings.out.value, ctx);
  if (shown) return { value: await (await import('../estimate-cost.ts')).withEstimate(shown, request, ctx) };
  const canBeSent = references.every(({ output }) => output === undefined || output.file !== undefined);
  const checked = { request, input, asked: compared, canBeSent, keepPartials: flags.keepPartials ?? false };
  const result = await sendImages({ ...checked, toStdout: plan.toStdout }, { ...ctx, followers });
  if (flags.preview) await showPreviews(resultIn(result)?.files ?? [], ctx);
  return result;
}

interface Read {
  readonly flagOf: FlagOfPath;
  readonly typed: FlagValues<FlagSet>;
  readonly base: Readonly<Body>;
  readonly model: string;
  readonly prompt: string | undefined;
  readonly references: readonly MediaInput[];
  readonly planned: Readonly<Body>;
  readonly images: number;
  readonly media: readonly KeptReference[];
  readonly settings: Settings;
  readonly plan: ReturnType<typeof planOutput>;
}

function requestOf(spec: ImageCommand, read: Read, ctx: Context): JobRequest {
  const { flagOf, typed, base, model, prompt, references, planned, images, media, settings, plan } = read;
  const isOff = readSwitch(ctx.host.env, 'GW_LEDGER_PROMPTS') === false;
  return Object.freeze<JobRequest>({
    family: imageFamily,
    endpoint: spec.endpoint,
    body: planned,
    how: typed as SharedValues,
    outputsExpected: images,
    flagOf,
    intent: {
      event: 'intent',
      family: 'image',
      endpoint: spec.endpoint.name,
      model: typeof planned.model === 'string' ? planned.model : model,
      // A file name made from the prompt would reveal it too.
      prompt: isOff ? undefined : typeof planned.prompt === 'string' ? planned.prompt : prompt,
      settings: settingsIn(planned),
      media: media.map(({ name }) => name),
      references: media,
      request: keptRequest(
        {
          command: spec.command,
          takes: { ...spec.fields.flags, ...spec.flags },
          typed,
          model,
          base,
          prompted: prompt !== undefined,
          media: references.map((input, at) => ({ ...input, sha256: media[at]?.sha256 })),
        },
        ctx,
      ),
      profile: settings.profile.value,
      gateway: gatewayName(settings),
      save: plan.save,
    },
  });
}

/** Reads flags, --body, --set and the prompt; returns a function that makes the body from the reference addresses. */
async function read(
  spec: ImageCommand,
  args: readonly string[],
  typed: FlagValues<FlagSet>,
  base: Body,
  withSets: (made: Body) => Body,
  ctx: Context,
) {
  const { body: bodyFile, apiKeyFile, set = [] } = ctx.globals;
  const kinds = referencesOf(spec.fields.items, typed);
  // The document states no format and no size for input images, so a file must only be an image.
  const takes = { url: true, base64: true, schemes: spec.schemes };
  const named = kinds.map(({ raw, flag }): MediaInput => ({ raw, flag, modality: 'image', takes }));
  const isBegun = bodyFile !== undefined || set.length > 0;
  const prompt = await readPrompt(
    {
      ...(typed as SharedValues),
      words: args,
      media: kinds,
      optional: isBegun || (spec.promptIsOptional && named.length > 0),
      mayReadStdin: bodyFile === undefined && apiKeyFile !== '-',
    },
    ctx,
  );
  return { prompt, named, ...bodyMaker(spec, typed, prompt, await ctx.settings(), base, withSets) };
}

/** The requested model, and a function that makes the body from the address of each reference. */
function bodyMaker(
  { fields, fill, place }: ImageCommand,
  typed: FlagValues<FlagSet>,
  prompt: string | undefined,
  { models }: Settings,
  base: Body,
  withSets: (made: Body) => Body,
) {
  const { model = typeof base.model === 'string' ? base.model : models.image.value } = typed as SharedValues;
  const kinds = referencesOf(fields.items, typed);
  const bodyWith = (urls: readonly string[]): Body => {
    const media = kinds.map(({ kind, raw }, index) => ({ kind, url: urls[index] ?? raw }));
    const laid = fields.lay(base, { ...typed, model: undefined });
    const placed = withOddModel(place({ base: laid, prompt, model, media }), base.model, typed);
    const whole = withSets(placed);
    return fill?.(whole) ?? whole;
  };
  return { model, bodyWith };
}

/** Builds the body that flags make between --body and --set, with a placeholder for each image. */
const asOfFlags =
  (spec: ImageCommand, settings: Settings) =>
  (typed: FlagValues<FlagSet>, base: Body, sets: readonly string[]) => {
    const urls = referencesOf(spec.fields.items, typed).map(() => ANY_MEDIUM);
    const { bodyWith } = bodyMaker(spec, typed, 'any', settings, base, (made) => applySets(made, sets));
    return { schema: spec.endpoint.body, fields: spec.fields, body: bodyWith(urls) };
  };

/** A placeholder for an image that has not been read: the smallest data URL that a schema accepts. */
const STAND_IN = 'data:image/png;base64,AAAA';

/**
 * The value for checking a body before any file is read: the address itself, or a placeholder for Base64. Throws `usage`
 * for a malformed reference.
 */
function standInFor({ raw, flag, takes, output }: MediaInput): string {
  if (output) return STAND_IN;
  const reference = parseReference(raw, flag);
  if (reference.kind === 'url') return reference.url;
  const isHeld = reference.kind === 'file_id' && takes.schemes.includes('file_id');
  return isHeld ? `file_id:${reference.id}` : STAND_IN;
}

/**
 * Draws saved images on the terminal; nothing with -q. An image that cannot be drawn is only a warning, because it is
 * saved.
 */
async function showPreviews(
  files: readonly { readonly path: string }[],
  { host, globals, io, signal }: Context,
): Promise<void> {
  if (io.mode.quiet || files.length === 0) return;
  const { showPreview } = await import('../../preview/show-preview.ts');
  const hasColor = wantsColor(io.stderrIsTerminal, host.env, globals.color === false);
  for (const file of files) {
    const problem = await showPreview(file.path, { host, hasColor, signal });
    if (problem !== undefined) io.warn(`no preview of ${file.path}: ${problem}`);
  }
}
