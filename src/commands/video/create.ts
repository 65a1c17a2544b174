import { basename } from 'node:path';
import { type AnyCommand, defineCommand, type Outcome, ShownRequest } from '../../command.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Settings } from '../../config/settings.ts';
import {
  type Access,
  type Context,
  commandFor,
  gatewayName,
  originOfGateway,
  tellIfInterrupted,
} from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { type BodyFlags, referencesOf, typedFlagAt } from '../../flags/body-flags.ts';
import {
  type FieldVerdict,
  type FlagOfPath,
  lookAtBody,
  refuseLook,
  refuseOrWarn,
} from '../../flags/breaches.ts';
import { type FlagSet, type FlagValues, on } from '../../flags/flag.ts';
import {
  budgetFlags,
  countFlags,
  onceFlags,
  pollFlags,
  promptFlags,
  queues,
  refuseOnce,
  saveFlags,
  sidecarBy,
  waitFlags,
} from '../../flags/job-flags.ts';
import { applySets, baseBody } from '../../flags/json-body.ts';
import { readPrompt, refuseSharedStdin } from '../../flags/prompt.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Modality } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { once } from '../../host.ts';
import type { AcceptedJob, CreateInput } from '../../jobs/create/create.ts';
import { type IdentifiedBody, identifyBody } from '../../jobs/create/external-id.ts';
import type { OncePlace } from '../../jobs/create/once.ts';
import { checkTarget } from '../../jobs/save/check-target.ts';
import { planTarget, withIndex } from '../../jobs/save/output-path.ts';
import type { KeptRequest } from '../../ledger/event.ts';
import { onceJobKey } from '../../ledger/job-key.ts';
import { withoutSecrets } from '../../ledger/serialize.ts';
import type { MediaInput, resolveMedia } from '../../media/resolve.ts';
import { keptRequest, refuseOverBudget, warnOfAlike, withEstimate, withinBudget } from '../before-create.ts';
import { showInstead } from '../show-instead.ts';
import { followFromFlags, type JobResult, jobLines, outcomeOf, waitDeadlineMs } from './follow-job.ts';
import { calmOf, createFollowers } from './followers.ts';
import type { SendPlace } from './send-many.ts';
import { refuseSharedName } from './task-ids.ts';
import type { Upload } from './upload.ts';

// `gw video FAMILY create`, told once and from top to bottom: read, check, send, follow. What the families differ in arrives
// as data and pure functions.

type Body = Record<string, unknown>;

/** An item of the body that a flag has made. */
export interface PlacedItem {
  readonly kind: string;
  readonly modality: Modality | undefined;
  /** What the prompt calls it by, where it was given (`fox=fox.png`). */
  readonly id: string | undefined;
  /** What is sent: an address, a file as Base64, an element's ID. */
  readonly url: string;
}

export interface BodyInput<F extends FlagSet> {
  /** The body of --body with the typed fields laid over it. */
  readonly base: Body;
  readonly flags: FlagValues<F>;
  readonly prompt: string | undefined;
  readonly items: readonly PlacedItem[];
}

