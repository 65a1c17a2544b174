import * as path from 'node:path';
import { stateDir } from '../../config/dirs.ts';
import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { GwError, usage } from '../../errors.ts';
import { MB } from '../../gateway/media-limits.ts';
import { bytesText } from '../../io/quantity-text.ts';
import { freeBytes } from '../../jobs/save/disk-fault.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';
import { nearestDirectory } from './nearest-directory.ts';

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
