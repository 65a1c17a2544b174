import { defineCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type JobView, jobView } from '../../jobs/job-view.ts';
import { drawnTable, jobTable, statusFilter } from './job-table.ts';
import { listFlags } from './list.ts';
import { readOwnJobs } from './read-jobs.ts';

const { status, family, since, limit } = listFlags;
const flags = { status, family, since, limit } as const;
const EVERY_MS = 1_000;
/** As many are looked at where nothing else bounds the list. */
const MOST = 1_000;

/** `gw jobs watch`: `gw jobs list` kept up to date; elsewhere than on a terminal a line for each job that changes. */
export const watch = defineCommand<typeof flags, JobView>({
  flags,
  examples: [
    'gw jobs watch --sandbox & sleep 1; kill $!',
    'gw jobs watch --family alpha --json & sleep 1; kill $!',
  ],
  notes: [
    'Ends at Ctrl-C. Reads what every gw of this user writes down and asks no gateway: gw jobs wait and gw jobs sync do.',
    'In a pipe each job is one line, and one more whenever its status or its files change; with --json one object.',
  ],
  sends: 'nothing',
  async *run({ flags }, ctx) {
    const { signal, clock, io } = ctx;
    const screen = io.mode.bars && io.stdoutIsTerminal && !io.mode.json ? await io.liveTable() : undefined;
    const most = flags.limit ?? screen?.rows() ?? MOST;
    const told = new Map<string, string>();
    try {
      while (!signal.aborted) {
        const views = await read(flags, most, ctx);
        if (screen) await screen.draw(await drawnTable(views, ctx));
        // The oldest first, as they came.
        else for (const view of views.reverse()) if (isNew(view, told)) yield { value: view };
        await clock.sleep(EVERY_MS, signal).catch(() => {});
      }
    } finally {
      screen?.end();
    }
    // What stood on the screen last stays there.
    if (screen) await io.table(await drawnTable(await read(flags, most, ctx), ctx));
    throw signal.reason;
  },
  human: (view, ctx) =>
    ctx.io.stdoutIsTerminal
      ? `${[view.id, view.status, ...view.files.map(({ path }) => path)].join('  ')}\n`
      : jobTable([view], ctx.clock.now()),
});

async function read(
  flags: { readonly status?: string; readonly family?: string; readonly since?: (nowMs: number) => number },
  limit: number,
  ctx: Context,
): Promise<JobView[]> {
  const wanted = { sinceMs: flags.since?.(ctx.clock.now()), family: flags.family };
  const where = await statusFilter(flags.status, wanted, ctx);
  return (await readOwnJobs({ ...wanted, limit, where }, ctx)).map(({ job, family }) => jobView(job, family));
}

function isNew({ job, status, saved, files }: JobView, told: Map<string, string>): boolean {
  const state = JSON.stringify([status, saved, files.length]);
  if (told.get(job) === state) return false;
  told.set(job, state);
  return true;
}
