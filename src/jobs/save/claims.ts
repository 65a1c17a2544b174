import * as fs from 'node:fs';
import type { Ledger } from '../../ledger/ledger.ts';

/** Tasks live no longer than this, so older jobs have ended. */
const LONGEST_TASK_MS = 30 * 24 * 3_600_000;

/**
 * Decides what `--force` may replace: files from before the command, but never another output of this command, nor of
 * another job saved since it began. There is one instance per command.
 */
export class Claims {
  /** The owner of each path, as gw's job key and the output's role. */
  readonly #owners = new Map<string, string>();

  constructor(
    private readonly ledger: Pick<Ledger, 'find'>,
    /** When the command began, in Unix milliseconds. */
    private readonly startMs: number,
  ) {}

  /** True if an output may use a path, which is then reserved for it. */
  async mayTake(path: string, key: string, role: string): Promise<boolean> {
    const owner = this.#owners.get(path) ?? `${key} ${role}`;
    // Set before the ledger is read, because another output of this command may ask in the meantime.
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
