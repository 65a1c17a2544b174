import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import * as z from 'zod/mini';
import { type AnyCommand, defineCommand } from '../command.ts';
import { type Context, EMBEDDED, gatewayName, makeContext } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { type Flag, type FlagSet, type FlagValues, flagName } from '../flags/flag.ts';
import { besideOf } from '../jobs/save/sidecar.ts';
import type { Job, KeptReference, KeptRequest } from '../ledger/event.ts';
import { sha256OfFile } from '../media/read-input.ts';
import { createCommands } from './batch/row-command.ts';
import { findAndWarn, jobIdSummary, namedJobs, namesGateway, notInLedger } from './jobs/find-jobs.ts';
import { fileLines, type JobResult, jobLines } from './video/follow-job.ts';

// A request of the ledger or of a sidecar is typed again: its flags under those that were typed now, through its own create.

/**
 * The flags of all creates, taken as words: what they mean is for the create of the job to say. Help shows what is alike in
 * all of them, and how one waits.
 */
function flagsOfAll(): FlagSet {
  const creates = Object.values(createCommands).map(({ flags }) => Object.entries<Flag>(flags));
  const byKey = new Map<string, Flag[]>();
  for (const [key, flag] of creates.flat()) byKey.set(key, [...(byKey.get(key) ?? []), flag]);
  const merged = [...byKey].flatMap(([key, flags]): [string, Flag][] => {
    const [first] = flags;
    if (!first) return [];
    const isList = flags.some(({ list }) => list);
    const choices = [...new Set(flags.flatMap(({ choices }) => choices ?? []))];
    const isAlike = flags.length === creates.length && (key === 'prompt' || first.group !== 'what');
    const flag: Flag = {
      ...first,
      list: isList,
      negatable: flags.some(({ negatable }) => negatable),
      choices: flags.every(({ choices }) => choices) ? choices : undefined,
      hidden: !isAlike && first.group !== 'waiting',
      ...(first.value !== undefined && { parse: (raw: string) => (isList ? [raw] : raw) }),
    };
    return [[key, flag]];
  });
  return Object.fromEntries(merged);
}

/** `gw again ID|FILE|last [flags]`: one more paid job of the same request. */
export const again = defineCommand<FlagSet, JobResult>({
  about: 'Make the same request anew, with the flags that are typed laid over it: one more paid job.',
  args: {
    name: 'ID|FILE',
    summary: `${jobIdSummary}; or an output that gw has saved`,
    required: true,
    completes: 'output',
  },
  flags: flagsOfAll(),
  examples: [
    'gw again last --sandbox --resolution 480p --wait',
    'gw again last --sandbox -p "the boat at night" --dry-run',
  ],
  notes: [
    'Takes every flag of the create that made the job (gw video alpha create --help). Not taken over: --wait, --out, --once, ' +
      '--queue; local files are read again and must hold what they held. It goes to the gateway that the job was made at, ' +
      'unless --profile, --base-url or --sandbox names another.',
  ],
  sends: 'body',
  human: (result, ctx, failed) =>
    result.family === 'image' ? fileLines(result) : jobLines(result, ctx, failed),
  async *run({ args: [word = ''], flags, globals }, ctx) {
    const source = await sourceOf(word, ctx);
    const create = createCommands[source.request.command];
    if (!create) {
      throw usage(
        `job ${source.id} was made by gw ${source.request.command}, which this gw does not have`,
        'upgrade gw',
      );
    }
    const typed = typedFor(create, source.request.command, flags);
    const isTyped = (key: string) =>
      key in typed || (key === 'set' && globals.set) || (key === 'body' && globals.body);
    refuseLacking(source, word, isTyped);
    await refuseChanged(source, word, isTyped);
    const { own, close } = await contextOf(source, ctx);
    try {
      const { args, flags: all, ...rest } = layOver(source, typed, own);
      const outcome = create.run({ args, flags: all, globals: rest.ctx.globals }, rest.ctx);
      if (Symbol.asyncIterator in outcome) yield* outcome as AsyncIterable<{ value?: JobResult }>;
      else yield (await outcome) as { value?: JobResult };
    } finally {
      await close();
    }
  },
});

/** A request that was made, under the name it is spoken of. */
interface Source {
  readonly id: string;
  readonly request: KeptRequest;
  readonly prompt: string | undefined;
  /** Undefined where only a sidecar tells of it. */
  readonly job: Job | undefined;
}

