import { defineCommand } from '../../command.ts';
import { gatewayName, namesGateway } from '../../context.ts';
import { usage } from '../../errors.ts';
import { parsed, withValue } from '../../flags/flag.ts';
import { parseMoment } from '../../flags/moment.ts';
import { columnsOf } from '../../io/layout.ts';
import { counted } from '../../io/quantity-text.ts';
import { stateNow } from '../../jobs/job-view.ts';
import { JobStats, type StatsGroup, type StatsKey, spendText, statsKeys } from '../../jobs/stats.ts';
import { EMBEDDED } from '../../ledger/job-key.ts';
import { taskOf } from '../../ledger/settled.ts';
import { eachJob, pastPricing } from './find-jobs.ts';

const flags = {
  since: parsed('SPAN|DATE', 'only jobs of the last … (24h, 7d), or since a date', parseMoment),
  by: parsed('KEY[,KEY…]', 'count by these (default model)', parseKeys, { choices: statsKeys }),
} as const;

function parseKeys(raw: string, flag: string): readonly StatsKey[] {
  const isKey = (word: string): word is StatsKey => statsKeys.some((key) => key === word);
  const words = raw.split(',');
  const keys = words.filter(isKey);
  if (keys.length < words.length || new Set(keys).size < words.length)
    throw usage(
      `${withValue(flag, raw)}: one or several of ${statsKeys.join(', ')}, each once, with commas between them`,
    );
  return keys;
}

interface Stats {
  readonly by: readonly StatsKey[];
  readonly total: StatsGroup;
  readonly groups: readonly StatsGroup[];
}

/** `gw jobs stats` counts jobs by outcome, with their output and cost as far as the records say. */
export const stats = defineCommand<typeof flags, Stats>({
  flags,
  examples: ['gw jobs stats', 'gw jobs stats --since 7d --by model,day', 'gw jobs stats --by family --json'],
  notes: [
    'Counts the jobs of all gateways, and those of the sandbox where it is in force; with --profile, --base-url or --sandbox those of that one.',
    'Seconds, tokens and spend are what the records of the gateway say. Jobs without a bill, failed and unknown ' +
      'ones too, are counted apart, by the price file (gw config set prices FILE); so is test credit. Days are those of ' +
      'the local calendar, by the time of creation.',
  ],
  async run({ flags }, ctx) {
    const { by = ['model'] } = flags;
    const counts = new JobStats(by);
    const pricing = await pastPricing(ctx);
    // Sandbox jobs cost nothing, so they are counted only if the flags or settings choose a gateway or the sandbox.
    const isRehearsal = namesGateway(ctx) || gatewayName(await ctx.settings()) === EMBEDDED;
    let left = 0;
    let unread = 0;
    for await (const { job, family } of eachJob({ sinceMs: flags.since?.(ctx.clock.now()) }, ctx)) {
      // Another machine made this job under the same key; its own ledger counts it.
      if (job.once && job.bodySha256 === '' && !job.isDamaged) continue;
      if (!isRehearsal && job.gateway === EMBEDDED) {
        left += 1;
        continue;
      }
      const cost = pricing.costOf(job, family);
      const usage = taskOf(job, family)?.usage;
      unread += usage?.unreadCharges ?? 0;
      const priced = cost?.by === 'prices' ? cost.spend : [];
      counts.add({ job, state: stateNow(job), usage, priced });
    }
    if (left > 0) {
      const what = counted(left, 'job of the sandbox is', 'jobs of the sandbox are');
      ctx.io.note(`${what} left out; count them with: gw jobs stats --sandbox`);
    }
    if (unread > 0) {
      const what = counted(unread, 'charge was not understood and is', 'charges were not understood and are');
      ctx.io.warn(
        `${what} left out: an item without an amount or a currency; gw jobs show prints the records`,
      );
    }
    const value = { by, total: counts.total, groups: counts.groups };
    if (!ctx.io.mode.json && value.groups.length > 1) ctx.io.note(`total: ${totalText(value.total)}`);
    return { value };
  },
  human: ({ by, groups }) => ({
    columns: [
      ...by.map((name) => ({ name, whole: true })),
      ...['jobs', 'done', 'failed', 'open'].map(figure),
      ...['other', 'seconds'].map((name) => ({ ...figure(name), optional: true })),
      figure('tokens'),
      ...columnsOf([], ['spend'], ['by price file', 'test credit']),
    ],
    rows: groups.map((group) => {
      const keys = by.map((key) => group[key] ?? '-');
      const { succeeded, failed, running, other } = endsOf(group);
      return {
        id: keys.join(' '),
        cells: [
          ...keys,
          ...[group.jobs, succeeded, failed, running, other].map(String),
          String(group.output_s ?? '-'),
          String(group.tokens ?? '-'),
          spendText(group.spend) || '-',
          spendText(group.priced) || '-',
          spendText(group.test_spend) || '-',
        ],
      };
    }),
  }),
});

const figure = (name: string) => ({ name, align: 'right', whole: true }) as const;

/** Reduces the ledger's eight states to four columns; `other` is never created, lost or unknown. */
function endsOf({ jobs, states }: StatsGroup) {
  const { succeeded = 0, failed = 0, intent = 0, sent = 0, running: accepted = 0 } = states;
  const running = intent + sent + accepted;
  return { succeeded, failed, running, other: jobs - succeeded - failed - running };
}

function totalText(total: StatsGroup): string {
  const { succeeded, failed, running } = endsOf(total);
  return [
    `${total.jobs} jobs`,
    `${succeeded} succeeded`,
    `${failed} failed`,
    `${running} running`,
    ...(total.output_s === null ? [] : [`${total.output_s} seconds`]),
    ...(total.tokens === null ? [] : [`${total.tokens} tokens`]),
    ...(total.spend.length === 0 ? [] : [`${spendText(total.spend)} billed`]),
    ...(total.priced.length === 0 ? [] : [`${spendText(total.priced)} by your price file`]),
  ].join(', ');
}
