import { createHash } from 'node:crypto';
import * as path from 'node:path';
import type { Outcome } from '../../command.ts';
import type { Settings } from '../../config/settings.ts';
import { SLOW_ANSWER_SILENCE_MS } from '../../config/table.ts';
import { type Access, type Context, tellIfInterrupted } from '../../context.ts';
import { usage } from '../../errors.ts';
import type { FlagOfPath } from '../../flags/breaches.ts';
import { flagName } from '../../flags/flag.ts';
import { type BudgetFlags, type OnceFlags, type SaveFlags, sidecarBy } from '../../flags/job-flags.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { EDIT_MASK_FIELD } from '../../gateway/image/create.ts';
import { imageFamily } from '../../gateway/image/job.ts';
import { readImageUsage } from '../../gateway/image/reply.ts';
import type { RequestInput } from '../../http/client.ts';
import type { OncePlace } from '../../jobs/create/once.ts';
import { createImages, type ImageOutcome, type ImageRequest } from '../../jobs/image/create-images.ts';
import { checkTarget, refuseOneName } from '../../jobs/save/check-target.ts';
import { isFixedName, planTarget } from '../../jobs/save/output-path.ts';
import type { KeptReference, KeptRequest, SavedFile, SavePlan } from '../../ledger/event.ts';
import { withoutSecrets } from '../../ledger/serialize.ts';
import { sha256OfFile } from '../../media/read-input.ts';
import { warnOfAlike, withinBudget } from '../before-create.ts';
import { followDeps, type JobResult, noteUsage } from '../video/follow-job.ts';
import { calmOf } from '../video/followers.ts';

/**
 * For help. An image is answered when it is finished, and a large one takes minutes: ended too early, it would be paid for
 * and lost.
 */
export const silenceNote = `Waits up to ${SLOW_ANSWER_SILENCE_MS / 1000}s for the answer, unless --timeout or the profile says how long.`;

export interface ReadyRequest {
  readonly endpoint: Endpoint;
  readonly input: RequestInput;
  /** The body with stand-ins for files; the ledger keeps its settings. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly prompt: string | undefined;
  /** Each input image as a name, a URL without query, or a digest. */
  readonly media: readonly KeptReference[];
  readonly images: number;
  readonly plan: OutputPlan;
  readonly keepPartials: boolean;
  readonly settings: Settings;
  readonly flags: OnceFlags & BudgetFlags & SaveFlags;
  /** What `gw again` makes it from. */
  readonly request: KeptRequest;
  readonly flagOf: FlagOfPath;
}

export interface SentImages {
  readonly result: Outcome<JobResult>;
  readonly files: readonly SavedFile[];
}

/** Makes sure that the images can be kept, sends the request, and gives back what came of it. */
export async function sendImages(ready: ReadyRequest, ctx: Context): Promise<SentImages> {
  const { endpoint, input, body, plan, images } = ready;
  const access = await ctx.gateway();
  if (plan.toStdout && ctx.io.stdoutIsTerminal) {
    throw usage('--out -: gw writes no image to a terminal', 'send stdout to a file or a pipe');
  }
  const intent = withoutSecrets(intentOf(ready, access), (text) => ctx.io.withoutSecrets(text));
  const once = ready.flags.once === undefined ? undefined : { key: ready.flags.once };
  checkTarget(plan.save, { ...intent, once, now: ctx.clock.now(), outputsExpected: images });
  const deps = await followDeps(ctx);
  const silence = ready.settings.timeoutMs;
  const budget = await withinBudget({ ...intent, family: imageFamily }, ready.flags, ctx);
  const make = async (place?: OncePlace): Promise<ImageOutcome> => {
    if (ctx.followers) await calmOf(ctx.followers, ctx)();
    ctx.signal.throwIfAborted();
    const stopTelling = tellIfInterrupted(ctx);
    return createImages(
      {
        endpoint,
        input,
        streams: body.stream === true,
        partialsExpected: typeof body.partial_images === 'number' ? body.partial_images : 0,
        outputsExpected: images,
        keepPartials: ready.keepPartials,
        key: place?.key,
        within: budget,
        onBegun: place?.confirm ?? (() => warnOfAlike(intent, () => intent.bodySha256, ctx)),
        intent: { ...intent, ...(place && { once: place.once }) },
        ...(plan.toStdout && { toStdout: (bytes: Uint8Array) => ctx.io.outBytes(bytes) }),
      },
      { ...deps, silenceMs: silence.source === 'default' ? SLOW_ANSWER_SILENCE_MS : silence.value },
    ).finally(() => {
      stopTelling();
      deps.progress.stop();
    });
  };
  let outcome: ImageOutcome;
  if (ready.flags.once === undefined) {
    outcome = await make();
  } else {
    const { goOnWith, makeUnderKey } = await import('../once.ts');
    const { flags, flagOf } = ready;
    const asked = { flags, family: imageFamily, intent, body: await askedOf(input), flagOf };
    const got = await makeUnderKey(asked, access, make, ctx);
    if ('found' in got) return { result: await goOnWith(got.found, flags, ctx), files: got.found.job.files };
    outcome = got.made;
  }
  for (const partial of outcome.partials) ctx.io.note(`partial image kept: ${partial}`);
  if (outcome.error === undefined)
    await noteUsage(readImageUsage(outcome.record), outcome.id, undefined, ctx);
  const value: JobResult = {
    family: 'image',
    id: outcome.id,
    status: outcome.status,
    record: outcome.record,
    files: outcome.files.map(({ path, bytes, sha256, type }) => ({ path, bytes, sha256, type })),
  };
  return {
    files: outcome.files,
    result: { value, ...(outcome.error !== undefined && { error: outcome.error }) },
  };
}

