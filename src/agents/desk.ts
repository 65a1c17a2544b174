import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import type * as z from 'zod/mini';
import { askedDigest, type Row, readRows } from '../batch/rows.ts';
import { type AnyCommand, type Outcome, type RowStream, ShownRequest } from '../command.ts';
import { again } from '../commands/again.ts';
import { balance } from '../commands/balance.ts';
import {
  type CheckedRow,
  createCommands,
  createRow,
  creates,
  doorOf,
  flagsOf,
  type RowFiles,
  rowChecker,
  silent,
} from '../commands/batch/row-command.ts';
import { refuseOverBudget } from '../commands/before-create.ts';
import { knownJob } from '../commands/jobs/jobs-by-id.ts';
import { list } from '../commands/jobs/list.ts';
import { show } from '../commands/jobs/show.ts';
import { endedOutcome } from '../commands/jobs/task-job.ts';
import { wait } from '../commands/jobs/wait.ts';
import { list as models } from '../commands/models.ts';
import { lastOfKey } from '../commands/once.ts';
import { type JobResult, resultIn } from '../commands/video/follow-job.ts';
import { createFollowers } from '../commands/video/followers.ts';
import { type Context, gatewayName } from '../context.ts';
import { confinedPaths, isInside } from '../disk/confined-path.ts';
import { GwError, Interrupted, usage } from '../errors.ts';
import { confineFiles } from '../flags/body-flags.ts';
import { onceFlags } from '../flags/job-flags.ts';
import { nearest } from '../flags/nearest.ts';
import { modelSheets } from '../gateway/model-facts/sheets.ts';
import { aborted, once } from '../host.ts';
import { JobEvents } from '../jobs/job-events.ts';
import type { JobView } from '../jobs/job-view.ts';
import { splitTarget } from '../jobs/save/output-path.ts';
import type { Job } from '../ledger/event.ts';
import { originOfGateway } from '../ledger/job-key.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { defaultsOf } from '../presets.ts';
import { settingsOf, type Tool, type ToolFile, type ToolName, tools } from './tools.ts';

// The tools of `gw mcp`: a call becomes a batch row, which is created under its key and within the limits for agents. The
// job goes on when the call ends.

/** The longest call; most clients give up after a minute, some earlier. */
const CALL_MS = 40_000;
const SPARE_MS = 2_000;
const PROGRESS_EVERY_MS = 5_000;

export interface Caller {
  /** Aborted if the client no longer waits for the answer. */
  readonly signal: AbortSignal;
  readonly beganMs: number;
  readonly progress: (text: string) => void;
  /** Set with --confirm: resolves if the user has agreed to this payment, and rejects otherwise. */
  readonly confirm?: ((question: string) => Promise<void>) | undefined;
}

export interface Answer {
  readonly value: Readonly<Record<string, unknown>>;
  readonly files?: JobResult['files'];
  /** True if the answer contains no pictures of the files. */
  readonly isBrief?: boolean;
  readonly error?: unknown;
}

/** A job that this server creates or waits for. */
interface Work {
  readonly key: string;
  /** Identifies the request; absent if the job is only waited for. */
  readonly asked?: string | undefined;
  readonly done: Promise<Answer>;
  readonly watchers: Set<(text: string) => void>;
  id?: string | undefined;
  status: string;
}

/** Creates a job or continues the one of its key; with `wait` false it returns at once. */
type Make = (ctx: Context, wait?: boolean) => Promise<Outcome<JobResult>>;

type Arguments = Readonly<Record<string, unknown>> & {
  readonly id?: string;
  readonly key?: string;
  readonly prompt?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
};

export class Desk {
  readonly #works = new Map<string, Work>();

  private constructor(
    private readonly ctx: Context,
    private readonly files: RowFiles,
    /** Ends the waits; a create under way is still awaited. */
    private readonly stop: AbortController,
  ) {}