/** What a family's create is made of. */
export interface VideoCreate<F extends FlagSet> {
  readonly family: TaskFamily;
  /** What tells it from the other families, in a sentence. */
  readonly about: string;
  /** The flags of the body's fields. */
  readonly fields: BodyFlags;
  /** The flags that are no field of the body: `--mode`. */
  readonly flags: F;
  endpointOf(flags: FlagValues<F>): Endpoint;
  /** The model's ID; `typed` and `base` are the flag and the field of --body where given. */
  modelOf(
    words: { readonly typed?: string; readonly base?: string },
    flags: FlagValues<F>,
    settings: Settings,
  ): string;
  /** The models of its table; absent where it has no model IDs. */
  readonly knownModels?: readonly string[];
  /** What a reference of a kind may be, and the limits of its file. */
  media(modality: Modality, model: string): Pick<MediaInput, 'takes' | 'limits'>;
  /** Longest sum over all files of a kind that has a length, in seconds. */
  totalReferenceS?(model: string): number | undefined;
  /** Refuses flags that do not go with each other before anything is read. Throws `usage`. */
  refuse?(flags: FlagValues<F>, typed: Body): void;
  /** Whether a prompt is needed beside these flags, may be left out, or is given by one of them; needed when absent. */
  promptNeed?(flags: FlagValues<F>, typed: Body): 'required' | 'optional' | 'given';
  /** Puts prompt and items into the body. */
  place(input: BodyInput<F>): Body;
  /** Adds what the documented rules imply. */
  fill?(body: Body, flags: FlagValues<F>): Body;
  /** Asks the gateway what must hold before anything is paid; passed over with --no-validate. Throws GwError. */
  checkFirst?(body: Body, flagOf: FlagOfPath, ctx: Context): Promise<void>;
  /** What is odd about the reply to a create that was accepted. */
  replyWarning?(reply: unknown): string | undefined;
  readonly examples: readonly string[];
  readonly notes: readonly string[];
}

/** What the models of a family make: `4-15 s at up to 4k (2.0)`. */
export const madeBy = (
  rows: readonly {
    readonly name: string;
    readonly durationS: { readonly min: number; readonly max: number };
    readonly resolutions: readonly string[];
  }[],
): string =>
  rows
    .map(
      ({ name, durationS: { min, max }, resolutions }) =>
        `${min}-${max} s at up to ${resolutions.at(-1)} (${name})`,
    )
    .join(', or of ');

const uploadFlags = {
  yes: { ...on('upload a local file without asking (upload_command)'), hidden: true },
} as const;

const sharedFlags = {
  ...uploadFlags,
  ...waitFlags,
  ...pollFlags,
  ...saveFlags,
  ...onceFlags,
  ...countFlags,
  ...budgetFlags,
};
type SharedValues = FlagValues<typeof promptFlags & typeof sharedFlags>;

/** The create command of a family: argv -> body -> job on disk -> reply, and with --wait the outputs on disk. */
export function videoCreate<F extends FlagSet>(spec: VideoCreate<F>): AnyCommand {
  return defineCommand<FlagSet, JobResult>({
    about: spec.about,
    args: { name: 'PROMPT', summary: 'the prompt, as words', many: true },
    flags: { ...promptFlags, ...spec.fields.flags, ...spec.flags, ...sharedFlags },
    examples: spec.examples,
    notes: spec.notes,
    sends: 'body',
    human: jobLines,
    run({ args, flags }, ctx) {
      const { count } = flags as SharedValues;
      const ready = makeReady(spec, args, flags, ctx);
      return count === undefined ? createOne(ready, ctx) : createMany(ready, count, ctx);
    },
  });
}

/** `--callback-url auto` is the URL of this user's running `gw listen`. Throws `usage` where none runs. */
async function withListener(typed: FlagValues<FlagSet>, { host }: Context): Promise<FlagValues<FlagSet>> {
  if (typed.callbackUrl !== 'auto') return typed;
  const { runningUrl } = await import('../../listen/running.ts');
  const callbackUrl = runningUrl(trustedStateDir(host));
  if (callbackUrl !== undefined) return { ...typed, callbackUrl };
  throw usage(
    '--callback-url auto: no gw listen of this user is running',
    'start one in another terminal: gw listen',
  );
}

