import * as path from 'node:path';
import type { Outcome } from '../../command.ts';
import type { Settings } from '../../config/settings.ts';
import { SLOW_ANSWER_SILENCE_MS } from '../../config/table.ts';
import { type Context, tellIfInterrupted } from '../../context.ts';
import { sha256OfFile } from '../../disk/small-file.ts';
import { usage } from '../../errors.ts';
import { type FlagValues, flagName } from '../../flags/flag.ts';
import { type onceFlags, type SaveFlags, sidecarBy } from '../../flags/job-flags.ts';
import type { WithStored } from '../../flags/yielding.ts';
import { EDIT_MASK_FIELD } from '../../gateway/image/create.ts';
import { readImageUsage, readRevisedPrompt } from '../../gateway/image/reply.ts';
import type { RequestInput } from '../../http/client.ts';
import { digestOf, type JobRequest } from '../../jobs/create/job-request.ts';
import type { Made } from '../../jobs/create/make.ts';
import type { OncePlace } from '../../jobs/create/once.ts';
import { createImages } from '../../jobs/image/create-images.ts';
import { printableRecord, printedFiles } from '../../jobs/job-view.ts';
import { refuseOneName } from '../../jobs/save/check-target.ts';
import { isFixedName, planTarget } from '../../jobs/save/output-path.ts';
import { withoutSecrets } from '../../ledger/serialize.ts';
import { namesOutput } from '../../shots/outputs.ts';
import { checkPlace, warnOfAlike, withinBudget } from '../before-create.ts';
import { type JobResult, noteUsage, waitDeadlineMs } from '../video/follow-job.ts';
import { calmOf, createFollowers } from '../video/followers.ts';

/**
 * A help note. The reply comes when the image is finished, which takes minutes for a large one; a timeout before that
 * would lose a paid image.
 */
export const silenceNote = `Waits up to ${SLOW_ANSWER_SILENCE_MS / 1000}s for the answer, unless --timeout or the profile says how long.`;

interface Checked {
  readonly request: JobRequest;
  /** The input that is sent: the body with its files, or a form. */
  readonly input: RequestInput;
  /** The input that a --once key is compared by. */
  readonly asked: RequestInput;
  /** False if an output of a job is only named, because the image made from it exists already. */
  readonly canBeSent: boolean;
  readonly keepPartials: boolean;
  readonly toStdout: boolean;
}

/** Checks that the images can be saved, sends the request, and returns the outcome. */
export async function sendImages(
  { request, input, asked, canBeSent, keepPartials, toStdout }: Checked,
  ctx: Context,
): Promise<Outcome<JobResult>> {
  const { body, endpoint, how, outputsExpected } = request;
  const { deadlineMs = waitDeadlineMs(how, ctx) } = how;
  const access = await ctx.gateway();
  if (toStdout && ctx.io.stdoutIsTerminal)
    throw usage('--out -: gw writes no image to a terminal', 'send stdout to a file or a pipe');
  const intent = {
    ...withoutSecrets(request.intent, (text) => ctx.io.withoutSecrets(text)),
    family: 'image' as const,
    keyId: access.keyId,
    bodySha256: digestOf(await askedOf(input)),
  };
  const deps = await createFollowers(ctx).jobDeps();
  const { timeoutMs: silence } = await ctx.settings();
  const within = await withinBudget(request, ctx);
  const make = async (place?: OncePlace): Promise<Made> => {
    await checkPlace(request, ctx);
    if (ctx.followers) await calmOf(ctx.followers, ctx)();
    ctx.signal.throwIfAborted();
    if (!canBeSent) throw new Error('the output of a job is not found yet, and nothing was sent');
    const telling = tellIfInterrupted(ctx);
    return createImages(
      {
        endpoint,
        input,
        streams: body.stream === true,
        partialsExpected: typeof body.partial_images === 'number' ? body.partial_images : 0,
        outputsExpected,
        keepPartials: keepPartials && !toStdout,
        key: place?.key,
        deadlineMs,
        within,
        onExchange: telling.onExchange,
        onBegun: place?.confirm ?? (() => warnOfAlike(intent, () => intent.bodySha256, ctx)),
        intent: { ...intent, ...(place && { once: place.once }) },
        ...(toStdout && { toStdout: (bytes: Uint8Array) => ctx.io.outBytes(bytes) }),
      },
      { ...deps, silenceMs: silence.source === 'default' ? SLOW_ANSWER_SILENCE_MS : silence.value },
    ).finally(() => {
      telling.stop();
      deps.progress.stop();
    });
  };
  let made: Made;
  if (how.once === undefined) made = await make();
  else {
    const { goOnWith, makeUnderKey } = await import('../once.ts');
    const got = await makeUnderKey({ request, asked: await askedOf(asked) }, access, deadlineMs, make, ctx);
    const out = how.out && { out: intent.save.target };
    // The job may be a video task: a batch row that was a video may now be an image.
    if (got.kind === 'stands') return goOnWith(got, { ...how, ...out, wait: true, deadlineMs }, ctx);
    made = got;
  }
  if (!('came' in made) && made.kind !== 'unknown')
    return { error: made.kind === 'accepted' ? made.unrecorded : made.error, made };
  const { error, job, came = { status: 'unknown', record: null, files: [], partials: [] } } = made;
  for (const partial of came.partials) ctx.io.note(`partial image kept: ${partial}`);
  const revised = readRevisedPrompt(came.record);
  if (revised !== undefined) ctx.io.note(`revised prompt: ${revised}`);
  await noteUsage({ error, usage: readImageUsage(came.record) }, job.key, undefined, ctx);
  const files = printedFiles(came.files);
  const { status } = came;
  const value: JobResult = { family: 'image', id: job.key, status, record: printableRecord(came), files };
  // Stdout must contain only the picture.
  return { ...(!toStdout && { value }), ...(error !== undefined && { error }), made };
}