  /** Opens the desk on the real paths of --root and --out. */
  static async open({ root, out }: Record<'root' | 'out', string>, ctx: Context): Promise<Desk> {
    const settings = await ctx.settings();
    const gateway = gatewayName(settings);
    const origin = originOfGateway(gateway);
    const stop = new AbortController();
    const own: Context = {
      ...ctx,
      signal: stop.signal,
      // Stdin carries the protocol.
      host: { ...ctx.host, cwd: out, stdin: Readable.from([]) },
      // Agents can only reach jobs of this gateway.
      globals: { ...ctx.globals, ...(!settings.sandbox && gateway && { baseUrl: gateway }) },
      ownsJob: async (job) => job.gateway !== '' && originOfGateway(job.gateway) === origin,
      io: {
        ...ctx.io,
        mode: { ...ctx.io.mode, json: true, bars: false },
        stdoutIsTerminal: false,
        stderrIsTerminal: false,
        progress: () => silent,
        awaiting: () => () => {},
      },
      ledger: once(async () => marked(await ctx.ledger())),
    };
    const hint = 'only the user can open more to it: gw mcp --root DIR';
    const files = { dir: root, confined: confinedPaths({ dir: root, what: '--root', hint }) };
    return new Desk({ ...own, followers: createFollowers(own) }, files, stop);
  }

  /** Ends the waits, and resolves when every create under way has its answer. */
  async close(): Promise<void> {
    this.stop.abort(new Interrupted('SIGTERM'));
    await Promise.allSettled([...this.#works.values()].map(({ done }) => done));
  }

  /** Throws the tool's error; an answer may also contain an error beside its value. */
  async call(name: string, given: unknown, caller: Caller): Promise<Answer> {
    const args = argumentsOf(name, given);
    const answer = this.#answer(name as ToolName, args, caller);
    answer.catch(() => {});
    // A job that goes on has answered before this timeout.
    const ended = await this.#within(answer, { ...caller, beganMs: caller.beganMs + SPARE_MS });
    if (ended) return ended;
    const hint = 'call it again later';
    throw new GwError('unavailable', `${name} has no answer after ${CALL_MS / 1000} s`, { hint });
  }

  /** Undefined if the call has used up its time. */
  async #within<T>(what: Promise<T>, { signal, beganMs }: Caller): Promise<T | undefined> {
    const { clock } = this.ctx;
    const timer = new AbortController();
    const leftMs = Math.max(0, beganMs + CALL_MS - clock.steady());
    const over = clock.sleep(leftMs, timer.signal).catch(() => {});
    try {
      return await Promise.race([what, over.then(() => undefined), aborted(signal).then(() => undefined)]);
    } finally {
      timer.abort();
    }
  }

  async #answer(name: ToolName, args: Arguments, caller: Caller): Promise<Answer> {
    switch (name) {
      case 'make_video':
        return this.#make(name, `video ${args.family}`, args, caller);
      case 'make_image':
        return this.#make(name, `image ${args.command ?? 'create'}`, args, caller);
      case 'make_again':
        return this.#makeAgain(args, caller);
      case 'wait_for_job':
        return this.#wait(args.id ?? '', caller);
      case 'get_job':
        return this.#tell(args.id ?? '');
      case 'list_jobs': {
        const { rows } = (await this.#run(list, [], { limit: 20, ...args })) as RowStream<JobView>;
        const jobs: object[] = [];
        for await (const job of rows) jobs.push(brief(job));
        return { value: { jobs } };
      }
      case 'list_models':
        return { value: await this.#models(args as { family?: string; command?: string }) };
      case 'get_balance': {
        const { json } = (await this.#run(balance)) as { json: Record<string, unknown> };
        return { value: json };
      }
    }
  }

  async #run(command: AnyCommand, args: readonly string[] = [], flags = {}): Promise<unknown> {
    const ran = command.run({ args, flags, globals: this.ctx.globals }, this.ctx);
    const { value, error } = await outcomeOf(ran);
    if (error !== undefined) throw error;
    return value;
  }

  async #make(name: ToolName, command: string, args: Arguments, caller: Caller): Promise<Answer> {
    const row = await this.#rowOf(command, args);
    const question = async () => {
      const checked = await rowChecker(this.files, this.ctx)(row);
      return this.#question(`${name} (${command})`, args.prompt, checked);
    };
    const make: Make = (own, wait = true) => createRow(row, this.files, { rows: 1, wait }, own);
    return this.#pay(row.key, askedDigest(row), question, make, caller);
  }

  async #makeAgain(args: Arguments, caller: Caller): Promise<Answer> {
    // A blind retry would name the job that the first call has made, and pay for another one.
    if (args.id === 'last' && args.key === undefined)
      throw usage('id: last names another job after each make', 'give the ID that a tool has told, or a key');
    const { job } = await knownJob([args.id ?? ''], this.ctx);
    const { request } = job;
    const create = request && createCommands[request.command];
    if (!create) throw usage(`id: what is kept of job ${args.id} is not enough to make it again`);
    const row = await this.#rowOf(request.command, args, job.key);
    const { dir, confined } = this.files;
    for (const file of Object.keys(request.files))
      confined(file, `id: ${file}, which job ${args.id} was made of`);
    const make: Make = async (ctx, wait = true) => {
      const typed = confineFiles(await flagsOf(row, 1, ctx), create.flags, confined);
      const said = { ...typed, once: row.key, ...('wait' in create.flags && { wait, queue: wait }) };
      const own = {
        ...ctx,
        outputs: doorOf(this.files),
        host: { ...ctx.host, cwd: dir, stdin: Readable.from(['-']) },
      };
      return outcomeOf(again.run({ args: [job.key], flags: said, globals: ctx.globals }, own));
    };
    const question = async () => {
      const { value, error } = await make({ ...this.ctx, globals: { ...this.ctx.globals, dryRun: true } });
      if (!(value instanceof ShownRequest) || !value.asked) throw error;
      const { estimate, asked } = value;
      return this.#question(`make_again ${args.id}`, args.prompt ?? job.prompt, { estimate, ...asked });
    };
    return this.#pay(row.key, job.key + askedDigest(row), question, make, caller);
  }

