import { cacheDir } from '../config/dirs.ts';
import { type Context, commandFor, gatewayName } from '../context.ts';
import { sha256OfFile } from '../disk/small-file.ts';
import { GwError, usage } from '../errors.ts';
import { findFamily, findTaskFamily } from '../gateway/families.ts';
import type { Modality } from '../gateway/limits.ts';
import type { Family } from '../gateway/task.ts';
import type { HowAsked } from '../jobs/create/job-request.ts';
import { asItStands } from '../jobs/create/once.ts';
import { gatewayNowMs } from '../jobs/gateway-clock.ts';
import { linkExpiresAtMs } from '../jobs/job-view.ts';
import { GetBudget } from '../jobs/save/get-output.ts';
import { journalOf } from '../jobs/save/part-file.ts';
import { savedOutputs } from '../jobs/save/saved.ts';
import { recordLook, taskFailed } from '../jobs/watch/look.ts';
import { type Job, mayExist } from '../ledger/event.ts';
import { taskOf } from '../ledger/settled.ts';
import {
  type OutputReference,
  parseReference,
  partText,
  type Reference,
  shorten,
} from '../media/reference.ts';
import type { FoundOutput, MediaInput } from '../media/resolve.ts';
import { choosePart, partsOf } from './parts.ts';

// Resolves `job:WHICH[#PART]` and `row:ID[#PART]` to the file that is sent, or to its link. Only this module does so.

/** A reference with its flag and the options of its create. */
interface Asking extends MediaInput {
  /** The flag and its value, for messages: `--image job:last`. */
  readonly named: string;
  readonly how: HowAsked;
}

/** Resolves each reference to a job's output; a missing file is saved first. */
export async function resolveOutputs(
  inputs: readonly MediaInput[],
  ctx: Context,
  how: HowAsked,
): Promise<readonly MediaInput[]> {
  const before = await underKey(how, ctx);
  const found: MediaInput[] = [];
  for (const input of inputs) {
    const reference = parseReference(input.raw, input.flag);
    const named = `${input.flag} ${shorten(input.raw, 200)}`;
    if (reference.kind !== 'job' && reference.kind !== 'row') found.push(input);
    else {
      const output = await resolveOne(reference, { ...input, named, how }, before, ctx);
      if (ctx.io.mode.verbose && output.file !== undefined && output.sha256 !== undefined)
        ctx.io.trace(`${named}: ${output.label} sha256:${output.sha256}, from ${output.file}`);
      found.push({ ...input, output });
    }
  }
  return found;
}

/** The job that exists under a create's key; `areMade` is true if no job of the key needs the outputs any more. */
async function underKey(how: HowAsked, ctx: Context) {
  const { once: key, count = 1 } = how;
  const { lastOfKey } = await import('../commands/once.ts');
  let before: Job | undefined;
  let areMade = true;
  for (let at = 1; key !== undefined && at <= count; at += 1) {
    const name = how.count === undefined ? key : `${key}/${at}`;
    const { current } = await lastOfKey(name, ctx);
    const family = current && (await findFamily(current.family));
    const stands = current && asItStands(current, { family, how });
    if (stands) before ??= current;
    areMade &&= stands !== undefined && (await isNeverSent(stands.job));
  }
  return { before, areMade };
}

async function resolveOne(
  reference: OutputReference,
  asking: Asking,
  { before, areMade }: Awaited<ReturnType<typeof underKey>>,
  ctx: Context,
): Promise<FoundOutput> {
  const { named, raw, modality } = asking;
  const meant = before?.request?.outputs?.[raw];
  if (before && meant !== undefined && areMade) {
    const sha256 = before.references?.find(({ name }) => name === meant)?.sha256;
    return { label: meant, asked: raw, sha256 };
  }
  const label = meant ?? (reference.kind === 'job' ? ctx.outputs?.meant?.[raw] : undefined);
  const of = label === undefined ? reference : (parseReference(label, asking.flag) as OutputReference);
  const job = await jobOf(of, asking, ctx);
  // The output does not exist yet, and the row that names it is only checked.
  if (job === undefined) return { label: raw, asked: raw };
  const family = await findFamily(job.family);
  const id = job.id ?? job.key;
  const saved = await savedOutputs(job, family, ctx.signal);
  const what = { named, job: `job ${id}` };
  const { part, role, isCut } = choosePart(partsOf(job, family, saved), of.part, modality, what);
  const output = { label: `job:${id}#${partText(part)}`, asked: raw };
  const here = saved.files.find((file) => file.role === role);
  if (!here && ctx.outputs?.isEarly) return output;
  const { path: savedAs, sha256 } = here ?? (await savedFirst(job, role, asking, ctx));
  ctx.outputs?.admit(savedAs, job, named);
  if (!isCut) {
    const link = async () => linkOf(job, role, named, ctx);
    return { ...output, file: savedAs, sha256, ...(!asking.takes.base64 && { link }) };
  }
  if (!asking.takes.base64)
    throw usage(
      `${named}: ${partText(part)} is cut out of the video and has no address, and only an address is taken here`,
      'make the job with --return-last-frame (alpha), or give the picture an https:// URL',
    );
  const { cutFrame } = await import('./frames.ts');
  const cut = part.name === 'first_frame' ? part.name : 'last_frame';
  const { host, signal, clock } = ctx;
  const env = (await ctx.settings()).childEnvironment();
  const deps = { cacheDir: cacheDir(host), env, signal, clock };
  const file = await cutFrame({ video: savedAs, sha256, part: cut, named }, deps);
  return { ...output, file, sha256: await sha256OfFile(file, ctx.signal) };
}