async function sourceOf(word: string, ctx: Context): Promise<Source> {
  const file = path.resolve(ctx.host.cwd, word);
  const isFile = word !== 'last' && fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  if (!isFile && /[/\\]/.test(word))
    throw usage(`${word}: no such file`, 'name an output that gw has saved, or a job');
  const sidecar = isFile ? readSidecar(file) : undefined;
  const job = isFile ? await jobOfFile(file, sidecar?.id, ctx) : await jobOfId(word, ctx);
  if (job) {
    const id = job.id ?? job.key;
    return { id, request: job.request ?? rebuilt(id, job), prompt: job.prompt, job };
  }
  if (sidecar) {
    const { id, prompt } = sidecar;
    return { id, request: rebuilt(id, sidecar), prompt, job: undefined };
  }
  if (!isFile) throw notInLedger(word, ctx);
  throw new GwError('not_found', `${word}: gw did not save this file, or its ledger no longer knows it`, {
    hint: 'gw jobs list shows the jobs this user created',
  });
}

/** A job of the gateway that flags name, else of any: a rehearsal is made again where it counts. */
async function jobOfId(word: string, ctx: Context): Promise<Job | undefined> {
  const [named] = await namedJobs([word], ctx);
  if (named?.known || !namesGateway(ctx)) return named?.known?.job;
  const { profile: _profile, baseUrl: _baseUrl, sandbox: _sandbox, ...globals } = ctx.globals;
  const [anywhere] = await namedJobs([word], { ...ctx, globals, ownsJob: async () => true });
  return anywhere?.known?.job;
}

/** The job of an output: by its sidecar, its path, or what it holds, wherever it lies now. */
async function jobOfFile(file: string, id: string | undefined, ctx: Context): Promise<Job | undefined> {
  if (id !== undefined) {
    const [job] = await findAndWarn({ ids: [id] }, ctx);
    if (job) return job;
  }
  const sha256 = await sha256OfFile(file);
  const [job] = await findAndWarn(
    { limit: 1, where: ({ files }) => files.some((each) => each.path === file || each.sha256 === sha256) },
    ctx,
  );
  return job;
}

const textOrNull = z.pipe(
  z.nullable(z.string()),
  z.transform((text) => text ?? undefined),
);

/** What a sidecar says of the request. */
const Sidecar = z.object({
  id: z.string(),
  family: z.string(),
  model: textOrNull,
  prompt: textOrNull,
  settings: z.record(z.string(), z.unknown()),
  references: z.array(z.custom<KeptReference>()),
});

const LARGEST_SIDECAR = 1 << 20;

