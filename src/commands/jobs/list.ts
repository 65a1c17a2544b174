import { defineCommand, RowStream } from '../../command.ts';
import { parseDuration } from '../../config/table.ts';
import { type Context, commandFor } from '../../context.ts';
import { ended } from '../../errors.ts';
import { type FlagValues, filled, oneOf, parsed, text, whole } from '../../flags/flag.ts';
import { parseMoment } from '../../flags/moment.ts';
import { familyNames } from '../../gateway/families.ts';
import { counted } from '../../io/quantity-text.ts';
import { diesWithin, type JobView, jobView } from '../../jobs/job-view.ts';
import type { Job } from '../../ledger/event.ts';
import type { Wanted } from '../../ledger/ledger.ts';
import { dyingSoon, eachJob, readOwnJobs, sharedIds } from './find-jobs.ts';
import { drawnTable, jobTable, listedStatuses, statusFilter } from './job-table.ts';

export const listFlags = {
  status: text('STATUS', 'only jobs in this state (running, succeeded, failed, unknown, …)', {
    offers: listedStatuses,
  }),
  family: oneOf(familyNames, 'only this family', { value: 'FAMILY' }),
  since: parsed('SPAN|DATE', 'only jobs of the last … (24h, 7d), or since a date', parseMoment),
  batch: filled('NAME', 'only the jobs of the batch of this name (gw batch run)'),
  limit: whole('N', 'at most this many, newest first', { min: 1 }),
  expiring: parsed('DURATION', 'only finished, unsaved jobs whose links die within this time', (raw, flag) =>
    parseDuration(raw, flag, { span: true }),
  ),
} as const;

export const batchFilter =
  (name: string | undefined) =>
  ({ once }: Pick<Job, 'once'>): boolean =>
    name === undefined || once?.key.startsWith(`${name}/`) === true;

/** Builds a filter for jobs whose prompt contains every given word, ignoring case. */
function promptFilter(args: readonly string[]): (job: Pick<Job, 'prompt'>) => boolean {
  const plain = (text: string) => text.normalize('NFC').toLowerCase();
  const words = plain(args.join(' ')).split(/\s+/);
  return ({ prompt = '' }) => words.every((word) => plain(prompt).includes(word));
}

/** `gw jobs list`: what is in the ledger, newest first. */
export const list = defineCommand<typeof listFlags, JobView[]>({
  args: { name: 'WORDS', summary: 'only jobs whose prompts hold each of these words', many: true },
  flags: listFlags,
  examples: [
    'gw jobs list',
    'gw jobs list fox snow',
    'gw jobs list --status running -q',
    'gw jobs list --expiring 2h --json',
  ],
  notes: [
    'Lists the jobs of all gateways; with --profile, --base-url or --sandbox those of that one.',
    'KEY is the --once key, or the key of a batch row: gw jobs show, open and again take it in place of an ID. ' +
      'LINK and RECORD say how long the links to the outputs and the record on the gateway still live. Jobs that are not ' +
      'saved and have used up most of that are warned of.',
  ],
  async *run({ args, flags }, ctx) {
    const nowMs = ctx.clock.now();
    const wanted = { sinceMs: flags.since?.(nowMs), family: flags.family };
    const hasStatus = await statusFilter(flags.status, wanted, ctx);
    const isOfBatch = batchFilter(flags.batch);
    const hasWords = promptFilter(args);
    const meant = { ...wanted, where: (job: Job) => hasStatus(job) && isOfBatch(job) && hasWords(job) };
    yield { value: new RowStream(viewsOf(meant, flags, nowMs, ctx)) };
    // The warning is printed after a long list, where the reader sees it.
    const dying = await dyingSoon(eachJob({ ...wanted, isOpen: true, where: isOfBatch }, ctx), nowMs);
    if (!dying) return;
    const what = `${counted(dying.count, 'job is', 'jobs are')} not saved, and the links or records die soon`;
    const next = commandFor('gw jobs sync', ctx);
    ctx.io.warn(`${what}, the first in ${dying.first}; save what is finished with: ${next}`);
  },
  human: (views, ctx) => drawnTable(views, ctx),
});

async function* viewsOf(
  wanted: Wanted,
  { expiring, limit }: FlagValues<typeof listFlags>,
  nowMs: number,
  ctx: Context,
): AsyncGenerator<JobView> {
  // Bare IDs (-q) are input for other commands, so a job whose ID is not unique is printed with gw's own ID.
  const shared = ctx.io.mode.quiet && !ctx.io.mode.json ? await sharedIds(ctx) : new Set();
  let count = 0;
  for await (const known of eachJob(wanted, ctx)) {
    if (expiring !== undefined && !diesWithin(known.job, known.family, nowMs, expiring)) continue;
    const view = jobView(known.job, known.family);
    yield shared.has(view.id) ? { ...view, id: view.job } : view;
    count += 1;
    if (count === limit) return;
  }
}

const { status, family, since, limit } = listFlags;
const flags = { status, family, since, limit } as const;
const EVERY_MS = 1_000;
/** The number of jobs that `watch` reads if no flag limits the list. */
const MOST = 1_000;

/** `gw jobs watch` keeps `gw jobs list` up to date on a terminal; elsewhere it prints a line per change. */
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
  async *run({ flags }, ctx) {
    const { signal, clock, io } = ctx;
    const screen = io.mode.bars && io.stdoutIsTerminal && !io.mode.json ? await io.liveTable() : undefined;
    // The terminal may grow while gw runs.
    const latest = () => read(flags, screen?.rows() ?? MOST, ctx);
    const told = new Map<string, string>();
    try {
      while (!signal.aborted) {
        const views = await latest();
        if (screen) await screen.draw(await drawnTable(views, ctx));
        // Off a terminal, jobs are printed in the order of creation.
        else for (const view of views.reverse()) if (isNew(view, told)) yield { value: view };
        await clock.sleep(EVERY_MS, signal).catch(() => {});
      }
    } finally {
      screen?.end();
    }
    // The last table stays on the screen after gw ends.
    if (screen) await io.table(await drawnTable(await latest(), ctx));
    throw ended(signal);
  },
  human: (view, ctx) =>
    ctx.io.stdoutIsTerminal && !ctx.io.mode.quiet
      ? `${[view.id, view.status, ...view.files.map(({ path }) => path)].join('  ')}\n`
      : jobTable([view], ctx),
});

async function read(
  { status, family, since, limit }: FlagValues<typeof flags>,
  most: number,
  ctx: Context,
): Promise<JobView[]> {
  const wanted = { sinceMs: since?.(ctx.clock.now()), family };
  const where = await statusFilter(status, wanted, ctx);
  const jobs = await readOwnJobs({ ...wanted, limit: limit ?? most, where }, ctx);
  return jobs.map(({ job, family }) => jobView(job, family));
}

function isNew({ job, status, saved, files }: JobView, told: Map<string, string>): boolean {
  const state = JSON.stringify([status, saved, files.length]);
  if (told.get(job) === state) return false;
  told.set(job, state);
  return true;
}
