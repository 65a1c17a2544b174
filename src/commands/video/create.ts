import { type AnyCommand, defineCommand, type Outcome, ShownRequest } from '../../command.ts';
import type { Settings } from '../../config/settings.ts';
import { type Access, type Context, commandFor, gatewayName, tellIfInterrupted } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { type BodyFlags, referencesOf } from '../../flags/body-flags.ts';
import {
  type FieldVerdict,
  type FlagOfPath,
  givenIn,
  lookAtBody,
  refuseLook,
  refuseOrWarn,
  setOver,
  typedFlagAt,
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
  waitFlags,
} from '../../flags/job-flags.ts';
import { applySets, parseSet } from '../../flags/json-body.ts';
import { baseBody, readPrompt, refuseSharedStdin } from '../../flags/prompt.ts';
import { ANY_MEDIUM, saidIn, toldAs, type WithStored, withoutYielding } from '../../flags/yielding.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { fieldsOf, itemsOf, withOddModel } from '../../gateway/json-value.ts';
import type { Modality } from '../../gateway/limits.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { taskState } from '../../gateway/task-state.ts';
import { BEAT_MS, once } from '../../host.ts';
import { digestsOf, identifyBody, type JobRequest } from '../../jobs/create/job-request.ts';
import type { Made } from '../../jobs/create/make.ts';
import type { OncePlace } from '../../jobs/create/once.ts';
import { withIndex } from '../../jobs/save/output-path.ts';
import { createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import { onceJobKey, originOfGateway } from '../../ledger/job-key.ts';
import { firstOfTask } from '../../ledger/named-jobs.ts';
import { withoutSecrets } from '../../ledger/serialize.ts';
import type { MediaInput } from '../../media/resolve.ts';
import { askedOf, findOutputs, noteOutputsInCurl, shownOf } from '../../shots/outputs.ts';
import { checkPlace, keptRequest, refuseOverBudget, warnOfAlike, withinBudget } from '../before-create.ts';
import { showInstead } from '../show-instead.ts';
import { calmOf, createFollowers } from './followers.ts';
import { type JobResult, jobLines, newSavePlan, waitDeadlineMs } from './job-result.ts';
import type { Media } from './read-media.ts';
import type { SendPlace } from './send-many.ts';
import { noteOfName, refuseIdleExec, refuseSharedName } from './task-ids.ts';

// `gw video FAMILY create` from top to bottom: read, check, send, follow. The differences between the families arrive
// as data and pure functions.

type Body = Record<string, unknown>;

/** An item of the body that a flag has made. */
interface PlacedItem {
  readonly kind: string;
  readonly modality: Modality | undefined;
  /** The name by which the prompt refers to the item, if given (`fox=fox.png`). */
  readonly id: string | undefined;
  /** The value that is sent: an address, a file as Base64, or an element's ID. */
  readonly url: string;
}

export interface BodyInput<F extends FlagSet> {
  /** The body of --body with the typed fields laid over it. */
  readonly base: Body;
  readonly flags: FlagValues<F>;
  readonly prompt: string | undefined;
  readonly items: readonly PlacedItem[];
}

interface VideoCreate<F extends FlagSet> {
  readonly family: TaskFamily;
  /** One sentence that sets this family apart from the others. */
  readonly about: string;
  readonly fields: BodyFlags;
  /** The flags that are no field of the body, such as `--mode`. */
  readonly flags: F;
  endpointOf(flags: FlagValues<F>): Endpoint;
  /** The model's ID, from the flag (`typed`) or the field of --body (`base`) if given. */
  modelOf(
    words: { readonly typed?: string; readonly base?: string },
    flags: FlagValues<F>,
    settings: Settings,
  ): string;
  readonly knownModels?: readonly string[];
  /** The forms that a reference of this kind may take, and the limits of its file. */
  media(modality: Modality, model: string): Pick<MediaInput, 'takes' | 'limits'>;
  /** Longest total duration of all video or audio references, in seconds. */
  totalReferenceS?(model: string): number | undefined;
  /** Refuses conflicting flags before anything is read. Throws `usage`. */
  refuse?(flags: FlagValues<F>, typed: Body): void;
  /** Whether a prompt is required, optional, or already given by one of these flags; required if this is absent. */
  promptNeed?(flags: FlagValues<F>, typed: Body): 'required' | 'optional' | 'given';
  /** Puts prompt and items into the body. */
  place(input: BodyInput<F>): Body;
  /** Adds what the documented rules imply. */
  fill?(body: Body, flags: FlagValues<F>): Body;
  /** Runs the checks that need the gateway before anything is paid; skipped with --no-validate. Throws GwError. */
  checkFirst?(body: Body, flagOf: FlagOfPath, ctx: Context, flags: AllValues<F>): Promise<void>;
  /** A warning about an odd reply to an accepted create. */
  replyWarning?(reply: unknown): string | undefined;
  readonly examples: readonly string[];
  readonly notes: readonly string[];
}

/** The durations and resolutions that a family's models make: `4-15 s at up to 4k (2.0)`. */
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

const sharedFlags = {
  yes: { ...on('upload a local file without asking (upload_command)'), hidden: true } as const,
  ...waitFlags,
  ...pollFlags,
  ...saveFlags,
  ...onceFlags,
  ...countFlags,
  ...budgetFlags,
};
type SharedValues = FlagValues<typeof promptFlags & typeof sharedFlags>;
type AllValues<F extends FlagSet> = FlagValues<F> & SharedValues;

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
      // Followers come first because they note the start time: files saved later are not replaced.
      const followers = createFollowers(ctx, (count ?? 1) > 1 ? { turns: createTurns(SAVES_AT_ONCE) } : {});
      const own = { ...ctx, followers };
      const ready = makeReady(spec, args, flags, ctx);
      if (count === undefined) return createOne(ready, own);
      return createMany(ready, toldAs('--count', flags, `video ${spec.family.name}`), own);
    },
  });
}

