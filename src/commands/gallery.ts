import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { defineCommand } from '../command.ts';
import { faultReason } from '../disk/disk-fault.ts';
import { type OwnFile, refuseForeign } from '../disk/own-file.ts';
import { GwError, usage } from '../errors.ts';
import { filled, on } from '../flags/flag.ts';
import { GALLERY_MARK, type GalleryItem, galleryPage } from '../gallery/page.ts';
import { localDay } from '../io/quantity-text.ts';
import type { Cost, Pricing } from '../jobs/cost.ts';
import { waysOf } from '../jobs/save/disk-ways.ts';
import { newPartName } from '../jobs/save/output-path.ts';
import { outputsBySize } from '../jobs/save/saved.ts';
import { takeName } from '../jobs/save/take-name.ts';
import { spendText } from '../jobs/stats.ts';
import type { Job, SavedFile } from '../ledger/event.ts';
import { EMBEDDED } from '../ledger/job-key.ts';
import { nextShot, relatedOutputs } from '../shots/related.ts';
import { type KnownJob, pastPricing, readOwnJobs, sharedIds } from './jobs/find-jobs.ts';
import { batchFilter, listFlags } from './jobs/list.ts';
import { openOnDesktop } from './open.ts';

const DEFAULT_NAME = 'gallery.html';

const flags = {
  out: filled('PATH', `the page: a file, or a directory (default ${DEFAULT_NAME})`, { short: 'o' }),
  since: listFlags.since,
  family: listFlags.family,
  batch: listFlags.batch,
  open: on('open it on the desktop'),
} as const;

interface Written {
  readonly path: string;
  readonly outputs: number;
}

/** `gw gallery` writes one page with the outputs on disk. */
export const gallery = defineCommand<typeof flags, Written>({
  about: 'Write one page of your outputs, to look through, search, and make again from.',
  flags,
  examples: ['gw gallery', 'gw gallery --since 7d --family alpha -o week.html'],
  notes: [
    'The page holds everything but the outputs, which it links to where they lie, and asks no network for anything. A page ' +
      'that gw wrote is replaced, any other file is left alone. --profile, --base-url and --sandbox limit it to the jobs of that gateway.',
  ],
  async run({ flags: { out, since, family, batch, open } }, ctx) {
    const target = targetOf(out, ctx.host.cwd);
    refuseForeign(ownPage(target));
    const nowMs = ctx.clock.now();
    const isMeant = batchFilter(batch);
    const where = (job: Job) => job.files.length > 0 && isMeant(job);
    const jobs = await readOwnJobs({ sinceMs: since?.(nowMs), family, where }, ctx);
    const shared = await sharedIds(ctx);
    const pricing = await pastPricing(ctx);
    const outputs = jobs.map((known) => ({ known, ...outputsBySize(known.job, known.family) }));
    const here = outputs.flatMap(({ known, files, missing }) =>
      [...files, ...missing.flatMap(({ rescued }) => rescued ?? [])].map((file) => ({ known, file })),
    );
    const related = relatedOutputs(here.map(({ known: { job }, file }) => ({ job, file })));
    const world = { target, shared, pricing, related };
    const items = here.map(({ known, file }) => itemOf(known, file, world));
    const gone = outputs.flatMap(({ missing }) => missing.filter(({ rescued }) => !rescued)).length;
    if (here.length === 0) ctx.io.note('no output is on disk: the page is empty');
    if (gone > 0) ctx.io.note(`${gone} of ${here.length + gone} outputs are not on disk as saved: left out`);
    await write(target, galleryPage(items, `Written by gw ${ctx.host.version} on ${localDay(nowMs)}`));
    if (open) await openOnDesktop(target, ctx);
    return { value: { path: target, outputs: items.length } };
  },
  human: ({ path: target }) => `${target}\n`,
});

interface ItemWorld {
  readonly target: string;
  /** The task IDs that several jobs have. */
  readonly shared: ReadonlySet<string>;
  readonly pricing: Pricing;
  readonly related: ReturnType<typeof relatedOutputs>;
}

function itemOf(
  { job, family }: KnownJob,
  saved: SavedFile,
  { target, shared, pricing, related }: ItemWorld,
): GalleryItem {
  const { path: file, type } = saved;
  const id = job.id === undefined || shared.has(job.id) ? job.key : job.id;
  const cost = job.gateway === EMBEDDED ? undefined : pricing.costOf(job, family);
  const settings = Object.entries(job.settings).filter(([name]) => name !== 'model');
  return {
    id,
    family: job.family,
    model: job.model ?? null,
    prompt: job.prompt ?? null,
    settings: settings.map(([name, value]) => `${name} ${value}`).join(', '),
    cost: job.gateway === EMBEDDED ? 'sandbox' : costText(cost),
    amount: (cost?.spend ?? []).reduce((sum, { amount }) => sum + amount, 0),
    createdAtMs: job.createdAtMs,
    file: path.basename(file),
    href: hrefOf(file, path.dirname(target)),
    type,
    command: `gw again ${id}`,
    next: nextShot(job, family, id, saved.role),
    ...related(job, saved, (there) => hrefOf(there, path.dirname(target))),
  };
}

const costText = (cost: Cost | undefined): string =>
  `${spendText(cost?.spend ?? [])}${cost?.by === 'prices' ? ' by your price file' : ''}`;

/** The relative URL of a file; special characters in its name are escaped. */
const hrefOf = (file: string, from: string): string =>
  path.relative(from, file).split(path.sep).map(encodeURIComponent).join('/');

function targetOf(out: string | undefined, cwd: string): string {
  if (out === '-') throw usage('--out -: a gallery links to files beside it', 'name a file');
  const named = path.resolve(cwd, out ?? DEFAULT_NAME);
  const isDirectory =
    (out !== undefined && /[/\\]$/.test(out)) || (fs.existsSync(named) && fs.statSync(named).isDirectory());
  return isDirectory ? path.join(named, DEFAULT_NAME) : named;
}

const ownPage = (file: string): OwnFile => ({
  file,
  named: file,
  what: 'a gallery that gw wrote',
  isOwn: (head) => head.includes(GALLERY_MARK),
  hint: 'give the page another name with -o',
});

/** Writes the page atomically; a file that has appeared there meanwhile is checked again. */
async function write(target: string, page: string): Promise<void> {
  const dir = path.dirname(target);
  const trial = path.join(dir, newPartName());
  let isMade = false;
  try {
    const ways = waysOf(dir);
    fs.writeFileSync(trial, page, { flag: 'wx' });
    isMade = true;
    const sha256 = createHash('sha256').update(page).digest('hex');
    if (!(await takeName({ path: trial, sha256, mode: 0o666 & ~process.umask() }, target, ways))) {
      refuseForeign(ownPage(target));
      fs.renameSync(trial, target);
    }
  } catch (error) {
    if (error instanceof GwError) throw error;
    const what = `${target}: the page cannot be written there: ${faultReason(error)}`;
    throw usage(what, 'name another place with -o');
  } finally {
    if (isMade) fs.rmSync(trial, { force: true });
  }
}
