import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import * as z from 'zod/mini';
import { promptKeys, readWritten } from '../batch/rows.ts';
import { type AnyCommand, defineCommand } from '../command.ts';
import { type Context, gatewayName, makeContext, namesGateway } from '../context.ts';
import { confinedPaths } from '../disk/confined-path.ts';
import { readRegular, sha256OfFile } from '../disk/small-file.ts';
import { GwError, usage } from '../errors.ts';
import { confineFiles } from '../flags/body-flags.ts';
import { type Flag, type FlagSet, type FlagValues, flagName, mayStandIn, on } from '../flags/flag.ts';
import { budgetFlags, pollFlags, saveFlags, waitFlags } from '../flags/job-flags.ts';
import { applySet, assertSafeJson, type BodySet, parseSet } from '../flags/json-body.ts';
import { baseBody, refuseSharedStdin } from '../flags/prompt.ts';
import { valueAt } from '../gateway/body.ts';
import { isObject, quietly } from '../host.ts';
import { besideOf } from '../jobs/save/output-path.ts';
import { type Job, type KeptRequest, mayExist } from '../ledger/event.ts';
import { EMBEDDED } from '../ledger/job-key.ts';
import { withDefaults } from '../presets.ts';
import { strangersDoor } from '../shots/outputs.ts';
import { askFirst, refuseUnasked } from './ask-first.ts';
import { createCommands, creates } from './batch/row-command.ts';
import { jobIdSummary, namedJobs, notInLedger } from './jobs/jobs-by-id.ts';
import { fileLines, type JobResult, jobLines } from './video/follow-job.ts';

// Repeats a request of the ledger or of a sidecar through its create command; flags typed now replace the kept ones.

/**
 * The flags of all create commands, parsed as plain words; the job's own create command interprets them. Help shows the
 * flags that all of them share, and the wait flags.
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
    const isAlike =
      flags.length === creates.length && (key === 'prompt' || key === 'promptFile' || first.group !== 'what');
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

/** `gw again ID|FILE|last [flags]` makes one more paid job of the same request. */
export const again = defineCommand<FlagSet, JobResult>({
  about: 'Make the same request anew, with the flags that are typed laid over it: one more paid job.',
  args: {
    name: 'ID|FILE',
    summary: `${jobIdSummary}; or an output that gw has saved`,
    required: true,
    completes: 'output',
  },
  flags: { ...flagsOfAll(), yes: on('make it without a question, also where the job may exist already') },
  examples: [
    'gw video alpha create --sandbox "a paper boat" --resolution 480p',
    'gw again last --sandbox --resolution 720p --wait',
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
    refuseSharedStdin([], { ...globals, ...flags });
    const named = await sourceOf(word, ctx);
    const { command } = named.request;
    const create = Object.hasOwn(createCommands, command) ? createCommands[command] : undefined;
    if (!create)
      throw usage(`job ${named.id} was made by gw ${command}, which this gw does not have`, 'upgrade gw');
    const { yes, ...words } = flags;
    const typed = typedFor(create, command, 'yes' in create.flags ? flags : words);
    const { set, body } = globals;
    const given: Record<string, unknown> = { prompt: typed.promptFile, ...typed, set, body };
    const isTyped = (key: string) => given[key] !== undefined;
    refuseLacking(named, word, isTyped);
    let close = async () => {};
    try {
      const kept = Object.entries(named.request.flags).filter(([key]) => !isTyped(key));
      const request = { ...named.request, flags: Object.fromEntries(kept) };
      const source = withFiles({ ...named, request, outputs: ctx.outputs }, create, word);
      await refuseChanged(source, word);
      const { own, ...world } = await contextOf(source, ctx);
      close = world.close;
      await askWhereItMayExist(source, yes === true, own);
      const { flags: all, ctx: laid } = await layOver(source, typed, create.flags, own);
      const input = { args: [], flags: all, globals: laid.globals };
      const called = { path: command.split(' '), command: create };
      const said = withDefaults(input, called, (await own.settings()).defaults, saysHow(own));
      own.afterSave.command ??= said.flags.exec as string | undefined;
      const outcome = create.run(said, { ...laid, outputs: source.outputs });
      if (Symbol.asyncIterator in outcome) yield* outcome as AsyncIterable<{ value?: JobResult }>;
      else yield (await outcome) as { value?: JobResult };
    } catch (error) {
      throw named.dir === undefined ? error : inSidecar(besideOf(word), error);
    } finally {
      await close();
    }
  },
});