  /** The question for --confirm. Throws `budget` if a limit refuses the payment, so that nobody is asked in vain. */
  async #question(
    what: string,
    prompt = '',
    { estimate, request }: Pick<CheckedRow, 'estimate' | 'request'>,
  ): Promise<string> {
    await refuseOverBudget(request, this.ctx);
    const isUnknown = estimate === undefined || 'unknown' in estimate;
    const cost = isUnknown ? 'its cost is not known' : `about ${estimate.amount} ${estimate.unit}`;
    return `Pay for this? ${what}, ${cost}: ${prompt}`;
  }

  /** Creates the job of a row once, or continues the existing job of its key. */
  async #pay(
    key: string,
    asked: string,
    question: () => Promise<string>,
    make: Make,
    caller: Caller,
  ): Promise<Answer> {
    const { current } = await lastOfKey(key, this.ctx);
    if (caller.confirm && !this.#works.has(key) && !current) await caller.confirm(await question());
    const known = this.#works.get(key) ?? this.#begin(key, make, asked);
    if (known.asked !== asked) {
      if (known.asked !== undefined || !current)
        throw usage(
          `key: ${key} names another request that is still running`,
          'give another key for a new job',
        );
      // The job was only waited for so far; its create checks that it was made from this request.
      const { error } = await make(this.ctx, false);
      if (error !== undefined) throw error;
    }
    return this.#follow(known, caller);
  }

  async #rowOf(command: string, { key, prompt, settings = {} }: Arguments, of?: string): Promise<Row> {
    const flags = createCommands[command]?.flags ?? {};
    const { maxCost, unpriced, prompt: promptFlag } = creates[command] ?? {};
    // The profile's limits apply to rows too.
    const own = { ...Object.fromEntries(settingsOf(flags)), prompt: promptFlag, maxCost, unpriced };
    const takes = Object.fromEntries(Object.entries(own).filter(([, flag]) => flag !== undefined));
    const stored = (await this.ctx.settings()).defaults;
    if (typeof settings.out === 'string' && /^(-$|[a-z][a-z0-9+.-]+:)/i.test(settings.out))
      throw usage(`out: ${settings.out}: is no file or folder`, 'name a file or a folder below --out');
    const misplaced = Object.keys(settings).find((name) => notSettings.has(name.replaceAll('_', '-')));
    if (misplaced !== undefined)
      throw unknownArgument(`settings.${misplaced}`, misplaced, Object.keys(takes));
    // In a row a single dash means stdin, but here it is the prompt itself.
    const dash = prompt === '-' && { prompt };
    const rows = readRows({
      manifest: oneRow({ command, ...settings, prompt: dash ? '- ' : prompt }),
      name: of === undefined ? 'mcp' : `mcp/${of}`,
      creates: { [command]: takes } as typeof creates,
      defaults: {},
      storedOf: (words) => (of === undefined ? defaultsOf(stored, words.split(' ')) : undefined),
    });
    for await (const row of rows) {
      if ('faults' in row) throw new GwError('usage', row.faults[0] ?? '', { faults: row.faults });
      // The key is made from the request alone, without its output path or the spelling of numbers.
      const made = row.key.replace(/[^/]*$/, askedDigest(row));
      const named = key === undefined ? made : onceFlags.once.parse(key, 'key');
      // Without a name from the agent, gw names the file, whatever the profile's setting is.
      const said = { ...row.flags, ...dash, out: row.flags.out ?? './' };
      return { ...row, key: named, ownOut: true, flags: said };
    }
    throw new Error('one row gives one');
  }

  #begin(key: string, make: Make, asked?: string): Work {
    const notes: string[] = [];
    const events = new JobEvents({
      clock: this.ctx.clock,
      write: async (event) => hear(work, event as { event: string; id?: string; status?: string }),
    });
    const ctx: Context = {
      ...this.ctx,
      events,
      io: { ...this.ctx.io, warn: (text) => void notes.push(text) },
      ledger: once(async () => events.watching(await this.ctx.ledger())),
    };
    const log = (text: string) => this.ctx.io.note(`${key}: ${text}`);
    const run = async (): Promise<Answer> => {
      const outcome = await make(ctx).catch((error: unknown): Outcome<JobResult> => ({ error }));
      const { error } = outcome;
      const { id, family, status, files } = resultIn(outcome) ?? {};
      log(error instanceof Error ? error.message : `${status} ${files?.map((file) => file.path).join(', ')}`);
      const told = id !== undefined && { id, family, status, files };
      const value = { key, ...told, ...(notes.length > 0 && { notes }) };
      if (error instanceof GwError && error.kind === 'wait_timeout') return { value: running(work) };
      return { value, ...(files && { files }), ...(error !== undefined && { error }) };
    };
    const done = Promise.resolve().then(run);
    const work: Work = { key, asked, done, watchers: new Set(), status: 'begun' };
    this.#works.set(key, work);
    log('begun');
    return work;
  }

  async #follow(work: Work, caller: Caller): Promise<Answer> {
    const { watchers, done } = work;
    const tell = (text: string) => caller.progress(text);
    watchers.add(tell);
    const beat = setInterval(() => tell(work.status), PROGRESS_EVERY_MS);
    try {
      const answer = await this.#within(done, caller);
      // If the client has left, the outcome is kept for a later wait_for_job.
      if (answer && !caller.signal.aborted) this.#works.delete(work.key);
      return answer ?? { value: running(work) };
    } finally {
      clearInterval(beat);
      watchers.delete(tell);
    }
  }

  #workOf(name: string): Work | undefined {
    return this.#works.get(name) ?? [...this.#works.values()].find(({ id }) => id === name);
  }

  async #wait(name: string, caller: Caller): Promise<Answer> {
    const known = this.#workOf(name);
    if (known) return this.#follow(known, caller);
    const { job, family } = await knownJob([name], this.ctx);
    const key = job.once?.key ?? job.key;
    const same = this.#works.get(key);
    if (same) return this.#follow(same, caller);
    const ended = await endedOutcome({ job, family }, caller.signal);
    if (!ended) this.#refuseElsewhere(job);
    const run: Make = (ctx) =>
      outcomeOf(wait().run({ args: [job.id ?? job.key], flags: {}, globals: ctx.globals }, ctx));
    return this.#follow(this.#begin(key, run), caller);
  }

  /** Refuses a job that the user saves outside --out, where an agent must not write. */
  #refuseElsewhere({ id, key, save: { target } }: Job): void {
    const out = this.ctx.host.cwd;
    const { dir } = splitTarget(target);
    if (path.resolve(dir) === out || isInside(path.resolve(dir), out)) return;
    const name = id ?? key;
    throw usage(`id: job ${name} is saved outside --out`, `the user saves it with: gw jobs wait ${name}`);
  }

  async #tell(name: string): Promise<Answer> {
    const work = this.#workOf(name);
    try {
      const { record: _, ...job } = (await this.#run(show, [work?.id ?? name])) as JobResult;
      return { value: { ...(work && { key: work.key }), ...job }, files: job.files, isBrief: true };
    } catch (error) {
      if (work && error instanceof GwError && error.kind === 'not_found') return { value: running(work) };
      throw error;
    }
  }

  async #models({ family, command }: { readonly family?: string; readonly command?: string }) {
    if (family === undefined && command === undefined) {
      const { json } = (await this.#run(models)) as { readonly json: string };
      return JSON.parse(json) as Record<string, unknown>;
    }
    const words = family === undefined ? `image ${command}` : `video ${family}`;
    const { assetsDir } = this.ctx.host;
    const { settings } = JSON.parse(readFileSync(path.join(assetsDir, 'mcp.json'), 'utf8')) as ToolFile;
    const isOf = ({ id, kind }: { readonly id: string; readonly kind: string }) =>
      family === undefined
        ? kind === 'image'
        : kind === 'video' && (family === 'beta' ? id.includes('/') : id.startsWith(`${family}-`));
    const sheets = (await modelSheets()).filter(isOf).map(({ id, facts }) => ({
      id,
      ...Object.fromEntries(
        facts.flatMap(({ isRule, name, value }) => (isRule || name === 'command' ? [] : [[name, value]])),
      ),
    }));
    return { settings: settings[words], models: sheets };
  }
}

