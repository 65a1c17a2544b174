import type { Job } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { faultReason } from '../save/disk-fault.ts';
import type { DownloadJournal } from '../save/journal.ts';

/**
 * The journal of a job's images. A part that cannot be recorded is warned of once and no more: it came with the reply
 * and comes only once, so it is better saved without a record than lost with one.
 */
export function imageJournal(
  key: string,
  ledger: Ledger,
  warn: (text: string) => void,
  job?: Pick<Job, 'downloads' | 'parts' | 'files'>,
): DownloadJournal {
  let isWarned = false;
  return {
    downloadsSoFar: job?.downloads ?? 0,
    parts: job?.parts ?? {},
    files: job?.files ?? [],
    aboutToGet: (role) => ledger.append(key, { event: 'get', role }),
    part(role, part) {
      try {
        ledger.append(key, { event: 'part', role, ...part });
      } catch (error) {
        if (!isWarned) warn(`the ledger cannot be written: ${faultReason(error)}; going on without it`);
        isWarned = true;
      }
    },
    saved: (file) => ledger.append(key, { event: 'saved', ...file }),
  };
}