/** The sidecar of an output; undefined where what lies there is none. */
function readSidecar(output: string): z.infer<typeof Sidecar> | undefined {
  const file = besideOf(output);
  const { size = Number.POSITIVE_INFINITY } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
  if (size > LARGEST_SIDECAR) return undefined;
  try {
    return Sidecar.safeParse(JSON.parse(fs.readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/**
 * The request of a job of which only model, prompt and settings are known: of a sidecar, or of an older gw. Throws `usage`
 * where that is not all it was made of.
 */
function rebuilt(
  id: string,
  job: Pick<Job, 'family' | 'model' | 'prompt' | 'settings' | 'references'> & { readonly endpoint?: string },
): KeptRequest {
  const { family, endpoint, prompt, settings, references = [], model } = job;
  const command = { alpha: 'video alpha', gamma: 'video gamma', image: 'image create' }[family];
  const isPlain = endpoint === undefined || /^(alpha\.create|gamma\.create|image\.generate)$/.test(endpoint);
  if (command === undefined || !isPlain || references.length > 0 || prompt === undefined) {
    throw usage(
      `what is kept of job ${id} is not enough to make its request again`,
      'jobs keep their request since this version of gw; make it with its create command',
    );
  }
  const { callback_url: _, ...body } = settings;
  return { command, flags: { ...(model && { model }) }, body, prompted: true, files: {} };
}

/** The typed words as the create reads them. Throws `usage` for a flag that it does not take. */
function typedFor(
  { flags: takes }: AnyCommand,
  command: string,
  typed: FlagValues<FlagSet>,
): Record<string, unknown> {
  const words = command.startsWith('video') ? `${command} create` : command;
  return Object.fromEntries(
    Object.entries(typed).map(([key, value]) => {
      const flag = (takes as FlagSet)[key];
      const name = flagName(key);
      if (!flag)
        throw usage(`${name}: not a flag of gw ${words}, which made this job`, `see gw ${words} --help`);
      if (flag.value === undefined) return [key, value];
      const raws = [...new Set([value].flat().map(String))];
      if (!flag.list && raws.length > 1) {
        throw usage(
          `${name} was given twice with different values: ${raws[0]} and ${raws[1]}`,
          'give it once',
        );
      }
      const parsed = raws.map((raw) => flag.parse(raw, name));
      return [key, flag.list ? parsed.flat() : parsed[0]];
    }),
  );
}

/** Throws `usage` for what the ledger does not keep of the request and was not typed anew. */
function refuseLacking(
  { id, request, prompt }: Source,
  word: string,
  isTyped: (key: string) => unknown,
): void {
  if (request.prompted && prompt === undefined && !isTyped('prompt') && !isTyped('shot')) {
    throw usage(
      `the prompt of job ${id} is not in the ledger: GW_LEDGER_PROMPTS=off keeps prompts out`,
      `give it: gw again ${word} --prompt TEXT`,
    );
  }
  const lacking = request.lacks?.find((key) => !isTyped(key) && !(key === 'shot' && isTyped('prompt')));
  if (lacking === undefined) return;
  throw usage(
    `${flagName(lacking)} of job ${id} is not in the ledger, which keeps no data, no link with a query, ` +
      'and under GW_LEDGER_PROMPTS=off no prompt',
    `give it anew: gw again ${word} ${flagName(lacking)} …`,
  );
}

/** Throws `usage` for a local file that no longer holds what it held. */
async function refuseChanged(
  { id, request }: Source,
  word: string,
  isTyped: (key: string) => unknown,
): Promise<void> {
  for (const [key, value] of Object.entries(request.flags)) {
    if (isTyped(key)) continue;
    for (const raw of [value].flat()) {
      const file = String(raw).replace(/^[\p{L}\p{N}_-]{1,64}=/u, '');
      const sha256 = request.files[file];
      if (sha256 === undefined) continue;
      const now = await sha256OfFile(file).catch(() => undefined);
      if (now === sha256) continue;
      throw usage(
        `${flagName(key)} ${file}: the file ${now === undefined ? 'can no longer be read' : 'has changed'} since job ${id} was made`,
        `name the one that is meant: gw again ${word} ${flagName(key)} FILE`,
      );
    }
  }
}

/** The world in which the request is made: of the gateway that flags name, else of the one that the job was made at. */
async function contextOf(
  { id, job }: Source,
  ctx: Context,
): Promise<{ own: Context; close: () => Promise<void> }> {
  const here = { own: ctx, close: async () => {} };
  if (namesGateway(ctx) || job === undefined) return here;
  const inForce = gatewayName(await ctx.settings());
  if (inForce === job.gateway) return here;
  const of = job.gateway === EMBEDDED ? { sandbox: true } : { profile: job.profile };
  const { ctx: own, close } = makeContext({ ...ctx, globals: { ...ctx.globals, ...of } });
  const there = await own.settings().then(gatewayName, () => undefined);
  if (there === job.gateway) return { own, close };
  await close();
  throw usage(
    `job ${id} was made at ${job.gateway}, and the gateway in force is ${inForce || 'none'}`,
    'name the one to make it at with --profile or --base-url',
  );
}

/** What was asked for then, under what is typed now. */
function layOver({ request, prompt }: Source, typed: Record<string, unknown>, ctx: Context) {
  const { apiKeyFile: _, preset: _preset, set = [], body, ...globals } = ctx.globals;
  const takesPrompt = request.prompted && !('prompt' in typed) && !('shot' in typed);
  const { shot, ...flags } = request.flags;
  const keepsShot = shot !== undefined && !('prompt' in typed);
  const sets = [...(request.set ?? []).filter((each) => !isOf(each, typed)), ...set];
  const kept = body === undefined ? request.body : undefined;
  const stdin = Readable.from(kept === undefined ? [] : [Buffer.from(JSON.stringify(kept))]);
  return {
    args: takesPrompt && prompt !== undefined ? [prompt] : [],
    flags: { ...flags, ...(keepsShot && { shot }), ...typed },
    ctx: {
      ...ctx,
      host: { ...ctx.host, ...(!asksStdin(typed, body) && { stdin }) },
      globals: {
        ...globals,
        ...(sets.length > 0 && { set: sets }),
        ...(kept !== undefined ? { body: '-' } : body !== undefined && { body }),
      },
    } satisfies Context,
  };
}

const asksStdin = ({ prompt }: Record<string, unknown>, body: string | undefined): boolean =>
  body === '-' || prompt === '-' || prompt === '@-';

/** Whether a --set is of the field that a typed flag is named after: `settings.aspect_ratio=…` and --aspect-ratio. */
function isOf(set: string, typed: Record<string, unknown>): boolean {
  const field = set.slice(0, set.indexOf('=')).split('.').at(-1) ?? '';
  return Object.hasOwn(
    typed,
    field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  );
}
