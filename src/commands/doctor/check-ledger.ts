import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { stateDir } from '../../config/dirs.ts';
import type { Settings } from '../../config/settings.ts';
import { type Context, commandFor } from '../../context.ts';
import { diskFault } from '../../disk/disk-fault.ts';
import { GwError, usage } from '../../errors.ts';
import { MB } from '../../gateway/limits.ts';
import { bytesText, durationText } from '../../io/quantity-text.ts';
import { diesSoonAtMs, isUnsaved } from '../../jobs/job-view.ts';
import { freeBytes } from '../../jobs/save/disk-fault.ts';
import type { Job } from '../../ledger/event.ts';
import type { UnreadableLine } from '../../ledger/ledger.ts';
import { withFamilies } from '../jobs/read-jobs.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** Whether the ledger can be read and written, and whether something in it is about to be lost. */
export async function checkLedger(ctx: Context): Promise<Finding[]> {
  let jobs: Job[];
  let findings: Finding[];
  try {
    const ledger = await ctx.ledger();
    jobs = await ledger.find({ isOpen: true });
    // The test comes before the word that it can be written.
    const isThere = probe(ledger.dir);
    const all = await ledger.count();
    const count = `${all} ${all === 1 ? 'job' : 'jobs'}`;
    findings = [
      ledger.unreadable.length > 0
        ? warning(
            'ledger',
            `${ledger.dir}: ${unreadableText(ledger.unreadable)}`,
            'keep a copy of the directory and run gw jobs sync: a job whose first line is damaged is found by its ID; the ' +
              'other jobs are not concerned',
          )
        : ok(
            'ledger',
            `${ledger.dir}: ${isThere ? `${count}, readable and writable` : 'not made yet, and can be made'}`,
          ),
    ];
  } catch (error) {
    return [failed('ledger', error), skipped('links', 'not looked at')];
  }
  return [...findings, await checkLinks(jobs, ctx)];
}

const unreadableText = (lines: readonly UnreadableLine[]): string => {
  const places = lines.slice(0, 10).map(({ path: file, line }) => `${path.basename(file)}:${line}`);
  const more = lines.length - places.length;
  return `${lines.length === 1 ? '1 line' : `${lines.length} lines`} cannot be read: ${places.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

/** Writes and removes a file where the ledger is, or where it would be made; whether it is there. Throws GwError `usage`. */
function probe(dir: string): boolean {
  const at = nearestDirectory(dir);
  try {
    writeAndRemove(path.join(at, `.gw-doctor-${randomBytes(8).toString('hex')}`));
  } catch (error) {
    const { reason, remedy } = diskFault(error);
    throw usage(
      `${at} cannot be written: ${reason}`,
      `${remedy}, or set GW_STATE_DIR; no paid job is sent before`,
    );
  }
  return at === dir;
}

function writeAndRemove(file: string): void {
  try {
    fs.writeFileSync(file, 'probe\n', { flag: 'wx', mode: 0o600 });
  } finally {
    fs.rmSync(file, { force: true });
  }
}

/** Finished jobs that are not saved, and unfinished ones, whose links or records die soon. */
async function checkLinks(jobs: readonly Job[], ctx: Context): Promise<Finding> {
  const nowMs = ctx.clock.now();
  const known = await withFamilies(jobs);
  const ends = known
    .map(({ job, family }) => family && diesSoonAtMs(job, family, nowMs))
    .filter((atMs) => atMs !== undefined);
  const unsaved = known.filter(({ job, family }) => family && isUnsaved(job, family)).length;
  if (ends.length === 0) {
    return ok(
      'links',
      unsaved === 0
        ? 'nothing waits to be saved'
        : `${unsaved} ${unsaved === 1 ? 'job waits' : 'jobs wait'} to be saved, without hurry`,
    );
  }
  const first = durationText(ends.reduce((least, atMs) => Math.min(least, atMs)) - nowMs);
  return warning(
    'links',
    `${ends.length} ${ends.length === 1 ? 'job is' : 'jobs are'} not saved and about to be lost, the first in ${first}`,
    `run ${commandFor('gw jobs sync', ctx)}`,
  );
}

/** A 4k clip of half a minute has some hundred megabytes. */
const LITTLE_BYTES = 1024 * MB;
/** What the ledger needs to go on, and no clip fits into. */
const NOTHING_BYTES = 50 * MB;

/** Room for the ledger and for outputs. */
export function checkDisk(settings: Settings | undefined, { host }: Context): Finding[] {
  const out = settings?.out.value ?? '';
  // A pattern names files; what stands before its first brace is a directory, or the begin of one's name.
  const outDir = path.resolve(host.cwd, out.replace(/\{.*$/s, ''));
  return [
    roomIn('disk for outputs', () => outDir, 'download'),
    roomIn('disk for the ledger', () => stateDir(host), 'usage'),
  ];
}

function roomIn(check: string, dirOf: () => string, kind: 'download' | 'usage'): Finding {
  let dir: string;
  try {
    dir = nearestDirectory(dirOf());
  } catch (error) {
    return failed(check, error);
  }
  const free = freeBytes(dir);
  if (free === undefined) return skipped(check, `${dir}: the file system does not say`);
  const message = `${bytesText(free)} free in ${dir}`;
  if (free >= LITTLE_BYTES) return ok(check, message);
  if (free >= NOTHING_BYTES) return warning(check, message, 'free some space before long videos are saved');
  const hint = 'free some space';
  return failed(check, kind === 'usage' ? usage(message, hint) : new GwError(kind, message, { hint }));
}

/** A directory, or the closest one above it that is there; a file in the way is returned as it stands. */
function nearestDirectory(dir: string): string {
  const parent = path.dirname(dir);
  if (parent === dir) return dir;
  try {
    return fs.existsSync(dir) ? dir : nearestDirectory(parent);
  } catch {
    return nearestDirectory(parent);
  }
}
