import * as path from 'node:path';
import type { Amount } from '../config/table.ts';
import type { Context } from '../context.ts';
import { lockHolder } from '../disk/lock-file.ts';
import { usage } from '../errors.ts';
import { placeFiles } from '../flags/body-flags.ts';
import type { FlagSet, FlagValues } from '../flags/flag.ts';
import type { BudgetFlags } from '../flags/job-flags.ts';
import { fieldsOf, isObject } from '../gateway/json-value.ts';
import { counted } from '../io/quantity-text.ts';
import type { LimitedJob, Limits, Within } from '../jobs/create/budget.ts';
import type { JobRequest } from '../jobs/create/job-request.ts';
import { checkTarget } from '../jobs/save/check-target.ts';
import { jsonOf } from '../json-text.ts';
import { type Job, type KeptRequest, mayExist } from '../ledger/event.ts';
import { EMBEDDED } from '../ledger/job-key.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { parseReference } from '../media/reference.ts';
import type { FoundOutput } from '../media/resolve.ts';
import { outputsByWord, pinned } from '../shots/outputs.ts';
import { outNamed } from './video/job-result.ts';

// Checks before a create is sent: its outputs can be saved, it is within the user's limits, and it is no repetition.

/** Checks the output path of a job that is about to be created. Throws `usage`. */
export async function checkPlace(
  { how, intent, outputsExpected }: JobRequest,
  { settings, clock }: Context,
): Promise<void> {
  const once = how.once === undefined ? undefined : { key: how.once };
  const named = outNamed(how, await settings(), intent.request?.command);
  checkTarget(intent.save, { ...intent, once, named, atMs: clock.now(), outputsExpected });
}

/** The limits of a command; undefined if it has none or is free. Throws `usage` if the currency is ambiguous. */
export async function limitsOf(
  { maxCost, unpriced = false }: BudgetFlags,
  ctx: Context,
): Promise<Limits | undefined> {
  const { budget, profile, sandbox } = await ctx.settings();
  const { agentLimits } = ctx;
  const { jobs, amount } = sandbox ? {} : { jobs: budget.jobs.value, amount: budget.amount.value };
  if (agentLimits === undefined && (sandbox || (jobs ?? amount ?? maxCost) === undefined)) return undefined;
  const limit = async ({ amount: most, currency }: Amount, what: string) => ({
    most,
    currency: currency ?? (await onlyCurrency(`${what} ${most}`, ctx)),
  });
  return {
    profile: profile.value,
    jobs,
    amount: amount && { ...(await limit(amount, 'budget.amount')), period: amount.period },
    maxCost: !sandbox && maxCost ? await limit(maxCost, '--max-cost') : undefined,
    agents: agentLimits && {
      maxJobs: agentLimits.maxJobs,
      maxCost: !sandbox && agentLimits.maxCost ? await limit(agentLimits.maxCost, '--max-cost') : undefined,
      // Sandbox jobs do not count against the limits of real jobs, nor the reverse.
      hasMade: ({ via, gateway }: Job) => via === 'mcp' && (gateway === EMBEDDED) === sandbox,
    },
    unpriced,
  };
}

/** The only currency of the price file. Throws `usage` if it has several or none. */
async function onlyCurrency(what: string, ctx: Context): Promise<string> {
  const [only, ...others] = (await ctx.pricing()).currencies;
  if (only !== undefined && others.length === 0) return only;
  throw usage(
    `${what}: ${only === undefined ? 'there is no price file to tell its currency' : `the price file has ${[only, ...others].join(' and ')}`}`,
    `name the currency, as in "${what.replace(/^\S+ /, '')} ${only ?? 'CNY'}"`,
  );
}

/**
 * Makes the budget check for a job, with its estimated cost; undefined if there is neither a limit nor a price. Throws
 * `usage` for a faulty price file.
 */
export async function withinBudget(request: JobRequest, ctx: Context): Promise<Within | undefined> {
  const limits = await limitsOf(request.how, ctx);
  const asked = costOf(request);
  if (limits === undefined) {
    if ((await ctx.settings()).prices.value === undefined) return undefined;
    const pricing = await ctx.pricing();
    const estimate = await pricing.estimate(asked.family, asked);
    return async (begin) => begin('unknown' in estimate ? undefined : estimate);
  }
  const { beginWithin } = await import('../jobs/create/budget.ts');
  const deps = await budgetDeps(ctx);
  return (begin) => beginWithin(limits, asked, deps, begin);
}

const costOf = ({ family, intent }: JobRequest): LimitedJob => ({ ...intent, family });

/** The dependencies for checking limits. */
export const budgetDeps = async ({ ledger, clock, pricing, begun }: Context) => ({
  ledger: await ledger(),
  clock,
  pricing: await pricing(),
  begun,
});

