import * as fs from 'node:fs';
import type { Ledger } from '../../ledger/ledger.ts';

/** Tasks are kept no longer: what was begun before has ended. */
const LONGEST_TASK_MS = 30 * 24 * 3_600_000;

/**
 * What `--force` may replace: what was there before the command, and never another output of it, or of another job that was
 * saved since it began. One a command.
 */
export class Claims {
  /** Who is to have a path, by gw's key of the job and the output's role. */
  readonly #owners = new Map<string, string>();

  constructor(
    private readonly ledger: Pick<Ledger, 'find'>,
    /** When the command began, Unix milliseconds. */
    private readonly startMs: number,
  ) {}

  /** Whether an output may take a path; it is kept for it then. */
  async mayTake(path: string, key: string, role: string): Promise<boolean> {
    const owner = this.#owners.get(path) ?? `${key} ${role}`;
    // Before the ledger is asked: another output of this command may ask meanwhile.
    this.#owners.set(path, owner);
    if (owner !== `${key} ${role}`) return false;
    return !fs.lstatSync(path, { throwIfNoEntry: false }) || !(await this.#isOfAnother(path, key));
  }

  async #isOfAnother(path: string, key: string): Promise<boolean> {
    const [job] = await this.ledger.find({
      sinceMs: this.startMs - LONGEST_TASK_MS,
      limit: 1,
      where: ({ key: other, files, savedAtMs = 0 }) =>
        other !== key && savedAtMs > this.startMs && files.some((file) => file.path === path),
    });
    return job !== undefined;
  }
}