/** Row fields that are no settings, including those with a tool argument of their own. */
const notSettings = new Set(['id', 'command', 'skip', 'count', 'set', 'body', 'prompt', 'prompt-file']);

const running = ({ key, id, status }: Work) => ({
  key,
  ...(id !== undefined && { id }),
  status: 'running',
  step: status,
  next: `the job goes on by itself; call wait_for_job with id ${JSON.stringify(key)}`,
});

/** The ledger, which marks new jobs as made by agents. */
const marked = (ledger: Ledger): Ledger =>
  Object.assign(Object.create(ledger), {
    begin: (...[intent, key]: Parameters<Ledger['begin']>) => ledger.begin({ ...intent, via: 'mcp' }, key),
  });

function hear(work: Work, { event, id, status }: { event: string; id?: string; status?: string }): void {
  work.id = id ?? work.id;
  work.status = status ?? event;
  for (const tell of work.watchers) tell(work.status);
}

async function outcomeOf<T>(ran: ReturnType<AnyCommand['run']>): Promise<Outcome<T>> {
  if (!(Symbol.asyncIterator in ran)) return (await ran) as Outcome<T>;
  let only: Outcome<T> = {};
  for await (const outcome of ran) only = outcome as Outcome<T>;
  return only;
}

const brief = ({ id, family, model, status, prompt, created_at, files }: JobView): object => {
  return { id, family, model, status, prompt, created_at, files: files.map((file) => file.path) };
};

