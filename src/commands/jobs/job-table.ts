import * as path from 'node:path';
import { sandboxProfile } from '../../config/profile-name.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { nearest } from '../../flags/nearest.ts';
import { taskStatuses } from '../../gateway/task-state.ts';
import type { Table } from '../../io/io.ts';
import { shortDuration } from '../../io/quantity-text.ts';
import { type JobView, statusWord } from '../../jobs/job-view.ts';
import { type Job, jobStates } from '../../ledger/event.ts';
import { EMBEDDED } from '../../ledger/job-key.ts';
import type { JobNames, Wanted } from '../../ledger/ledger.ts';
import { readJobs } from './find-jobs.ts';

/** Jobs as a table, identifying columns first. A free job of the sandbox always shows `sandbox`. */
export function jobTable(
  views: readonly JobView[],
  { clock, io }: Pick<Context, 'clock' | 'io'>,
  beginnings = shortest(views.map(({ id }) => id)),
): Table {
  const hasSandbox = views.some(({ gateway }) => gateway === EMBEDDED);
  // A pipe always has this column: its rows are printed before a later job shows a key.
  const hasKeys = !io.stdoutIsTerminal || views.some(({ once_key }) => once_key !== null);
  return {
    // A narrow terminal drops columns, those with the highest number in `optional` first.
    columns: [
      { name: 'id', whole: true },
      { name: 'status', whole: true },
      { name: 'age', align: 'right', whole: true },
      { name: 'link', align: 'right', whole: true, optional: 4 },
      { name: 'record', align: 'right', whole: true, optional: 5 },
      { name: 'saved', whole: true, optional: 6 },
      { name: 'prompt', least: 20 },
      { name: 'family', whole: true, optional: 7 },
      { name: 'model', least: 8, optional: 3 },
      { name: 'file', least: 9, wholeFrom: 120, cut: 'start', optional: 1 },
      { name: 'profile', whole: true, ...(hasSandbox ? { terminalAt: 2 } : { optional: 8 }) },
      ...(hasKeys ? [{ name: 'key', least: 6, cut: 'start', optional: 2, terminalAt: 2 } as const] : []),
    ],
    rows: views.map((view) => {
      const cells = cellsOf(view, clock.now());
      const [file, ...others] = view.files.map((each) => path.basename(each.path));
      const names = [file ?? '-', ...(others.length > 0 ? [`+${others.length}`] : [])].join(' ');
      const drawn = [beginnings.get(view.id) ?? view.id, ...cells.slice(1, 9), names, ...cells.slice(10)];
      return { id: view.id, cells, drawn };
    }),
  };
}

function cellsOf(view: JobView, nowMs: number): string[] {
  return [
    view.id,
    view.status,
    shortDuration(nowMs - Date.parse(view.created_at)),
    `${view.link_expiry_assumed && view.link_expires_at ? '~' : ''}${lifeText(view.link_expires_at, nowMs, 'dead')}`,
    lifeText(view.record_expires_at, nowMs, 'gone'),
    view.saved === null ? '-' : view.saved ? 'yes' : 'no',
    view.prompt ?? '-',
    view.family,
    view.model ?? '-',
    view.files.map((file) => file.path).join(' ') || '-',
    view.gateway === EMBEDDED ? sandboxProfile : view.profile,
    view.once_key ?? '-',
  ];
}

/** The shortest prefix to print. Commands accept six characters; eight rarely clash with unlisted jobs. */
const SHORTEST = 8;

/** On a terminal, the table shows ID prefixes that are unique in the ledger, so that commands accept them. */
export async function drawnTable(views: readonly JobView[], ctx: Context): Promise<Table> {
  if (!ctx.io.stdoutIsTerminal || ctx.io.mode.quiet) return jobTable(views, ctx);
  const own = new Set(views.map(({ job }) => job));
  const ids = views.map(({ id }) => id);
  const ledger = await ctx.ledger();
  return ledger.names((names) => jobTable(views, ctx, shortest(ids, otherNames(names, own))));
}

/** Yields all IDs and keys except the keys in `own`: a job's own key must not lengthen the prefix of its ID. */
function* otherNames(names: Iterable<JobNames>, own: ReadonlySet<string>): Generator<string> {
  for (const { key, id } of names) {
    if (id !== undefined) yield id;
    if (!own.has(key)) yield key;
  }
}

/** Maps each ID to its shortest prefix that no other ID has. */
function shortest(ids: readonly string[], others: Iterable<string> = []): ReadonlyMap<string, string> {
  const sorted = [...new Set(ids)].sort();
  const needed = sorted.map(() => SHORTEST);
  const tellApart = (at: number, other: string) => {
    const id = sorted[at];
    if (id === undefined) return;
    let length = 0;
    while (length < id.length && id[length] === other[length]) length += 1;
    needed[at] = Math.max(needed[at] ?? 0, length + 1);
  };
  for (const [at, id] of sorted.entries()) for (const near of [at - 1, at + 1]) tellApart(near, id);
  for (const other of others) {
    // In sorted order, only the two neighbours can share the longest prefix with the other name.
    let at = 0;
    for (let end = sorted.length; at < end; ) {
      const middle = (at + end) >> 1;
      if ((sorted[middle] ?? '') < other) at = middle + 1;
      else end = middle;
    }
    if (sorted[at] !== other) for (const near of [at - 1, at]) tellApart(near, other);
  }
  return new Map(sorted.map((id, at) => [id, id.slice(0, needed[at])]));
}

function lifeText(expiresAt: string | null, nowMs: number, over: string): string {
  if (expiresAt === null) return '-';
  const leftMs = Date.parse(expiresAt) - nowMs;
  return leftMs > 0 ? shortDuration(leftMs) : over;
}

/** The statuses that a list can show; internal states of the ledger are left out. */
export const listedStatuses = [
  ...new Set([
    'running',
    'succeeded',
    'failed',
    'unknown',
    'not_sent',
    'refused',
    'damaged',
    ...taskStatuses,
  ]),
];

/**
 * Builds the filter of `--status`, which matches the gateway's status or the ledger's state, ignoring case. Throws
 * `usage` for a word that no job has and that gw does not know.
 */
export async function statusFilter(
  typed: string | undefined,
  wanted: Wanted,
  ctx: Context,
): Promise<(job: Job) => boolean> {
  if (typed === undefined) return () => true;
  const word = typed.toLowerCase();
  const has = (job: Job) => job.state === word || statusWord(job).toLowerCase() === word;
  if (listedStatuses.includes(word) || (jobStates as readonly string[]).includes(word)) return has;
  const [one] = await readJobs({ ...wanted, where: has, limit: 1 }, ctx);
  if (one === undefined) {
    const [near] = nearest(word, listedStatuses);
    throw usage(
      `--status ${typed}: not a status that a job can have`,
      near === undefined ? `give one of ${listedStatuses.join(', ')}` : `did you mean --status ${near}?`,
    );
  }
  return has;
}
