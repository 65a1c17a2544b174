import { GwError } from '../../errors.ts';
import type { DownloadJournal } from './journal.ts';

/** GETs of one output in one run, redirects included. */
export const MAX_GETS = 6;

/** Share of the documented downloads at which a run warns, and at which it stops. */
const WARN_AT = 0.8;
const REFUSE_AT = 0.95;

export interface CountedDownloads {
  readonly journal: DownloadJournal;
  /** How often the gateway lets an output be fetched ("Retention": family A 100); none where it does not say. */
  readonly maxDownloads: number | undefined;
  readonly force: boolean;
  readonly warn: (text: string) => void;
}

/** Counts every GET before it is sent, because the gateway does not say what it counts. */
export class GetBudget {
  private counted: number;
  private warned = false;

  constructor(private readonly options: CountedDownloads) {
    this.counted = options.journal.downloadsSoFar;
  }

  /** Records that a GET is about to be sent. Throws `download` where too few are left, unless forced. */
  take(role: string): void {
    const { journal, maxDownloads = Number.POSITIVE_INFINITY, force, warn } = this.options;
    if (this.counted >= maxDownloads * REFUSE_AT && !force) {
      throw new GwError(
        'download',
        `${this.counted} of the ${maxDownloads} downloads of this task are used`,
        {
          hint: 'keep the rest for when it matters, or use --force',
        },
      );
    }
    journal.aboutToGet(role);
    this.counted++;
    if (this.counted >= maxDownloads * WARN_AT && !this.warned) {
      this.warned = true;
      warn(`${this.counted} of the ${maxDownloads} downloads of this task are used`);
    }
  }
}