/** A request that was made before, with the ID that messages use for it. */
interface Source {
  readonly id: string;
  readonly request: KeptRequest;
  readonly prompt: string | undefined;
  /** Undefined if only a sidecar describes the request. */
  readonly job: Job | undefined;
  /** The directory of the sidecar, which may name only files below it. */
  readonly dir?: string;
  /** The outputs of jobs that an untrusted sidecar may name. */
  readonly outputs?: Context['outputs'];
}

async function sourceOf(word: string, ctx: Context): Promise<Source> {
  const file = path.resolve(ctx.host.cwd, word);
  const isFile = word !== 'last' && fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  const sidecar = isFile ? readSidecar(file) : undefined;
  const isPath = !isFile && /[/\\]/.test(word);
  const named = await jobOfId(word, ctx).catch((error: unknown) => {
    // The word is the name of a file after all: such names, and --once keys with a slash, can look like a wrong ID.
    if ((isFile || isPath) && error instanceof GwError && error.kind === 'usage') return undefined;
    throw error;
  });
  const job = named ?? (sidecar?.id && (await (await ctx.ledger()).find({ ids: [sidecar.id] }))[0]);
  if (job) {
    const id = job.id ?? job.key;
    return { id, request: job.request ?? rebuilt(id, job), prompt: job.prompt, job };
  }
  if (sidecar) {
    const { id, prompt } = sidecar;
    try {
      if (prompt === '-')
        throw usage('prompt -: a sidecar reads no stdin', `give it: gw again ${word} --prompt -`);
      const request = sidecar.request ? requestOf(sidecar.request) : rebuilt(id, sidecar);
      return { id, request, prompt, job: undefined, dir: path.dirname(file) };
    } catch (error) {
      throw inSidecar(besideOf(word), error);
    }
  }
  if (isPath) throw usage(`${word}: no such file`, 'name an output that gw has saved, or a job');
  if (!isFile) throw notInLedger(word, ctx);
  throw new GwError('not_found', `${word}: gw did not save this file, or its ledger no longer knows it`, {
    hint: 'gw jobs list shows the jobs this user created',
  });
}

/** Prefixes an error in a sidecar's request with the sidecar's name. */
const inSidecar = (sidecar: string, error: unknown): unknown =>
  error instanceof GwError && error.kind === 'usage'
    ? error.told({}, `the request of ${sidecar}: ${error.message}`)
    : error;

/** Finds the job at the gateway that the flags name, or at any: a sandbox job can be repeated at a real gateway. */
async function jobOfId(word: string, ctx: Context): Promise<Job | undefined> {
  const [named] = await namedJobs([word], ctx);
  if (named?.known || !namesGateway(ctx)) return named?.known?.job;
  const { profile: _profile, baseUrl: _baseUrl, sandbox: _sandbox, ...globals } = ctx.globals;
  const [anywhere] = await namedJobs([word], { ...ctx, globals, ownsJob: async () => true });
  return anywhere?.known?.job;
}

const textOrNull = z.pipe(
  z.nullable(z.string()),
  z.transform((text) => text ?? undefined),
);

/** The fields of a sidecar that describe its request. */
const Sidecar = z.object({
  id: z.string(),
  family: z.string(),
  model: textOrNull,
  prompt: textOrNull,
  settings: z.record(z.string(), z.unknown()),
  references: z.array(z.object({ name: z.string(), sha256: z.optional(z.string()) })),
  // Sidecars of an older gw lack this field.
  request: z.optional(
    z.object({
      command: z.string(),
      flags: z.record(z.string(), z.unknown()),
      set: z.optional(z.array(z.string())),
      body: z.optional(z.record(z.string(), z.unknown())),
      prompted: z.boolean(),
      files: z.record(z.string(), z.string()),
      outputs: z.optional(z.record(z.string(), z.string())),
      lacks: z.optional(z.array(z.string())),
    }),
  ),
});

const LARGEST_SIDECAR = 1 << 20;

function readSidecar(output: string): z.infer<typeof Sidecar> | undefined {
  const said: unknown = quietly(() => JSON.parse(readRegular(besideOf(output), LARGEST_SIDECAR).toString()));
  if (said === undefined) return undefined;
  // The schema would silently drop unsafe JSON.
  assertSafeJson(said, `the request of ${besideOf(output)}`);
  return Sidecar.safeParse(said).data;
}

