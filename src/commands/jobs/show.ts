import { defineCommand } from '../../command.ts';
import { GwError } from '../../errors.ts';
import { loadFamily } from '../../gateway/families.ts';
import { oneLine } from '../../io/escape.ts';
import { type JobView, jobView } from '../../jobs/job-view.ts';

/** Prompts and records come from outside: whatever they hold, they stay on their line, and are not cut. */
const whole = (text: string): string => oneLine(text, Number.POSITIVE_INFINITY);

type ShownJob = JobView & { readonly record: unknown };

/** `gw jobs show ID`: everything the ledger knows of one job, its record and links among it. */
export const show = defineCommand<Record<string, never>, ShownJob>({
  args: { name: 'ID', summary: "the gateway's task ID, or gw's own", required: true },
  flags: {},
  examples: ['gw jobs show $(gw jobs list -q --limit 1)', 'gw jobs show $(gw jobs list -q --limit 1) --json'],
  sends: 'nothing',
  async run({ args }, ctx) {
    const [id = ''] = args;
    const job = await (await ctx.ledger()).find(id);
    if (!job) {
      throw new GwError('not_found', `no job ${id} in the ledger`, {
        hint: 'gw jobs list shows the jobs this user created',
      });
    }
    return { value: { ...jobView(job, await loadFamily(job.family)), record: job.record ?? null } };
  },
  human: (job) =>
    Object.entries(job)
      .filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))
      .map(
        ([name, value]) =>
          `${name.padEnd(18)}${whole(typeof value === 'object' ? JSON.stringify(value) : String(value))}\n`,
      )
      .join(''),
});