/** What a request asks for, its files by what they hold. */
async function askedOf({ params, body, multipart }: RequestInput): Promise<unknown> {
  if (!multipart) return { ...params, ...(body as Record<string, unknown>) };
  const fields: Record<string, unknown> = { ...params };
  const images: string[] = [];
  for (const field of multipart.fields) {
    if ('value' in field) fields[field.name] = field.value;
    else {
      const sha256 = await sha256OfFile(field.file.path);
      if (field.name === EDIT_MASK_FIELD) fields.mask = sha256;
      else images.push(sha256);
    }
  }
  fields.images = images;
  return fields;
}

/** Fields that hold what the ledger keeps apart, or not at all: images can be megabytes, and their URLs credentials. */
const keptApart = new Set(['prompt', 'image', 'images', 'mask', 'contents']);

function intentOf(
  { endpoint, input, body, model, prompt, media, plan, settings, request }: ReadyRequest,
  { name: gateway, keyId }: Access,
): ImageRequest['intent'] {
  const scalars = Object.entries(body).filter(
    ([field, value]) => typeof value !== 'object' && !keptApart.has(field),
  );
  return {
    event: 'intent',
    family: 'image',
    endpoint: endpoint.name,
    model,
    prompt,
    settings: Object.fromEntries(scalars),
    media: media.map(({ name }) => name),
    references: media,
    request,
    bodySha256: createHash('sha256')
      .update(JSON.stringify(input.multipart?.fields ?? input.body))
      .digest('hex'),
    profile: settings.profile.value,
    keyId,
    gateway,
    save: plan.save,
  };
}

const NUMBERED = '{id}-{index}.{ext}';

type OutputFlags = SaveFlags & OnceFlags & { readonly preview?: boolean; readonly keepPartials?: boolean };

interface OutputPlan {
  readonly save: SavePlan;
  readonly toStdout: boolean;
}

/**
 * Where the images of a request go. One image is `{id}.{ext}`, several are numbered, unless `--out` names them.
 * Throws `usage` for what does not go with `--out -`, and for a target that cannot be read.
 */
export function planOutput(
  flags: OutputFlags,
  images: number,
  settings: Pick<Settings, 'out' | 'sidecar'>,
  { host, globals }: Pick<Context, 'host' | 'globals'>,
): OutputPlan {
  const force = flags.force ?? false;
  if (flags.out === '-') {
    refuseWithStdout(flags, images, globals.json ? '--json' : flags.events ? '--events' : undefined);
    return { save: { target: planTarget(undefined, host.cwd), force, download: false }, toStdout: true };
  }
  const out = flags.out ?? settings.out.value;
  const target = planTarget(out ?? (images > 1 ? NUMBERED : undefined), host.cwd);
  // A directory ends in its separator.
  const numbered = images > 1 && /[/\\]$/.test(target) ? target + NUMBERED : target;
  // Looked at here too, for a dry run, which makes no directory.
  if (isFixedName(numbered)) refuseOneName(path.basename(numbered), images);
  const sidecar = sidecarBy(flags, settings, host.version);
  return { save: { target: numbered, force, download: true, sidecar }, toStdout: false };
}

function refuseWithStdout(flags: OutputFlags, images: number, printing: string | undefined): void {
  if (printing) {
    throw usage(`--out -: stdout holds the image, and ${printing} prints there too`, 'leave one of them out');
  }
  if (images > 1) {
    throw usage(`--out -: stdout takes one image, and ${images} are asked for`, 'name a directory instead');
  }
  const needsDisk = ['keepPartials', 'preview', 'once', 'sidecar'] as const;
  const key = needsDisk.find((each) => flags[each] !== undefined && flags[each] !== false);
  const flag = key && flagName(key);
  if (flag) throw usage(`--out -: ${flag} needs the image on disk`, `leave out ${flag}, or name a file`);
}