/** A request that has passed all checks, with the steps that remain before it is sent. */
interface Checked {
  readonly request: JobRequest<TaskFamily>;
  /** Runs the gateway checks, uploads files and returns the body with their addresses; done once for all jobs. */
  finish(): Promise<Body>;
  warnOfReply(reply: unknown): void;
}

/** Reads and checks the command line. With --dry-run or --curl it only returns the request to print. */
async function makeReady<F extends FlagSet>(
  spec: VideoCreate<F>,
  args: readonly string[],
  given: WithStored,
  ctx: Context,
): Promise<Checked | ShownRequest> {
  const settings = await ctx.settings();
  const { globals } = ctx;
  refuseSharedStdin(args, { ...globals, ...given });
  const base = await baseBody(ctx);
  const said = saidIn(base, globals.set);
  const words = withoutYielding(given, asOfFlags(spec, settings), ctx.io.note, said, base, globals.set);
  const flags =
    words.callbackUrl === 'auto'
      ? { ...words, callbackUrl: await (await import('./listener-url.ts')).listenerUrl(ctx) }
      : words;
  const whatWasRead = await read(spec, args, flags, words, base, ctx);
  const { request, media, uploads, isGiven, sent, shown: toShow, canBeSent } = whatWasRead;
  const { body, endpoint, family, how, flagOf } = request;
  const warn = await check(spec, { ...request, body: sent, isGiven }, media.breaches, ctx);
  const ownId = family.externalIds?.idOf(body);
  const ownIdAt = flagOf(['options', 'external_task_id']) ?? 'options.external_task_id';
  refuseOnce(how, ownId && `${ownIdAt} ${ownId}`);
  const { count } = how;
  refuseIdleExec(how, how.wait ?? false);
  if (how.force) refuseSharedName(count ?? 1, how.out, ctx.host.cwd);
  const validate = ctx.globals.validate === undefined;
  const checkFirst = async (asking: Context) =>
    validate ? spec.checkFirst?.(sent, flagOf, asking, flags as AllValues<F>) : undefined;
  const asked = { request, body: async () => body };
  const shown = await showInstead(endpoint, { body: firstBody({ ...request, body: toShow }) }, ctx, asked);
  warn();
  noteOfName(how.out ?? settings.out.value, ctx);
  if (shown !== undefined) {
    if (toShow !== sent && ctx.globals.curl) noteOutputsInCurl(ctx.io);
    for (const { named, link } of uploads)
      if (!link) ctx.io.note(`${named}: upload_command gives it an address first; a stand-in is shown`);
    if (count !== undefined && count > 1) ctx.io.note(`--count ${count}: ${count} requests like this one`);
    if (ctx.online) await checkFirst({ ...ctx, gateway: ctx.online });
    const { withEstimate } = await import('../estimate-cost.ts');
    return withEstimate(shown, request, ctx);
  }
  const upload =
    uploads.length === 0
      ? undefined
      : (await import('./upload.ts')).uploader(uploads, (flags as SharedValues).yes === true, ctx);
  return {
    request,
    finish: once(async () => {
      if (!canBeSent) throw new Error('the output of a job is not found yet, and nothing was sent');
      await checkFirst(ctx);
      return upload ? upload(sent) : sent;
    }),
    warnOfReply(reply) {
      const odd = spec.replyWarning?.(reply);
      if (odd !== undefined) ctx.io.warn(odd);
    },
  };
}

