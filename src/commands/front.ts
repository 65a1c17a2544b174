import { defineCommand } from '../command.ts';
import type { Context } from '../context.ts';
import { GwError } from '../errors.ts';
import { drawFrontPage } from '../help.ts';
import { isUnsaved } from '../jobs/job-view.ts';
import { program } from '../program.ts';
import { readJobs } from './jobs/find-jobs.ts';

/** `gw` alone prints the commands, a few examples, and the current state as far as this machine knows. */
export const front = defineCommand<Record<string, never>, undefined>({
  examples: [
    'gw video beta create "a paper boat at dawn" --wait --sandbox',
    'gw image create "a fox in the snow" -o fox.png --sandbox',
    'gw chat "why is the sky blue?" --sandbox',
    'gw jobs sync --sandbox',
  ],
  async run(_, ctx) {
    // What is not known of gateway and jobs is left out.
    const known = [await gatewayText(ctx).catch(untold), await jobsText(ctx).catch(untold)];
    const standing = known.filter(Boolean).join('; ');
    const { columns } = ctx.host.stdout;
    await ctx.io.outStyled((style) => drawFrontPage(program, front.examples, standing, { columns, style }));
    return {};
  },
  human: () => '',
});

/** Ignores errors, because a help page should not report them; the affected command does. */
function untold(error: unknown): string {
  if (error instanceof GwError) return '';
  throw error;
}

async function gatewayText(ctx: Context): Promise<string> {
  const { baseUrl, profile } = await ctx.settings();
  if (ctx.globals.sandbox || profile.value === 'sandbox') return 'Now: the sandbox on this machine';
  return baseUrl.value === undefined
    ? 'Now: no gateway yet (gw login stores one, --sandbox needs none)'
    : `Now: ${baseUrl.value} (profile ${profile.value})`;
}

async function jobsText(ctx: Context): Promise<string> {
  const open = await readJobs({ isOpen: true }, ctx);
  const running = open.filter(({ job }) => job.state === 'running').length;
  const unsaved = open.filter(({ job, family }) => family && isUnsaved(job, family)).length;
  return [running > 0 ? `${running} running` : '', unsaved > 0 ? `${unsaved} not saved: gw jobs sync` : '']
    .filter(Boolean)
    .join(', ');
}