/** The requested fields, with each file replaced by its digest. */
export async function askedOf({ params, body, multipart }: RequestInput): Promise<Record<string, unknown>> {
  if (!multipart) return { ...params, ...(body as Record<string, unknown>) };
  const fields: Record<string, unknown> = { ...params };
  const images: string[] = [];
  for (const field of multipart.fields) {
    if ('value' in field) fields[field.name] = field.value;
    else {
      const { path: file } = field.file;
      const sha256 = namesOutput(file) ? file : await sha256OfFile(file);
      if (field.name === EDIT_MASK_FIELD) fields.mask = sha256;
      else images.push(sha256);
    }
  }
  return { ...fields, images };
}

/** Fields that the ledger stores separately or not at all: images can be megabytes, and their URLs credentials. */
const keptApart = new Set(['prompt', 'image', 'images', 'mask', 'contents']);

export const settingsIn = (body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).filter(([field, value]) => typeof value !== 'object' && !keptApart.has(field)),
  );

type OutputFlags = SaveFlags & FlagValues<typeof onceFlags> & WithStored;

/**
 * The output path of a request's images. One image is `{id}.{ext}`, several are numbered, unless `--out` names them.
 * Throws `usage` for flags that conflict with `--out -`, and for an invalid target.
 */
export function planOutput(
  flags: OutputFlags,
  images: number,
  settings: Pick<Settings, 'out' | 'sidecar'>,
  { host, globals }: Pick<Context, 'host' | 'globals'>,
) {
  const force = flags.force ?? false;
  if (flags.out === '-') {
    refuseWithStdout(flags, images, globals.json ? '--json' : flags.events ? '--events' : undefined);
    return { save: { target: planTarget(undefined, host.cwd), force, download: false }, toStdout: true };
  }
  const target = planTarget(flags.out ?? settings.out.value, host.cwd, images);
  // Checked here too for a dry run, which creates no directory.
  if (isFixedName(target)) refuseOneName(path.basename(target), images);
  const sidecar = sidecarBy(flags, settings, host.version);
  return { save: { target, force, download: true, sidecar }, toStdout: false };
}

function refuseWithStdout(flags: OutputFlags, images: number, printing: string | undefined): void {
  if (printing)
    throw usage(`--out -: stdout holds the image, and ${printing} prints there too`, 'leave one of them out');
  if (images > 1)
    throw usage(`--out -: stdout takes one image, and ${images} are asked for`, 'name a directory instead');
  const needsDisk = ['keepPartials', 'preview', 'once', 'sidecar', 'exec'] as const;
  const key = needsDisk.find((each) => (flags[each] ?? false) !== false && !flags.stored?.includes(each));
  const flag = key && flagName(key);
  if (flag) throw usage(`--out -: ${flag} needs the image on disk`, `leave out ${flag}, or name a file`);
}
