import * as fs from 'node:fs';
import { isHome, type Job, type SavedFile } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** Tasks live no longer than this, so older jobs have ended. */
const LONGEST_TASK_MS = 30 * 24 * 3_600_000;

/**
 * Decides what `--force` may replace: files from before the command, but never another output of this command, nor of
 * another job saved since it began. There is one instance per command.
 */
export class Claims {
  constructor(
    private readonly ledger: Pick<Ledger, 'find'>,
    /** When the command began, in Unix milliseconds. */
    private readonly startMs: number,
    /** The owner of each path, as gw's job key and the output's role. */
    private readonly owners = new Map<string, string>(),
    /** Outputs that an earlier run saved: what stands in their place now came later, and stays. */
    private readonly saved: readonly SavedFile[] = [],
  ) {}

  /** For a later run that uses the --force of a job's create, which meant files from before that create. */
  ofCreate({ createdAtMs, files }: Pick<Job, 'createdAtMs' | 'files'>): Claims {
    return new Claims(this.ledger, createdAtMs, this.owners, files.filter(isHome));
  }

  /** Reserves the paths of a job of this command that an earlier run saved. */
  keep(key: string | undefined, files: readonly { readonly path: string; readonly role?: string }[]): void {
    for (const { path, role } of files) this.owners.set(path, `${key} ${role}`);
  }

  /** True if an output may use a path, or keep the one that it `isAt`; the path is then reserved for it. */
  async mayTake(path: string, key: string, role: string, isAt = false): Promise<boolean> {
    const owner = this.owners.get(path) ?? `${key} ${role}`;
    // Set before the ledger is read, because another output of this command may ask in the meantime.
    this.owners.set(path, owner);
    if (owner !== `${key} ${role}`) return false;
    if (isAt || !fs.lstatSync(path, { throwIfNoEntry: false })) return true;
    return !this.saved.some((file) => file.role === role) && !(await this.#isOfAnother(path, key));
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