/** True if a job is never sent again: it exists, or only the user can find out whether it does. */
const isNeverSent = async (job: Job): Promise<boolean> =>
  job.id !== undefined ||
  job.state === 'succeeded' ||
  (mayExist(job) && (await findTaskFamily(job.family))?.externalIds === undefined);

/** The named job, finished; undefined if it does not exist yet but still may. */
async function jobOf(reference: OutputReference, asking: Asking, ctx: Context): Promise<Job | undefined> {
  const { named } = asking;
  if (reference.kind === 'row') {
    if (!ctx.outputs?.rowJob)
      throw usage(
        `${named}: row: names a row of a manifest, and this is none`,
        'write job:ID for an output of a job',
      );
    const job = await ctx.outputs.rowJob(reference.which, named);
    return job && finished(job, asking, ctx);
  }
  const job = await namedJob(reference.which, named, ctx);
  return finished(job, asking, ctx);
}

async function namedJob(which: string, named: string, ctx: Context): Promise<Job> {
  const gateway = gatewayName(await ctx.settings());
  const isHere = (job: Job) => gateway === '' || job.gateway === gateway;
  if (which === 'last') {
    const [job] = await (await ctx.ledger()).find({
      states: ['succeeded'],
      limit: 1,
      ...(gateway !== '' && { gateway }),
    });
    if (job) return job;
    throw new GwError('not_found', `${named}: no job has made anything yet${gateway && ` at ${gateway}`}`, {
      hint: 'gw jobs list shows the jobs this user created',
    });
  }
  const { namedJobs } = await import('../commands/jobs/jobs-by-id.ts');
  const { profile: _profile, baseUrl: _baseUrl, sandbox: _sandbox, ...globals } = ctx.globals;
  const among = async (ownsJob: Context['ownsJob']) =>
    (await namedJobs([which], { ...ctx, globals, ownsJob }))[0]?.known?.job;
  try {
    const job = (await among(async (each) => isHere(each))) ?? (await among(async () => true));
    if (job && isHere(job)) return job;
    if (job)
      throw usage(
        `${named}: job ${job.id ?? job.key} belongs to another gateway (${job.gateway})`,
        'name that one with --profile, --base-url or --sandbox, or give the file itself',
      );
  } catch (error) {
    throw error instanceof GwError && !error.message.startsWith(named)
      ? error.told({}, `${named}: ${error.message}`)
      : error;
  }
  throw new GwError('not_found', `${named}: there is no job ${which} in the ledger`, {
    taskId: which,
    hint: 'gw jobs list shows the jobs this user created; a file of that name is written ./job:…',
  });
}

/** The kind of an output, for a flag that does not decide the kind. */
export async function kindOf(
  reference: Reference,
  { named, ctx }: { readonly named: string; readonly ctx: Context },
): Promise<Modality> {
  const { part, which } = reference as OutputReference;
  if (part) return part.name.endsWith('_frame') ? 'image' : (part.name as Modality);
  return (await namedJob(which, named, ctx)).family === 'image' ? 'image' : 'video';
}

/** The job if it has succeeded; undefined for a running one that is waited for later. Throws GwError for any other. */
async function finished(job: Job, { named, how }: Asking, ctx: Context): Promise<Job | undefined> {
  const id = job.id ?? job.key;
  if (job.state === 'succeeded') return job;
  if (job.state === 'failed') {
    const family = await findFamily(job.family);
    const { message } = taskFailed({ id, status: job.status ?? 'failed', error: taskOf(job, family)?.error });
    throw usage(`${named}: it has made nothing: ${message}`, `make it anew: gw again ${id}`);
  }
  if (mayExist(job))
    throw usage(
      `${named}: it is not known what became of job ${id}`,
      `find out first: ${commandFor('gw jobs sync', ctx)}, or gw jobs resolve ${id} --as ID (or --as none)`,
    );
  if (job.state !== 'running')
    throw usage(
      `${named}: job ${id} was never created, or is lost${job.message ? `: ${job.message}` : ''}`,
      'name another job',
    );
  if (ctx.outputs?.isEarly) return undefined;
  const wait = commandFor(`gw jobs wait ${id}`, ctx);
  if (!how.wait || ctx.globals.dryRun || ctx.globals.curl)
    throw usage(`${named}: job ${id} still runs`, `wait for it first: ${wait}`);
  ctx.io.note(`${named}: waiting for job ${id}`);
  const { wait: waitFor } = await import('../commands/jobs/wait.ts');
  const { waitTimeout, interval } = how;
  await runFor(waitFor(), id, { waitTimeout, interval }, ctx);
  return again(job, ctx);
}