function firstBody({ family, body, how, intent }: JobRequest<TaskFamily>): Body {
  // A key needs random bytes, and loading node:crypto takes 2 ms.
  if (!family.externalIds) return body;
  const { once: name, count } = how;
  const key = name && onceJobKey(originOfGateway(intent.gateway), count === undefined ? name : `${name}/1`);
  return identifyBody(family, body, key).body;
}

// Read: flags, --body and --set, prompt and media -> the request.

/** Chooses the value of a medium in the body; `sent` is the value that goes to the gateway. */
type AddressOf = (input: MediaInput, sent: string) => string;

interface WhatWasRead extends Pick<FieldVerdict, 'isGiven'> {
  readonly request: JobRequest<TaskFamily>;
  readonly media: Media['media'];
  readonly uploads: Media['uploads'];
  /** The body as it is sent; `shown` is the body that --dry-run prints, with names in place of outputs. */
  readonly sent: Body;
  readonly shown: Body;
  /** False if an output is only named: it does not exist yet, or the job made from it exists already. */
  readonly canBeSent: boolean;
}

/** Reads the command line; `words` are the flags as typed, `typed` has the address for `--callback-url auto`. */
async function read<F extends FlagSet>(
  spec: VideoCreate<F>,
  args: readonly string[],
  typed: FlagValues<FlagSet>,
  words: FlagValues<FlagSet>,
  base: Body,
  ctx: Context,
): Promise<WhatWasRead> {
  const { globals, host } = ctx;
  const flags = typed as unknown as FlagValues<F>;
  const how = typed as SharedValues;
  const settings = await ctx.settings();
  spec.refuse?.(flags, typed);
  const endpoint = spec.endpointOf(flags);
  const model = modelOf(spec, typed, base, settings, globals.set);
  const references = referencesOf(spec.fields.items, typed);
  const prompt = await promptOf(spec, args, typed, references, ctx);
  const typedInputs = references.flatMap(({ modality, raw, flag }) =>
    modality ? [{ raw, flag, modality, ...spec.media(modality, model) }] : [],
  );
  const inputs = await findOutputs(typedInputs, ctx, how);
  const totalS = spec.totalReferenceS?.(model);
  const readMedia = inputs.length > 0 && (await import('./read-media.ts')).readMedia;
  const { media, uploads } = readMedia ? await readMedia(inputs, endpoint, totalS, ctx) : noMedia;
  const asked = { base, typed, model, prompt, references, inputs, media };
  const command = `video ${spec.family.name}`;
  const asSent = typed.model === undefined ? typed : { ...typed, model };
  const flagsOf = (of: Body) => typedFlagAt(spec.fields, of, asSent, args, command);
  const bodyWith = bodyMaker(spec, asked, setOver(base, flagsOf, ctx));
  const sent = bodyWith((_, url) => url);
  // A second body is made only if it refers to an output of a job.
  const hasOutput = inputs.some(({ output }) => output);
  const body = hasOutput ? bodyWith(askedOf) : sent;
  const asIntent = askedIn(body);
  const request = keptRequest(
    {
      command,
      takes: { ...spec.fields.flags, ...spec.flags },
      typed: words,
      model: modelOf(spec, typed, base, settings),
      base,
      prompted: prompt !== undefined,
      ownPrompt: prompt !== undefined && prompt !== asIntent.prompt && { prompt },
      media: inputs.map((input, at) => ({ ...input, sha256: media.items[at]?.sha256 })),
    },
    ctx,
  );
  return {
    media,
    uploads,
    isGiven: (globals.body ?? globals.set) === undefined ? undefined : givenIn(base, globals.set),
    sent,
    shown: hasOutput ? bodyWith(shownOf) : sent,
    canBeSent: inputs.every(({ output }) => output === undefined || output.file !== undefined),
    request: Object.freeze<JobRequest<TaskFamily>>({
      family: spec.family,
      endpoint,
      body,
      how,
      outputsExpected: 1,
      flagOf: flagsOf(body),
      intent: {
        event: 'intent',
        family: spec.family.name,
        endpoint: endpoint.name,
        model: isText(body.model) ? body.model : model,
        ...asIntent,
        media: media.items.map((item) => item.describe),
        references: media.items.map(({ describe, sha256 }) => ({ name: describe, sha256 })),
        request,
        profile: settings.profile.value,
        gateway: gatewayName(settings),
        save: newSavePlan(how, settings, host),
      },
    }),
  };
}