/** Reads a sidecar's request as strictly as an untrusted manifest row. Throws `usage` for what a sidecar may not say. */
function requestOf(said: KeptRequest): KeptRequest {
  const { command, flags, set = [], body } = said;
  const takes: FlagSet = creates[command] ?? {};
  const odd = Object.keys(flags).find(
    (key) => !Object.hasOwn(takes, key) || !mayStandIn(takes[key] ?? {}, 'sidecar'),
  );
  if (odd !== undefined && creates[command])
    throw usage(`${flagName(odd)} does not stand in a sidecar`, 'make it with its create command');
  const { flags: values } = readWritten(
    { row: 1, line: 1, key: '', command, set, body, said: flags },
    creates,
  );
  return { ...said, flags: values };
}

/** Maps a job's family to the command that can repeat a request from its model, prompt and settings alone. */
const rebuildable = new Map([
  ['alpha', 'video alpha'],
  ['gamma', 'video gamma'],
  ['image', 'image create'],
]);

/**
 * Rebuilds a request from model, prompt and settings, which is all that a sidecar or an older gw keeps. Throws `usage` if
 * the job was made from more than these.
 */
function rebuilt(
  id: string,
  job: Pick<Job, 'family' | 'model' | 'prompt' | 'settings' | 'references'> & { readonly endpoint?: string },
): KeptRequest {
  const { family, endpoint, prompt, settings, references = [], model } = job;
  const command = rebuildable.get(family);
  const isPlain = endpoint === undefined || /^(alpha\.create|gamma\.create|image\.generate)$/.test(endpoint);
  if (command === undefined || !isPlain || references.length > 0 || prompt === undefined)
    throw usage(
      `what is kept of job ${id} is not enough to make its request again: an older gw made it`,
      'make it with its create command',
    );
  // The settings come from an untrusted file, so fields that only a typed flag may set are dropped.
  const isTyped = new Set(
    Object.values<Flag>(createCommands[command]?.flags ?? {}).flatMap((flag) =>
      flag.field && !mayStandIn(flag, 'sidecar') ? [flag.field.join('.')] : [],
    ),
  );
  const body = Object.fromEntries(Object.entries(settings).filter(([name]) => !isTyped.has(name)));
  return { command, flags: { ...(model && { model }) }, body, prompted: true, files: {} };
}

const howFlags: FlagSet = { ...waitFlags, ...pollFlags, ...saveFlags, ...budgetFlags };

/** Returns whether a default is taken over: limits, waiting and saving, and for an agent only what a row may say too. */
function saysHow({ agentLimits }: Context): (name: string) => boolean {
  const isMeant = ([key, flag]: [string, Flag]) =>
    agentLimits === undefined || key in budgetFlags || mayStandIn(flag, 'row');
  const meant = Object.entries(howFlags).filter(isMeant);
  const names = new Set(meant.map(([key]) => flagName(key).slice(2)));
  return (name) => names.has(name.replace(/^no-/, ''));
}

/** Asks before repeating a job that may exist. Throws `usage` for a no, or off a terminal without --yes. */
async function askWhereItMayExist({ id, job }: Source, yes: boolean, ctx: Context): Promise<void> {
  if (!job || !mayExist(job)) return;
  const what = `job ${id} may exist: it was sent, and its outcome is not known`;
  refuseUnasked(`${what}; gw again would pay for another`, yes, ctx);
  const { dryRun, curl } = ctx.globals;
  if (!yes && !dryRun && !curl)
    await askFirst(`The outcome of job ${id} is not known. Make another?`, ctx, 'nothing was sent');
}

/** Parses the typed words as the create command does. Throws `usage` for a flag that it does not accept. */
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
      if (!flag.list && raws.length > 1)
        throw usage(
          `${name} was given twice with different values: ${raws[0]} and ${raws[1]}`,
          'give it once',
        );
      const parsed = raws.map((raw) => flag.parse(raw, name));
      return [key, flag.list ? parsed.flat() : parsed[0]];
    }),
  );
}

/** Throws `usage` for a part of the request that the ledger does not keep and that was not typed. */
function refuseLacking(
  { id, request, prompt, dir }: Source,
  word: string,
  isTyped: (key: string) => unknown,
): void {
  const record = dir === undefined ? 'the ledger' : 'its sidecar';
  if (request.prompted && prompt === undefined && !isTyped('prompt') && !isTyped('shot'))
    throw usage(
      `the prompt of job ${id} is not in ${record}: GW_LEDGER_PROMPTS=off keeps prompts out`,
      `give it: gw again ${word} --prompt TEXT`,
    );
  const lacking = request.lacks?.find((key) => !isTyped(key) && !(key === 'shot' && isTyped('prompt')));
  if (lacking === undefined) return;
  throw usage(
    `${flagName(lacking)} of job ${id} is not in ${record}, which keeps no data, ` +
      `no link${dir === undefined ? ' with a query' : ''}, and under GW_LEDGER_PROMPTS=off no prompt`,
    `give it anew: gw again ${word} ${flagName(lacking)} …`,
  );
}