/** Reads and checks what was typed. With --dry-run or --curl the request is given back, and nothing more is done. */
async function makeReady<F extends FlagSet>(
  spec: VideoCreate<F>,
  args: readonly string[],
  words: FlagValues<FlagSet>,
  ctx: Context,
): Promise<ReadyCreate | ShownRequest> {
  const flags = await withListener(words, ctx);
  const draft = await read(spec, args, flags, ctx);
  const flagOf = typedFlagAt(spec.fields, draft.body, flags, args);
  await check(spec, draft, flagOf, ctx);
  const typed = flags as SharedValues;
  refuseOnce(typed, spec.family.externalIds?.idOf(draft.body));
  const { count } = typed;
  if (typed.force) refuseSharedName(count ?? 1, typed.out, ctx.host.cwd);
  const { files, command } = draft.uploads;
  const first = numbered(typed, count && 1);
  const validate = ctx.globals.validate === undefined;
  const shown = await showInstead(draft.endpoint, { body: identify(spec, draft, first).body }, ctx);
  if (shown !== undefined) {
    for (const { named } of files)
      ctx.io.note(`${named}: upload_command gives it an address first; a stand-in is shown`);
    if (count !== undefined && count > 1) ctx.io.note(`--count ${count}: ${count} requests like this one`);
    if (validate && ctx.online) await spec.checkFirst?.(draft.body, flagOf, { ...ctx, gateway: ctx.online });
    return withEstimate(shown, askedOf(spec, draft), count ?? 1, typed, ctx);
  }
  const upload = files.length === 0 ? undefined : await import('./upload.ts');
  return {
    ...{ spec, draft, flags: typed, flagOf },
    anyCallback: words.callbackUrl === 'auto',
    checkFirst: once(async () => (validate ? spec.checkFirst?.(draft.body, flagOf, ctx) : undefined)),
    uploaded: upload?.uploader(files, { command, yes: typed.yes === true }, ctx) ?? (async (body) => body),
  };
}

// Read: flags, --body and --set, prompt and media -> the body.

type Media = Awaited<ReturnType<typeof resolveMedia>>;

/** A body as it was asked for, not yet checked. */
interface Draft {
  readonly endpoint: Endpoint;
  readonly body: Body;
  /** What the flags say the model is; the body's own word goes before it. */
  readonly model: string;
  readonly schema: NonNullable<Endpoint['body']>;
  readonly media: Media;
  readonly settings: Settings;
  /** Where the output goes: looked at here, for a dry run too. */
  readonly target: string;
  /** The files that `upload_command` gives an address; stand-ins are in the body. */
  readonly uploads: { readonly files: readonly Upload[]; readonly command: string };
  /** What `gw again` makes it from. */
  readonly request: KeptRequest;
}