const noMedia: Media = { media: { items: [], breaches: [] }, uploads: [] };

/** Builds the body that flags make between --body and --set, with a placeholder for each medium. */
const asOfFlags =
  <F extends FlagSet>(spec: VideoCreate<F>, settings: Settings) =>
  (typed: FlagValues<FlagSet>, base: Body, sets: readonly string[]) => {
    const references = referencesOf(spec.fields.items, typed).map((each) =>
      each.modality ? { ...each, raw: ANY_MEDIUM } : each,
    );
    const model = modelOf(spec, typed, base, settings, sets);
    const read = { base, typed, model, prompt: 'any', references, inputs: [], media: noMedia.media };
    const body = bodyMaker(spec, read, (made) => applySets(made, sets))((_, url) => url);
    return { schema: spec.endpointOf(typed as unknown as FlagValues<F>).body, fields: spec.fields, body };
  };

/** Returns a function that makes the body from the address of each medium. */
function bodyMaker<F extends FlagSet>(
  spec: VideoCreate<F>,
  read: {
    readonly base: Body;
    readonly typed: FlagValues<FlagSet>;
    readonly model: string;
    readonly prompt: string | undefined;
    readonly references: ReturnType<typeof referencesOf>;
    readonly inputs: readonly MediaInput[];
    readonly media: Media['media'];
  },
  withSets: (made: Body) => Body,
): (addressOf: AddressOf) => Body {
  const { base, typed, model, prompt, references, inputs, media } = read;
  const flags = typed as unknown as FlagValues<F>;
  const laid = spec.fields.lay(base, spec.knownModels ? { ...typed, model: undefined } : typed);
  const of = spec.knownModels ? withOddModel({ ...laid, model }, base.model, typed) : laid;
  return (addressOf) => {
    const places = inputs.keys();
    const items = references.map(({ kind, modality, id, raw }) => {
      const at = modality === undefined ? undefined : places.next().value;
      const [input, item] = at === undefined ? [] : [inputs[at], media.items[at]];
      return { kind, modality, id, url: input && item ? addressOf(input, item.url) : raw };
    });
    const placed = spec.place({ base: of, flags, prompt, items });
    const whole = withSets(placed);
    return spec.fill?.(whole, flags) ?? whole;
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** The prompt of a create; optional if media, --body or --set are given. */
function promptOf<F extends FlagSet>(
  spec: VideoCreate<F>,
  words: readonly string[],
  typed: FlagValues<FlagSet>,
  references: ReturnType<typeof referencesOf>,
  ctx: Context,
): Promise<string | undefined> {
  const { apiKeyFile, body, set } = ctx.globals;
  const need = spec.promptNeed?.(typed as unknown as FlagValues<F>, typed) ?? 'required';
  const media = references.filter(({ modality }) => modality);
  return readPrompt(
    {
      ...(typed as SharedValues),
      words,
      media,
      optional: need !== 'required' || media.length > 0 || body !== undefined || set !== undefined,
      mayReadStdin: need !== 'given' && body === undefined && apiKeyFile !== '-',
    },
    ctx,
  );
}

function modelOf<F extends FlagSet>(
  spec: VideoCreate<F>,
  typed: FlagValues<FlagSet>,
  base: Body,
  settings: Settings,
  sets: readonly string[] = [],
): string {
  const set = sets.map(parseSet).findLast(({ path }) => path.join('.') === 'model')?.value;
  const chosen = set ?? typed.model;
  const words = {
    ...(isText(chosen) && { typed: chosen }),
    ...(isText(base.model) && { base: base.model }),
  };
  return spec.modelOf(words, typed as unknown as FlagValues<F>, settings);
}

/**
 * `content` of families A and C: prompt and media are laid over the content of --body. A prompt replaces the text
 * items, and media of a role replace the items of that role. A content that is no list is left unchanged, so that the
 * schema reports it.
 */
export function placeContent({ base, prompt, items }: Omit<BodyInput<FlagSet>, 'flags'>): Body {
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

// Check: a broken documented rule is refused, or with --no-validate a warning; an oddity is a warning.

async function check<F extends FlagSet>(
  { knownModels }: VideoCreate<F>,
  { endpoint: { name, body: schema }, body, flagOf, isGiven }: JobRequest & FieldVerdict,
  breaches: readonly string[],
  ctx: Context,
): Promise<() => void> {
  if (!schema) throw new Error(`${name} has no body`);
  const validate = ctx.globals.validate === undefined;
  refuseOrWarn(breaches, validate, ctx.io);
  const look = (verdict?: FieldVerdict) => lookAtBody(schema, body, flagOf, { ...verdict, isGiven });
  const { model } = body;
  // An empty name, or one of dots alone, is no model name.
  const isUnknown = isText(model) && knownModels?.includes(model) === false && !/^\.*$/.test(model);
  const found =
    isUnknown && validate
      ? await (await import('./unlisted-model.ts')).lookUnlessListed(look, model, ctx)
      : look();
  return refuseLook(found, ctx, { schema, body });
}

/** The request of one of several jobs, with its own key and file name. The API key is removed from it. */
function requestOf(
  { request }: Checked,
  { keyId }: Access,
  index: number | undefined,
  { io }: Context,
): JobRequest<TaskFamily> {
  const { how, intent } = request;
  const { save } = intent;
  const { once, out } = how;
  const safe = withoutSecrets(intent, (text) => io.withoutSecrets(text));
  return Object.freeze({
    ...request,
    how: {
      ...how,
      ...(out !== undefined && { out: withIndex(out, index) }),
      ...(once !== undefined && index !== undefined && { once: `${once}/${index}` }),
    },
    intent: { ...safe, keyId, save: { ...save, target: withIndex(save.target, index) } },
  });
}

async function createOne(making: Promise<Checked | ShownRequest>, ctx: Context): Promise<Outcome<JobResult>> {
  const ready = await making;
  if (ready instanceof ShownRequest) return { value: ready };
  return send(ready, { turn: (make) => make() }, ctx);
}

/** `told` names the source of the count, such as a preset, if it was not typed. */
async function* createMany(
  making: Promise<Checked | ShownRequest>,
  told: string,
  ctx: Context,
): AsyncGenerator<Outcome<JobResult>> {
  const ready = await making;
  if (ready instanceof ShownRequest) return yield { value: ready };
  const { once: key, count = 1, wait = false } = ready.request.how;
  // With --once some jobs may exist already, so the budget is checked for each job in turn.
  if (key === undefined) await refuseOverBudget(ready.request, ctx);
  else {
    const { lastOfKey } = await import('../once.ts');
    if (told !== '--count' && (await lastOfKey(key, ctx)).current) {
      ctx.io.note(`${told} ${count} is left out: the job of --once ${key} was made without it`);
      return yield createOne(making, ctx);
    }
    const claims = await createFollowers(ctx).claims();
    for (let nth = 1; nth <= count; nth += 1) {
      const { current } = await lastOfKey(`${key}/${nth}`, ctx);
      if (current) claims.keep(current.key, current.files);
    }
  }
  yield* (await import('./send-many.ts')).sendMany(count, wait, (place) => send(ready, place, ctx), ctx);
}

/** Throws an error that happened before the job was begun. */
async function send(ready: Checked, place: SendPlace, ctx: Context): Promise<Outcome<JobResult>> {
  const access = await ctx.gateway();
  const request = requestOf(ready, access, place.index, ctx);
  const { family, how } = request;
  const deadlineMs = waitDeadlineMs(how, ctx);
  const making = async (under?: OncePlace) => {
    // Checked only now: an existing job of the key may be saved elsewhere and need no folder here.
    await checkPlace(request, ctx);
    return make(request, await ready.finish(), { ...place, access, deadlineMs, under }, ctx);
  };
  const made = await place.turn(async () => {
    if (how.once === undefined) return making();
    const { makeUnderKey } = await import('../once.ts');
    return makeUnderKey({ request, asked: request.body }, access, deadlineMs, making, ctx);
  });
  switch (made.kind) {
    case 'stands':
      return (await import('../once.ts')).goOnWith(made, { ...how, deadlineMs }, ctx);
    case 'accepted':
      if (made.isOwnReply) ready.warnOfReply(made.reply);
      return { ...(await follow(made, request, deadlineMs, ctx)), made };
    case 'unknown': {
      // A job that may exist without a task ID is printed under gw's own ID.
      const { error, job } = made;
      const id = (error instanceof GwError && error.facts.taskId) || job.key;
      return { value: { family: family.name, id, status: 'unknown', record: null, files: [] }, error, made };
    }
    default:
      return { error: made.kind === 'images' ? undefined : made.error, made };
  }
}

interface MakePlace extends SendPlace {
  readonly access: Access;
  readonly deadlineMs: number;
  readonly under: OncePlace | undefined;
}

async function make(
  request: JobRequest<TaskFamily>,
  body: Body,
  { access, deadlineMs, under, index = 1 }: MakePlace,
  ctx: Context,
): Promise<Made> {
  const { family, how } = request;
  const intent = { ...request.intent, ...(under && { once: under.once }) };
  const ledger = await ctx.ledger();
  const { makeJob } = await import('../../jobs/create/make.ts');
  const within = await withinBudget(request, ctx);
  const digests = digestsOf(family, request.body);
  const identified = identifyBody(family, body, under?.key, under?.externalId);
  const followers = createFollowers(ctx);
  const telling = tellIfInterrupted(ctx);
  let stopWaiting = () => {};
  let beat: NodeJS.Timeout | undefined;
  const tellOfWait = () =>
    followers.tellAll('the gateway has not answered a create yet: waiting for its answer', 'answer');
  try {
    return await makeJob({
      ...request,
      ...identified,
      asked: identifyBody(family, request.body, identified.key, identified.externalId).body,
      intent,
      goesOn: under?.goesOn,
      calm: calmOf(followers, ctx),
      within,
      // The jobs of one --count are alike on purpose, so only the first one warns.
      onBegun: under?.confirm ?? (index === 1 ? () => warnOfAlike(intent, digests, ctx) : undefined),
      client: access.client,
      ledger,
      clock: ctx.clock,
      signal: ctx.signal,
      deadlineMs,
      silenceMs: (await ctx.settings()).timeoutMs.value,
      note: (text) => {
        ctx.io.note(text);
        stopWaiting();
        stopWaiting = ctx.io.awaiting('looking for the job');
      },
      onExchange: (isNow) => {
        telling.onExchange(isNow);
        clearInterval(beat);
        // On a terminal the progress line already says so.
        if (isNow && !ctx.io.stderrIsTerminal) beat = setInterval(tellOfWait, BEAT_MS);
      },
      ...(queues(how) && {
        queue: {
          random: ctx.host.random,
          onQueued: (text) => ctx.io.note(text),
          onKept: followers.tellAll,
          pool: await followers.poolOf(intent),
          looker: await followers.looker(family),
          isOneOfMany: (ctx.host.program ?? ctx.agentLimits) !== undefined,
        },
      }),
    });
  } finally {
    stopWaiting();
    telling.stop();
  }
}

/** The result of an accepted job: its ID at once, or with --wait its outputs. */
async function follow(
  { id, job: { key }, unrecorded, reply: record, status = '', error }: Extract<Made, { kind: 'accepted' }>,
  { family, how, intent: { gateway, save, settings } }: JobRequest<TaskFamily>,
  deadlineMs: number,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const first = await firstOfTask({ gateway, key, id }, await ctx.ledger()).catch(() => undefined);
  if (first)
    ctx.io.warn(
      `the gateway answered with task ${id}, which an earlier create had made (${first.key}): it is one task, saved once`,
    );
  const ended = { id, status, error };
  const accepted: JobResult = { family: family.name, id, status, record, files: [] };
  if (unrecorded !== undefined) {
    const why = unrecorded instanceof Error ? unrecorded.message : String(unrecorded);
    ctx.io.warn(`task ${id} is not in the ledger; ${why}`, 'urgent');
  }
  const failure = unrecorded !== undefined && { error: unrecorded };
  if (how.wait) {
    ctx.io.note(`task ${id}`);
    const request = { id, key, family, flags: how, save, settings, deadlineMs, accepted };
    const { followFromFlags, resultIn } = await import('./follow-job.ts');
    const followed = await followFromFlags(request, createFollowers(ctx), ctx);
    const saved = resultIn(followed)?.files.map(({ path }) => path) ?? [];
    if (!(unrecorded instanceof GwError) || saved.length === 0) return { ...failure, ...followed };
    const what = `${unrecorded.message}; its output is saved as ${saved.join(', ')}`;
    return { error: unrecorded.told({}, what), ...followed };
  }
  if (ctx.signal.aborted) {
    const followed = { ...accepted, files: [], error: ctx.signal.reason };
    const { outcomeOf } = await import('./follow-job.ts');
    return outcomeOf(followed, { family: family.name, id, accepted, force: how.force }, ctx);
  }
  if (taskState(status).state === 'failed')
    return { value: accepted, error: (await import('../../jobs/watch/look.ts')).taskFailed(ended) };
  const next = commandFor(`gw video ${family.name} wait ${id}${how.force ? ' --force' : ''}`, ctx);
  if (ctx.io.stderrIsTerminal || how.force) ctx.io.note(`wait for it and save it with: ${next}`);
  return { value: accepted, ...failure };
}

/** The prompt and the settings of a body, in the form that the ledger stores. */
function askedIn({ content, contents, prompt, ...rest }: Body) {
  return {
    prompt: promptIn(content ?? contents ?? prompt),
    settings: { ...scalarsOf(rest), ...scalarsOf(rest.settings) },
  };
}

const scalarsOf = (value: unknown): Body =>
  Object.fromEntries(Object.entries(fieldsOf(value)).filter(([, each]) => typeof each !== 'object'));

function promptIn(source: unknown): string | undefined {
  if (isText(source)) return source;
  const texts = itemsOf(source).flatMap((item) => fieldsOf(item).text ?? []);
  return texts.filter(isText).join('\n') || undefined;
}