/** Resolves the sidecar's file names to files beside it. Throws `usage` for a missing file, or one elsewhere. */
function withFiles(source: Source, { flags }: AnyCommand, word: string): Source {
  const { dir, request } = source;
  if (dir === undefined) return source;
  const hint = `put it there, or name it: gw again ${word} with the flag and the file`;
  const confined = confinedPaths({ dir, what: 'the folder of the sidecar', hint });
  const files: Record<string, string> = {};
  const placed = confineFiles(request.flags, flags, (file, named) => {
    if (!fs.existsSync(path.resolve(dir, file))) throw usage(`${named}: no such file beside ${word}`, hint);
    const real = confined(file, named);
    const sha256 = request.files[file];
    if (sha256 !== undefined) files[real] = sha256;
    return real;
  });
  const outputs = strangersDoor(request.flags, confined, source.outputs);
  return { ...source, request: { ...request, flags: { ...request.flags, ...placed }, files }, outputs };
}

/** Throws `usage` for a local file whose content has changed since the job was made. */
async function refuseChanged({ id, request }: Source, word: string): Promise<void> {
  for (const [key, value] of Object.entries(request.flags)) {
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

/** The context for the new request: the gateway that the flags name, else the gateway of the job. */
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

async function layOver(
  { request, prompt }: Source,
  typed: Record<string, unknown>,
  takes: FlagSet,
  ctx: Context,
) {
  const { apiKeyFile: _, preset: _preset, set = [], ...globals } = ctx.globals;
  const own = globals.body === undefined ? undefined : await baseBody(ctx);
  const base = own ?? request.body;
  // A list of the typed --body is whole: no kept item is laid over it.
  const says = (path: Path) => {
    const value = valueAt(own, path) ?? valueAt(own, path.slice(0, -1));
    return value !== undefined && !isObject(value);
  };
  const keptSets = request.set?.filter((raw) => !says(parseSet(raw).path)) ?? [];
  const { sets, holders } = underTyped(typed, keptSets, takes);
  const body = holders.length > 0 ? holders.reduce(applySet, base ?? {}) : base;
  const hasPrompt =
    promptKeys.some((key) => key in typed) || promptPaths.some(([list = '']) => says([list, 'any']));
  const kept = Object.entries({ ...(request.prompted && { prompt }), ...request.flags }).filter(
    ([key]) => !(promptKeys.includes(key) ? hasPrompt : says(takes[key]?.field ?? [key])),
  );
  return {
    flags: { ...Object.fromEntries(kept), ...typed },
    ctx: {
      ...ctx,
      host: { ...ctx.host, ...(refuseSharedStdin([], typed) && { stdin: Readable.from([]) }) },
      globals: {
        ...globals,
        ...(sets.length + set.length > 0 && { set: [...sets, ...set] }),
        ...(body && { body }),
      },
    } satisfies Context,
  };
}

type Path = readonly string[];

/**
 * The kept --sets for typed flags: without those of a flag's field or a part of it. `holders` are those that hold the
 * field: the create lays all flags over them.
 */
function underTyped(typed: Record<string, unknown>, kept: readonly string[], takes: FlagSet) {
  const fields = Object.keys(typed).flatMap((key): readonly Path[] =>
    promptKeys.includes(key) ? promptPaths : [takes[key]?.field ?? [key]],
  );
  const isIn = (path: Path, above: Path) => above.every((step, depth) => step === path[depth]);
  const isLeft = ({ path }: BodySet) => !fields.some((field) => isIn(path, field));
  const left = kept.map((raw) => ({ raw, ...parseSet(raw) })).filter(isLeft);
  const holders = left.filter(({ path }) => fields.some((field) => isIn(field, path)));
  const stands = ({ path }: BodySet, at: number) =>
    !left.slice(at).some((later) => holders.includes(later) && isIn(path, later.path));
  return { sets: left.filter(stands).map(({ raw }) => raw), holders };
}

/** The paths of the prompt, or of the item that holds it, in the bodies of all families. */
const promptPaths: readonly Path[] = [['prompt'], ['content', '0'], ['contents', '0', 'parts', '0']];
