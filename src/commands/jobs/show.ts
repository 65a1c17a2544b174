import { defineCommand } from '../../command.ts';
import { oneLine, safeJson } from '../../io/escape.ts';
import { durationText } from '../../io/quantity-text.ts';
import type { Cost } from '../../jobs/cost.ts';
import { type JobView, jobView, printableRecord } from '../../jobs/job-view.ts';
import { savedOutputs } from '../../jobs/save/saved.ts';
import { spendText } from '../../jobs/stats.ts';
import type { KeptReference } from '../../ledger/event.ts';
import { EMBEDDED } from '../../ledger/job-key.ts';
import { namesOutput } from '../../shots/outputs.ts';
import { pastPricing } from './find-jobs.ts';
import { jobIdSummary, knownJob } from './jobs-by-id.ts';

type ShownJob = JobView & {
  /** The outputs of other jobs that this job was made from. */
  readonly made_from: readonly KeptReference[];
  readonly cost: Omit<Cost, 'test'> | null;
  readonly record: unknown;
};

/** `gw jobs show ID` prints everything the ledger knows of one job, including its record and links. */
export const show = defineCommand<Record<string, never>, ShownJob>({
  args: { name: 'ID', summary: jobIdSummary, required: true, completes: 'task' },
  examples: ['gw jobs show $(gw video alpha create --sandbox "a paper boat")', 'gw jobs show last --json'],
  async run({ args }, ctx) {
    const { job, family } = await knownJob(args, ctx);
    const known = job.gateway === EMBEDDED ? undefined : (await pastPricing(ctx)).costOf(job, family);
    const cost = known ? { spend: known.spend, by: known.by } : null;
    const madeFrom = (job.references ?? []).filter(({ name }) => namesOutput(name));
    const outputs = await savedOutputs(job, family, ctx.signal);
    const view = jobView(job, family, outputs);
    return { value: { ...view, made_from: madeFrom, cost, record: printableRecord(job) ?? null } };
  },
  human: (job, ctx) =>
    [...rowsOf(job, ctx.clock.now())]
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `${name.padEnd(12)}${oneLine(value, Number.POSITIVE_INFINITY)}\n`)
      .join(''),
});

function* rowsOf(job: ShownJob, nowMs: number): Generator<readonly [string, string]> {
  yield ['id', job.id];
  if (job.job !== job.id) yield ['job', job.job];
  yield ['key', job.once_key ?? ''];
  yield ['status', job.status];
  yield ['message', job.message ?? ''];
  yield ['family', job.family];
  yield ['model', job.model ?? ''];
  yield ['prompt', job.prompt ?? ''];
  const settings = Object.entries(job.settings).map(([name, value]) => `${name}=${value}`);
  yield ['settings', settings.join(' ')];
  for (const { name, sha256 } of job.made_from)
    yield ['made from', sha256 === undefined ? name : `${name} (sha256 ${sha256})`];
  yield ['gateway', `${job.gateway} (profile ${job.profile})`];
  yield ['created', job.created_at];
  yield ['finished', job.finished_at ?? ''];
  const link = lifeText(job.link_expires_at, nowMs, 'lives', 'died');
  const isAssumed = link !== '' && job.link_expiry_assumed;
  yield ['link', isAssumed ? `${link} (assumed: the document does not say how long)` : link];
  yield ['record', lifeText(job.record_expires_at, nowMs, 'is kept', 'was kept until')];
  yield ['downloads', job.downloads > 0 ? String(job.downloads) : ''];
  const { output_s: outputS, tokens, charges } = job.usage ?? {};
  yield ['seconds', numberText(outputS)];
  yield ['tokens', numberText(tokens)];
  for (const { isTest, ...charge } of charges ?? [])
    yield isTest ? ['test credit', spendText([charge])] : ['cost', `${spendText([charge])} billed`];
  if (job.cost?.by === 'prices') yield ['cost', `${spendText(job.cost.spend)} by your price file`];
  for (const { path, bytes, sha256 } of job.files)
    yield ['file', `${path} (${bytes} bytes, sha256 ${sha256})`];
  if (job.saved === false) yield ['saved', 'no'];
  yield ['reply', job.record === null ? '' : safeJson(job.record)];
}

const numberText = (value: number | null | undefined): string =>
  value === null || value === undefined ? '' : String(value);

function lifeText(expiresAt: string | null, nowMs: number, alive: string, over: string): string {
  if (expiresAt === null) return '';
  const leftMs = Date.parse(expiresAt) - nowMs;
  return leftMs > 0
    ? `${alive} for another ${durationText(leftMs)}, until ${expiresAt}`
    : `${over} ${expiresAt}`;
}
