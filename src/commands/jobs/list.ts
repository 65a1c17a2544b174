import { defineCommand } from '../../command.ts';
import { parseDuration } from '../../config/duration.ts';
import { usage } from '../../errors.ts';
import { parsed, text } from '../../flags/flag.ts';
import { familyNames, loadFamily } from '../../gateway/families.ts';
import type { Family } from '../../gateway/task.ts';
import { durationText } from '../../io/duration-text.ts';
import { type JobView, jobView, linkExpiresAtMs, statusWord } from '../../jobs/job-view.ts';
import { unsavedRoles } from '../../jobs/sync.ts';
import type { Job } from '../../ledger/event.ts';

const flags = {
  status: text('STATUS', 'only jobs in this state (running, succeeded, failed, unknown, …)'),
  family: text('FAMILY', 'only this family', { choices: familyNames }),
  since: parsed('SPAN', 'only jobs of the last … (24h, 7d)', parseSpan),
  limit: parsed('N', 'at most this many, newest first', wholeNumber),
  expiring: parsed('DURATION', 'only finished, unsaved jobs whose links die within this time', parseSpan),
} as const;

function parseSpan(raw: string, flag: string): number {
  return parseDuration(raw, flag, { span: true });
}

function wholeNumber(raw: string, flag: string): number {
  if (!/^[1-9]\d{0,6}$/.test(raw)) throw usage(`${flag} ${raw}: not a whole number from 1`);
  return Number(raw);
}

/** `gw jobs list`: what is in the ledger, newest first. */
export const list = defineCommand<typeof flags, JobView[]>({
  flags,
  examples: ['gw jobs list', 'gw jobs list --status running -q', 'gw jobs list --expiring 2h --json'],
  sends: 'nothing',
  async run({ flags }, ctx) {
    const nowMs = ctx.clock.now();
    if (flags.family !== undefined && !familyNames.includes(flags.family)) {
      throw usage(`--family ${flags.family}: one of ${familyNames.join(', ')}`);
    }
    const ledger = await ctx.ledger();
    const jobs = await ledger.list({
      ...(flags.since !== undefined && { sinceMs: nowMs - flags.since }),
      ...(flags.family !== undefined && { family: flags.family }),
    });
    if (ledger.skippedLines > 0)
      ctx.io.warn(`${ledger.skippedLines} unreadable lines of the ledger were skipped`);
    const views: JobView[] = [];
    for (const job of jobs) {
      const family = await loadFamily(job.family);
      if (flags.status !== undefined && flags.status !== job.state && flags.status !== statusWord(job))
        continue;
      if (flags.expiring !== undefined && !diesWithin(job, family, nowMs, flags.expiring)) continue;
      views.push(jobView(job, family));
      if (views.length >= (flags.limit ?? Number.POSITIVE_INFINITY)) break;
    }
    return { value: views };
  },
  human: (views, ctx) => ({
    columns: [
      { name: 'id', whole: true },
      { name: 'family', whole: true },
      { name: 'status', whole: true },
      { name: 'age', align: 'right', whole: true },
      { name: 'link', whole: true },
      { name: 'prompt' },
      { name: 'model' },
      { name: 'file' },
    ],
    rows: views.map((view) => ({
      id: view.id,
      cells: [
        view.id,
        view.family,
        view.status,
        durationText(ctx.clock.now() - Date.parse(view.created_at)),
        view.link_expires_at === null ? '-' : linkText(Date.parse(view.link_expires_at) - ctx.clock.now()),
        view.prompt ?? '-',
        view.model ?? '-',
        view.files.map((file) => file.path).join(' ') || '-',
      ],
    })),
  }),
});

const linkText = (leftMs: number): string => (leftMs > 0 ? `${durationText(leftMs)} left` : 'dead');

function diesWithin(job: Job, family: Family, nowMs: number, spanMs: number): boolean {
  const expiresAtMs = linkExpiresAtMs(job, family);
  if (expiresAtMs === undefined || unsavedRoles(job, family).length === 0) return false;
  return expiresAtMs > nowMs && expiresAtMs - nowMs <= spanMs;
}
