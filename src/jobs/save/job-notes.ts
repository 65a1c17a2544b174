import { GwError } from '../../errors.ts';
import type { LedgerEvent } from '../../ledger/event.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';

/**
 * What saving writes down about one job. Where the ledger cannot be written any more, the outputs of a task that ran in this
 * process are saved all the same, each asked for once, with one warning (promises, section 4, point 3).
 */
export class JobNotes {
  #isUnwritten = false;

  constructor(
    private readonly key: string,
    private readonly ledger: Ledger,
    /** Hears that nothing can be written. Where absent, what the ledger throws is thrown. */
    private readonly warn: ((text: string) => void) | undefined,
  ) {}

  /** Whether something was not written, so that nothing counts any more how often an output was asked for. */
  get isUnwritten(): boolean {
    return this.#isUnwritten;
  }

  append(event: LedgerEvent): void {
    // Only who has claimed the job may write its end; the next run sees the end for itself.
    if (this.#isUnwritten && event.event === 'final') return;
    try {
      this.ledger.append(this.key, event);
    } catch (error) {
      this.#forgive(error);
    }
  }

  /** Claims the job by `claim`; where no claim can be made, nobody else can make one either, and the job is only read. */
  async hold(claim: () => Promise<Hold | undefined>): Promise<Hold | undefined> {
    try {
      return await claim();
    } catch (error) {
      this.#forgive(error);
      const [job] = await this.ledger.find({ ids: [this.key] });
      return { key: this.key, job, release() {} };
    }
  }

  #forgive(error: unknown): void {
    if (!this.warn || !(error instanceof GwError) || error.kind !== 'download') throw error;
    if (!this.#isUnwritten)
      this.warn(`${error.message}; its outputs are saved all the same, each asked for once`);
    this.#isUnwritten = true;
  }
}
