import { defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { on, parsed } from '../../flags/flag.ts';
import { parseMoment } from '../../flags/moment.ts';
import { type JobView, jobView } from '../../jobs/job-view.ts';
import { isSettled, pruneClocks, removeSettled } from '../../jobs/prune.ts';
import { jobTable } from './job-table.ts';
import { type KnownJob, readJobs } from './read-jobs.ts';

const flags = {
  before: parsed('SPAN|DATE', 'jobs created longer ago than … (30d), or before a date', parseMoment),
  yes: on('do not ask'),
} as const;

/** `gw jobs prune`: makes the ledger forget old jobs that need nothing any more; the saved files stay. */
export const prune = defineCommand<typeof flags, JobView[]>({
  flags,
  examples: [
    'gw jobs prune --before 30d --dry-run',
    'gw jobs prune --before 2026-01-01 --yes',
    'gw jobs prune --before 90d --yes -q',
  ],
  notes: [
    'Removes what is finished and saved, and what failed, was refused or is lost; never a job that still runs or is not ' +
      'saved while its links or its record live, and none that was made with --once, whose key holds for good. Saved files stay where they are. With --dry-run nothing is removed.',
    'Prints the jobs that were removed. Other gw processes may go on at the same time.',
  ],
  // For --dry-run; there is no request that --curl could show.
  sends: 'query',
  async run({ flags, globals }, ctx) {
    if (globals.curl)
      throw usage('--curl: gw jobs prune sends no request that could be shown', 'leave it out');
    if (flags.before === undefined) {
      throw usage('--before is missing', 'Say how old jobs must be: --before 30d, or before which date.');
    }
    const nowMs = ctx.clock.now();
    const beforeMs = flags.before(nowMs);
    const all = await readJobs({}, ctx);
    const old = all.filter(({ job }) => job.createdAtMs < beforeMs);
    const clocks = pruneClocks(
      all.map(({ job }) => job),
      nowMs,
    );
    const settled = old.filter(({ job, family }) => isSettled(job, family, clocks));
    const kept = old.length - settled.length;
    if (kept > 0)
      ctx.io.note(
        `${countText(kept)} as old as that ${kept === 1 ? 'is' : 'are'} kept: not finished, not saved, or made with --once`,
      );
    if (globals.dryRun) return { value: viewsOf(settled) };
    if (settled.length > 0 && !flags.yes) await ask(settled.length, ctx);
    const removed = await removeSettled(settled, clocks, await ctx.ledger());
    const free = settled.filter(({ job }) => removed.has(job.key));
    ctx.io.note(`${countText(free.length)} removed from the ledger`);
    return { value: viewsOf(free) };
  },
  human: (views, ctx) => jobTable(views, ctx.clock.now()),
});

const viewsOf = (jobs: readonly KnownJob[]): JobView[] => jobs.map(({ job, family }) => jobView(job, family));

const countText = (count: number): string => (count === 1 ? '1 job' : `${count} jobs`);

async function ask(count: number, { host, io }: Context): Promise<void> {
  if (!io.stdinIsTerminal || !io.stderrIsTerminal) {
    throw usage(
      `gw jobs prune would remove ${countText(count)} from the ledger and cannot ask here`,
      'Give --yes to remove them, or --dry-run to see them.',
    );
  }
  const { confirm } = await import('../../io/confirm.ts');
  if (!(await confirm(host, `Remove ${countText(count)} from the ledger?`))) {
    throw new GwError('usage', 'nothing was removed');
  }
}