const again = async (job: Job, ctx: Context): Promise<Job> =>
  (await (await ctx.ledger()).find({ ids: [job.key] }))[0] ?? job;

/** Runs a `jobs` command for one job; throws its error. */
async function runFor(
  command: { readonly run: (...args: never[]) => unknown },
  id: string,
  flags: object,
  ctx: Context,
): Promise<void> {
  const run = command.run as (of: object, ctx: Context) => AsyncIterable<{ error?: unknown }>;
  const outcomes = run({ args: [id], flags, globals: ctx.globals }, ctx);
  for await (const { error } of outcomes) if (error !== undefined) throw error;
}

/** Saves an output whose file is gone, changed or missing, and returns the file. Throws `download` if that fails. */
async function savedFirst(job: Job, role: string, { named }: Asking, ctx: Context) {
  const id = job.id ?? job.key;
  const next = commandFor(`gw jobs download ${id}`, ctx);
  const lacking = (why: string, hint = `save it first: ${next}`) =>
    new GwError('download', `${named}: the output of job ${id} is not on disk as it was saved${why}`, {
      taskId: id,
      hint,
    });
  if (ctx.globals.dryRun || ctx.globals.curl) throw lacking('');
  ctx.io.note(`${named}: saving the output of job ${id} first`);
  try {
    const { download } = await import('../commands/jobs/download.ts');
    await runFor(download(), id, {}, ctx);
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (!(error instanceof GwError)) throw error;
    throw lacking(`: ${error.message}`, error.hint);
  }
  const now = await again(job, ctx);
  const { files } = await savedOutputs(now, await findFamily(now.family), ctx.signal);
  const file = files.find((each) => each.role === role);
  if (file) return file;
  throw lacking(', and could not be saved');
}

/** A link that is valid for at least this long is sent as it is. */
const LONG_MS = 30 * 60_000;
/** A link that is valid for less, even after a lookup of its task, is not sent. */
const SHORT_MS = 5 * 60_000;

/** The link of an output; sending it counts as a download, which is recorded first. */
async function linkOf(job: Job, role: string, named: string, ctx: Context): Promise<string> {
  const ledger = await ctx.ledger();
  const of = await again(job, ctx);
  const family = await findFamily(of.family);
  let { url, leftMs } = linkIn(of, family, role, ctx);
  if (leftMs < LONG_MS) ({ url, leftMs } = await lookedUp(of, url, leftMs, role, ctx));
  const id = of.id ?? of.key;
  const hint = 'put the file where the gateway can fetch it and give its https:// URL';
  if (url === undefined)
    throw usage(
      `${named}: it came with the reply of job ${id} and has no address, and only an address is taken here`,
      hint,
    );
  if (leftMs < SHORT_MS) {
    const what = `${named}: the link of job ${id} has less than 5 min to live`;
    throw new GwError('download', what, { taskId: id, hint });
  }
  const journal = journalOf(of, (event) => ledger.append(of.key, event));
  const limits = { maxDownloads: family?.maxDownloads, force: false, hint };
  new GetBudget({ id, outputs: 1, journal, ...limits, warn: ctx.io.warn }).take(role);
  return url;
}

function linkIn(job: Job, family: Family | undefined, role: string, { clock }: Context) {
  const url = taskOf(job, family)?.outputs.find((output) => output.role === role)?.url;
  const endMs = family && linkExpiresAtMs(job, family);
  return { url, leftMs: endMs === undefined ? 0 : endMs - gatewayNowMs(job, clock.now()) };
}

/** The link from a new lookup of the task; an unchanged link keeps its remaining time. */
async function lookedUp(job: Job, before: string | undefined, leftMs: number, role: string, ctx: Context) {
  const family = await findTaskFamily(job.family);
  if (!family || job.id === undefined) return { url: before, leftMs };
  const { createFollowers } = await import('../commands/video/followers.ts');
  const access = await ctx.gatewayOf(job);
  const looker = await createFollowers(ctx).looker(family, access);
  const seen = await looker.look(job.id, { signal: ctx.signal, job });
  await recordLook(await ctx.ledger(), job.key, seen, job.status);
  const url = seen.view.outputs.find((output) => output.role === role)?.url;
  return url === before ? { url, leftMs } : { url, leftMs: family.linkLifeMs };
}