async function read<F extends FlagSet>(
  spec: VideoCreate<F>,
  args: readonly string[],
  typed: FlagValues<FlagSet>,
  ctx: Context,
): Promise<Draft> {
  const { host, globals, signal } = ctx;
  const flags = typed as unknown as FlagValues<F>;
  const { prompt: promptFlag } = typed as SharedValues;
  const settings = await ctx.settings();
  refuseSharedStdin({
    '--api-key-file': globals.apiKeyFile,
    '--body': globals.body,
    '--prompt': promptFlag,
  });
  const base = await baseBody(ctx);
  spec.refuse?.(flags, typed);
  const endpoint = spec.endpointOf(flags);
  if (!endpoint.body) throw new Error(`${endpoint.name} has no body`);
  const words = {
    ...(isText(typed.model) && { typed: typed.model }),
    ...(isText(base.model) && { base: base.model }),
  };
  const model = spec.modelOf(words, flags, settings);
  const references = referencesOf(spec.fields.items, typed);
  const need = spec.promptNeed?.(flags, typed) ?? 'required';
  const isBegun = globals.body !== undefined || globals.set !== undefined;
  const prompt = await readPrompt(
    {
      words: args,
      flag: promptFlag,
      optional: need !== 'required' || references.some(({ modality }) => modality) || isBegun,
      mayReadStdin: need !== 'given' && globals.body === undefined && globals.apiKeyFile !== '-',
    },
    ctx,
  );
  const inputs = references.flatMap(({ modality, raw, flag }) =>
    modality ? [{ raw, flag, modality, ...spec.media(modality, model) }] : [],
  );
  const { maxBodyBytes } = endpoint;
  const totalS = spec.totalReferenceS?.(model);
  const validate = globals.validate === undefined;
  const deps = { cwd: host.cwd, assetsDir: host.assetsDir, signal };
  const uploadCommand = settings.uploadCommand.value;
  const plan =
    uploadCommand === undefined
      ? undefined
      : await (await import('./upload.ts')).planUploads(inputs, totalS, deps);
  const resolvedMedia: Media =
    inputs.length === 0
      ? { items: [], breaches: [] }
      : await (await import('../../media/resolve.ts')).resolveMedia(
          plan?.inputs ?? inputs,
          { maxBodyBytes, totalS, validate },
          deps,
        );
  const media = {
    breaches: [...resolvedMedia.breaches, ...(plan?.breaches ?? [])],
    items: resolvedMedia.items.map((item, at) => {
      const upload = plan?.uploads.get(at);
      return upload ? { ...item, describe: basename(upload.file), sha256: upload.sha256 } : item;
    }),
  };
  const resolved = media.items.values();
  const items = references.map(({ kind, modality, id, raw }) => {
    const url = modality === undefined ? raw : (resolved.next().value?.url ?? raw);
    return { kind, modality, id, url };
  });
  const laid = spec.fields.lay(base, spec.knownModels ? { ...typed, model: undefined } : typed);
  // A model of --body that is no text is left for the schema to refuse.
  const hasModel =
    spec.knownModels && (words.typed !== undefined || base.model === undefined || isText(base.model));
  const placed = spec.place({ base: hasModel ? { ...laid, model } : laid, flags, prompt, items });
  const whole = applySets(placed, globals.set ?? []);
  return {
    endpoint,
    schema: endpoint.body,
    body: spec.fill?.(whole, flags) ?? whole,
    model,
    media,
    settings,
    target: planTarget((typed as SharedValues).out ?? settings.out.value, host.cwd),
    uploads: { files: [...(plan?.uploads.values() ?? [])], command: uploadCommand ?? '' },
    request: keptRequest(
      {
        ...{ command: `video ${spec.family.name}`, takes: { ...spec.fields.flags, ...spec.flags }, typed },
        ...{ model, base, prompted: prompt !== undefined },
        media: inputs.map(({ raw, flag }, at) => ({ raw, flag, sha256: media.items[at]?.sha256 })),
      },
      ctx,
    ),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';

/**
 * `content` of families A and C with the prompt and the media laid over that of --body: a prompt replaces the text items,
 * media of a role replace the items of that role. A content that is no list is left as it is: the schema says what is wrong
 * with it.
 */
export function placeContent({
  base,
  prompt,
  items,
}: Pick<BodyInput<FlagSet>, 'base' | 'prompt' | 'items'>): Body {
  const { content } = base;
  if (content !== undefined && !Array.isArray(content) && prompt === undefined && items.length === 0)
    return base;
  const replaced = new Set<unknown>(items.map(({ kind }) => kind));
  const kept = (Array.isArray(content) ? content : []).filter(
    (item: { type?: unknown; role?: unknown } | null) =>
      item?.type === 'text' ? prompt === undefined : !replaced.has(item?.role),
  );
  const media = items.map(({ kind, modality, url }) => ({
    type: `${modality}_url`,
    [`${modality}_url`]: { url },
    role: kind,
  }));
  return {
    ...base,
    content: [...(prompt === undefined ? [] : [{ type: 'text', text: prompt }]), ...kept, ...media],
  };
}

// Check: what breaks a documented rule is refused, or with --no-validate a warning; what is odd is a warning.

async function check<F extends FlagSet>(
  { knownModels }: VideoCreate<F>,
  { schema, body, media }: Draft,
  flagOf: FlagOfPath,
  ctx: Context,
): Promise<void> {
  const validate = ctx.globals.validate === undefined;
  refuseOrWarn(media.breaches, validate, ctx.io);
  const lookWith = (verdict?: FieldVerdict) => lookAtBody(schema, body, flagOf, verdict);
  const look = await lookUnlessListed(lookWith, body.model, knownModels, ctx);
  refuseLook(look, validate, ctx.io);
}

type Look = ReturnType<typeof lookAtBody>;

/**
 * What a body breaks, where gw's table of its family may be older than the gateway ("Management": clients validate model
 * IDs against this list): a model that the table lacks and the gateway lists passes with a warning. The list is looked at
 * only where nothing else is wrong, not for a model of another table, and not with --no-validate.
 */
async function lookUnlessListed(
  lookWith: (verdict?: FieldVerdict) => Look,
  model: unknown,
  known: readonly string[] | undefined,
  ctx: Context,
): Promise<Look> {
  // Nothing, or dots alone, is no name.
  const isUnknown = known !== undefined && isText(model) && !known.includes(model) && !/^\.*$/.test(model);
  if (!isUnknown || ctx.globals.validate !== undefined) return lookWith();
  if (lookWith({ exempt: ['model'] }).breaches.length > 0) return lookWith();
  const { modelSheets } = await import('../../gateway/model-facts/sheets.ts');
  const sheets = await modelSheets();
  if (sheets.some(({ id, aliases }) => id === model || aliases.includes(model))) return lookWith();
  const { lookUpModel } = await import('../../models/check-model.ts');
  const { isListed, ids } = await lookUpModel(model, ctx);
  if (!isListed) return lookWith({ suggestions: ids });
  ctx.io.warn(`gw's tables do not know ${model}, which the gateway lists: its limits are not checked`);
  return { breaches: [], oddities: [] };
}

// Send and follow: job on disk -> reply, and with --wait the outputs on disk.

/** A create that has passed all checks. */
interface ReadyCreate {
  readonly spec: Pick<VideoCreate<FlagSet>, 'family' | 'replyWarning'>;
  readonly draft: Draft;
  readonly flags: SharedValues;
  readonly flagOf: FlagOfPath;
  /** `--callback-url auto` */
  readonly anyCallback: boolean;
  checkFirst(): Promise<void>;
  /** The body with the addresses of what was uploaded. */
  uploaded(body: Readonly<Body>): Promise<Readonly<Body>>;
}

/** The body as it is sent first under these flags. */
function identify(
  { family }: Pick<VideoCreate<FlagSet>, 'family'>,
  { body, settings }: Draft,
  { once }: SharedValues,
): IdentifiedBody {
  if (once === undefined) return identifyBody(family, body);
  return identifyBody(family, body, onceJobKey(originOfGateway(gatewayName(settings)), once));
}

/** The flags of one job of several, each under a key of its own. */
const numbered = (flags: SharedValues, index: number | undefined): SharedValues =>
  flags.once === undefined || index === undefined ? flags : { ...flags, once: `${flags.once}/${index}` };

async function createOne(
  making: Promise<ReadyCreate | ShownRequest>,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const ready = await making;
  if (ready instanceof ShownRequest) return { value: ready };
  return send(ready, { followers: createFollowers(ctx), turn: (make) => make() }, ctx);
}

/** `--count N` */
async function* createMany(
  making: Promise<ReadyCreate | ShownRequest>,
  count: number,
  ctx: Context,
): AsyncGenerator<Outcome<JobResult>> {
  const ready = await making;
  if (ready instanceof ShownRequest) return yield { value: ready };
  const { spec, draft, flags } = ready;
  // Under a key some may have been made before: each is counted when its turn comes.
  if (flags.once === undefined) await refuseOverBudget(askedOf(spec, draft), count, flags, ctx);
  const { sendMany } = await import('./send-many.ts');
  yield* sendMany(count, flags.wait ?? false, (one) => send(ready, one, ctx), ctx);
}

/** A create on its way. */
interface Sending {
  readonly ready: ReadyCreate;
  /** Those of this one job. */
  readonly flags: SharedValues;
  readonly access: Access;
  readonly intent: CreateInput['intent'];
  readonly deadlineMs: number;
  readonly place: SendPlace;
}

/** Throws what `createJob` throws, but for a lost outcome, which is printed under gw's own ID. */
async function send(ready: ReadyCreate, place: SendPlace, ctx: Context): Promise<Outcome<JobResult>> {
  const { spec, draft } = ready;
  const { family } = spec;
  const flags = numbered(ready.flags, place.index);
  const save = {
    target: withIndex(draft.target, place.index),
    force: flags.force ?? false,
    download: flags.download === undefined,
    sidecar: sidecarBy(flags, draft.settings, ctx.host.version),
  };
  const access = await ctx.gateway();
  const made = intentOf(ready, access, save);
  const intent = withoutSecrets(made, (text) => ctx.io.withoutSecrets(text));
  const once = flags.once === undefined ? undefined : { key: flags.once };
  checkTarget(save, { ...intent, once, now: ctx.clock.now(), outputsExpected: 1 });
  const sending = { ready, flags, access, intent, deadlineMs: waitDeadlineMs(flags, ctx), place };
  const job = await place.turn(async () => {
    if (flags.once !== undefined) {
      const { makeUnderKey } = await import('../once.ts');
      const { anyCallback, flagOf } = ready;
      const asked = { flags, family, intent, body: draft.body, anyCallback, flagOf };
      const got = await makeUnderKey(asked, access, (under) => make(sending, ctx, under), ctx);
      return 'found' in got ? got : got.made;
    }
    return make(sending, ctx);
  });
  if ('found' in job) return (await import('../once.ts')).goOnWith(job.found, flags, ctx);
  if (!('error' in job)) return follow(job, sending, ctx);
  // A job that may exist without an ID is printed under gw's own.
  const { error, key } = job;
  const value = {
    family: family.name,
    id: error.facts.taskId ?? key,
    status: 'unknown',
    record: null,
    files: [],
  };
  return { value, error };
}

/** Creates the job; one whose outcome is not known is given back under gw's own key, every other failure is thrown. */
async function make(
  { ready, flags, access, intent, deadlineMs, place: { followers, index = 1 } }: Sending,
  ctx: Context,
  under?: OncePlace,
): Promise<AcceptedJob | { readonly key: string; readonly error: GwError }> {
  const { draft } = ready;
  const { family } = ready.spec;
  await ready.checkFirst();
  const ledger = await ctx.ledger();
  const body = await ready.uploaded(draft.body);
  const identified = identifyBody(family, body, under?.key, under?.externalId);
  const { createJob, digestsOf } = await import('../../jobs/create/create.ts');
  const budget = await withinBudget(askedOf(ready.spec, draft), flags, ctx);
  const digests = digestsOf(family, draft.body);
  let isUnderWay = false;
  const stopTelling = tellIfInterrupted(ctx, () => isUnderWay);
  let stopWaiting = () => {};
  try {
    return await createJob({
      ...identified,
      family,
      endpoint: draft.endpoint,
      intent: { ...intent, ...(under && { once: under.once }) },
      calm: calmOf(followers, ctx),
      within: budget,
      // The jobs of one --count are alike by intention.
      onBegun: under?.confirm ?? (index === 1 ? () => warnOfAlike(intent, digests, ctx) : undefined),
      client: access.client,
      ledger,
      clock: ctx.clock,
      signal: ctx.signal,
      note: (text) => {
        ctx.io.note(text);
        stopWaiting();
        stopWaiting = ctx.io.awaiting('looking for the job');
      },
      onExchange: (isNow) => {
        isUnderWay = isNow;
      },
      ...(queues(flags) && {
        queue: {
          deadlineMs,
          random: ctx.host.random,
          onQueued: (text) => ctx.io.note(text),
          pool: await followers.poolOf(intent),
          looker: await followers.looker(family),
        },
      }),
    });
  } catch (error) {
    if (error instanceof GwError && error.kind === 'unknown_outcome') return { key: identified.key, error };
    throw error;
  } finally {
    stopWaiting();
    stopTelling();
  }
}

/** What is printed of an accepted job: its ID at once, or with --wait what came of it. */
async function follow(
  job: AcceptedJob,
  { ready: { spec }, flags, intent: { save }, deadlineMs, place }: Sending,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const { family } = spec;
  const { id, key, unrecorded } = job;
  const odd = job.isOwnReply ? spec.replyWarning?.(job.reply) : undefined;
  if (odd !== undefined) ctx.io.warn(odd);
  const { reply: record, status = '' } = job;
  const accepted: JobResult = { family: family.name, id, status, record, files: [] };
  if (unrecorded !== undefined) {
    const why = unrecorded instanceof Error ? unrecorded.message : String(unrecorded);
    ctx.io.warn(`task ${id} is not in the ledger: note its ID; ${why}`, 'urgent');
  }
  const failure = unrecorded !== undefined && { error: unrecorded };
  if (flags.wait) {
    ctx.io.note(`task ${id}`);
    const { followers, isOneOfMany } = place;
    const request = { id, key, family, flags, save, deadlineMs, accepted, isOneOfMany };
    return { ...failure, ...(await followFromFlags(request, followers, ctx)) };
  }
  if (ctx.signal.aborted) {
    const followed = { ...accepted, files: [], error: ctx.signal.reason };
    return outcomeOf(followed, { family: family.name, id, accepted }, ctx);
  }
  if (ctx.io.stderrIsTerminal) {
    const next = commandFor(`gw video ${family.name} wait ${id}`, ctx);
    ctx.io.note(`wait for it and save it with: ${next}`);
  }
  return { value: accepted, ...failure };
}

/** What the ledger keeps of a create before it is sent. */
function intentOf(
  { spec, draft: { endpoint, model, body, media, settings, request }, anyCallback }: ReadyCreate,
  { name: gateway, keyId }: Access,
  save: CreateInput['intent']['save'],
): CreateInput['intent'] {
  const { content, contents, prompt } = body;
  return {
    event: 'intent',
    ...{ ...askedOf(spec, { endpoint, model, body }), family: spec.family.name },
    prompt: promptIn(content ?? contents ?? prompt),
    media: media.items.map((item) => item.describe),
    references: media.items.map(({ describe, sha256 }) => ({ name: describe, sha256 })),
    request: anyCallback ? { ...request, flags: { ...request.flags, callbackUrl: 'auto' } } : request,
    profile: settings.profile.value,
    keyId,
    gateway,
    save,
  };
}

/** What of a request decides its cost. */
function askedOf(
  { family }: { readonly family: TaskFamily },
  { endpoint, model, body }: Pick<Draft, 'endpoint' | 'model' | 'body'>,
) {
  const { content: _content, contents: _contents, prompt: _prompt, ...rest } = body;
  return {
    endpoint: endpoint.name,
    family,
    model: isText(body.model) ? body.model : model,
    settings: { ...scalarsOf(rest), ...scalarsOf(rest.settings) },
  };
}

/** The plain values of an object; none where it is no object. */
const scalarsOf = (value: unknown): Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each !== 'object'))
    : {};

/** The words of a request: a prompt field, or the text items of its content. */
function promptIn(source: unknown): string | undefined {
  if (isText(source)) return source;
  if (!Array.isArray(source)) return undefined;
  const texts = source.map((item: { text?: unknown } | null) => item?.text).filter(isText);
  return texts.length > 0 ? texts.join('\n') : undefined;
}