const oneRow = (fields: Readonly<Record<string, unknown>>) => ({
  named: 'settings',
  file: '',
  async *rows() {
    yield { line: 1, fields };
  },
});

const unknownArgument = (named: string, name: string, known: readonly string[]): GwError => {
  const [near] = nearest(name, known);
  return usage(`${named.slice(0, 80)}: there is no such argument`, near && `did you mean ${near}?`);
};

/** Parses the arguments of a tool by its schema. Throws `usage` naming the first invalid one. */
function argumentsOf(name: string, given: unknown): Arguments {
  const { takes }: Tool = tools[name as ToolName];
  const read = takes.safeParse(given ?? {});
  if (read.success) return read.data as Arguments;
  const [issue] = read.error.issues as [z.core.$ZodIssue];
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys')
    throw unknownArgument(issue.keys[0] ?? '', issue.keys[0] ?? '', Object.keys(takes.def.shape));
  if (issue.code === 'invalid_value') throw usage(`${at}: one of ${issue.values.join(', ')}`);
  if (issue.code === 'too_small') throw usage(`${at}: is too short or too small, at least ${issue.minimum}`);
  if (issue.code === 'too_big') throw usage(`${at}: is too long or too large, at most ${issue.maximum}`);
  const wrong =
    issue.code === 'invalid_type' ? `give ${issue.expected.replace('record', 'object')}` : issue.message;
  throw usage(at === '' ? 'the arguments are no object' : `${at}: ${wrong}`);
}