/** Throws GwError `budget` if the jobs of a request would exceed a limit. */
export async function refuseOverBudget(request: JobRequest, ctx: Context): Promise<void> {
  const limits = await limitsOf(request.how, ctx);
  if (limits === undefined) return;
  const { refuseOver } = await import('../jobs/create/budget.ts');
  const deps = await budgetDeps(ctx);
  const asked = costOf(request);
  await refuseOver(limits, await deps.pricing.estimate(asked.family, asked), request.how.count ?? 1, deps);
}

/** A repetition within this time may be a mistake. */
const RECENT_MS = 3_600_000;

/**
 * Warns if a job of the last hour made the same request and is running, has succeeded, or may exist; requests are
 * compared by the body's digest. A job of unknown outcome is named first, else the newest. If the ledger cannot be read,
 * there is no warning.
 */
export async function warnOfAlike(
  { family, endpoint, gateway }: Pick<Job, 'family' | 'endpoint' | 'gateway'>,
  bodySha256: (externalId: string | undefined) => string,
  ctx: Context,
): Promise<void> {
  const nowMs = ctx.clock.now();
  const ledger = await ctx.ledger();
  const recent = ledger.find({
    family,
    gateway,
    bodySha256,
    sinceMs: nowMs - RECENT_MS,
    states: ['running', 'succeeded', 'sent', 'unknown', 'intent'],
    where: (each) =>
      each.endpoint === endpoint && (each.state !== 'intent' || isWaitingElsewhere(each, ledger)),
  });
  const alike = await recent.catch(() => []);
  const job = alike.find(mayExist) ?? alike[0];
  if (!job) return;
  const minutes = Math.floor((nowMs - job.createdAtMs) / 60_000);
  const age = minutes < 1 ? 'less than a minute' : counted(minutes, 'minute');
  const [file] = job.files;
  const stands = mayExist(job) ? ', whose outcome is not known' : file ? `, saved in ${file.path}` : '';
  ctx.io.warn(
    `the same was asked for ${age} ago, as ${job.id ?? job.key}${stands}; ` +
      'it is made once more (--once KEY makes a job at most once)',
  );
}

/** True of an intent that another gw will send once it has waited for a slot, or after a 429. */
const isWaitingElsewhere = ({ key }: Job, { isHeld, lockOf }: Ledger): boolean =>
  isHeld(key) && lockHolder(lockOf(key))?.isSelf === false;

interface TypedRequest {
  readonly command: string;
  /** The flags that make the request; other flags say how it is created, waited for and saved. */
  readonly takes: FlagSet;
  readonly typed: FlagValues<FlagSet>;
  /** The resolved model, because the default may change later. */
  readonly model: string;
  readonly prompted: boolean;
  /** The given prompt, if the prompt in the ledger has other texts too, as of `--set content.1.text=…`. */
  readonly ownPrompt?: { readonly prompt: string } | false;
  /** The body of --body. */
  readonly base: Readonly<Record<string, unknown>>;
  readonly media: readonly {
    readonly raw: string;
    readonly flag: string;
    readonly sha256: string | undefined;
    readonly output?: FoundOutput | undefined;
  }[];
}

/** The request that the ledger keeps for `gw again`, without the external ID, which belongs to one task. */
export function keptRequest(request: TypedRequest, { globals, host }: Context): KeptRequest {
  const { command, takes, typed, model, prompted, ownPrompt, base, media } = request;
  const at = (file: string) => path.resolve(host.cwd, file);
  const entries = Object.entries(typed).filter(([key]) => key !== 'externalId' && Object.hasOwn(takes, key));
  const names = Object.hasOwn(takes, 'model') && typed.model === undefined && base.model === undefined;
  const flags = { ...Object.fromEntries(entries), ...(names && { model }), ...ownPrompt };
  const files = media.flatMap(({ raw, flag, sha256 }): [string, string][] => {
    const reference = sha256 === undefined ? undefined : parseReference(raw, flag);
    return sha256 !== undefined && reference?.kind === 'file' ? [[at(reference.path), sha256]] : [];
  });
  return {
    command,
    flags: pinned(placeFiles(flags, takes, at), media),
    ...(globals.set && { set: globals.set.flatMap(setWithoutExternalId) }),
    ...(globals.body !== undefined && { body: withoutExternalId(base) }),
    prompted,
    files: Object.fromEntries(files),
    outputs: outputsByWord(media),
  };
}

/** The kept words of one --set, without an external ID; none if it sets only that ID. */
function setWithoutExternalId(set: string): string[] {
  if (/^options\.external_task_id[.=]/.test(set)) return [];
  const options = set.startsWith('options=') ? jsonOf(set.slice('options='.length)) : undefined;
  return isObject(options) && 'external_task_id' in options
    ? [`options=${JSON.stringify(withoutExternalId({ options }).options)}`]
    : [set];
}

function withoutExternalId(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { external_task_id: _, ...rest } = fieldsOf(body.options);
  return isObject(body.options) ? { ...body, options: rest } : body;
}
