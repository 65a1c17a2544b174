import * as fs from 'node:fs';
import type { Job } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { noneIfUnreadable } from '../../ledger/write-error.ts';
import { isSameFile, isSamePlace, placeOf } from './take-name.ts';

/** Tasks live no longer than this, so older jobs have ended. */
const LONGEST_TASK_MS = 30 * 24 * 3_600_000;

/** Decides for one command what its --force may replace: no output of its own, nor what another job saved since it began. */
export class Claims {
  constructor(
    private readonly ledger: Pick<Ledger, 'find' | 'isHeld'>,
    /** When the command began, in Unix milliseconds. */
    private readonly startMs: number,
  ) {}

  /** The owner of each path, as gw's job key and the output's role. */
  private readonly owners = new Map<string, { readonly path: string; readonly owner: string }[]>();

  /** Reserves the paths of a job of this command that an earlier run saved. */
  keep(key: string | undefined, files: readonly { readonly path: string; readonly role?: string }[]): void {
    for (const { path, role } of files) this.#ownerOf(path, `${key} ${role}`);
  }

  #ownerOf(path: string, owner: string): string {
    const place = placeOf(path);
    const claimed = this.owners.get(place) ?? [];
    const there = claimed.find((each) => isSamePlace(each.path, path));
    if (there === undefined) this.owners.set(place, [...claimed, { path, owner }]);
    return there?.owner ?? owner;
  }

  /**
   * True if an output may use a path, or keep the one that it `isAt`; the path is then reserved for it. `tell` writes
   * into the ledger that it is about to get the path: of two gw that would replace one file, at least one sees the other.
   */
  async mayTake(
    path: string,
    key: string,
    role: string,
    { isAt = false, tell = () => {} }: { readonly isAt?: boolean; readonly tell?: () => void } = {},
  ): Promise<boolean> {
    // Reserved before the ledger is read, because another output of this command may ask in the meantime.
    if (this.#ownerOf(path, `${key} ${role}`) !== `${key} ${role}`) return false;
    if (isAt || !fs.lstatSync(path, { throwIfNoEntry: false })) return true;
    tell();
    const theirs = {
      sinceMs: this.startMs - LONGEST_TASK_MS,
      limit: 1,
      where: (other: Job) => other.key !== key && this.#isTheirs(other, path),
    };
    // The file may be another job's if the ledger cannot be read, so the output gets another name.
    const jobs = await this.ledger.find(theirs).catch(noneIfUnreadable);
    return jobs?.length === 0;
  }

  /** True of a job that has saved under this name since the command began, or that is about to and was not killed before. */
  #isTheirs({ key, files, parts, savedAtMs = 0 }: Job, path: string): boolean {
    if (savedAtMs > this.startMs && files.some((file) => isSamePlace(file.path, path))) return true;
    const named = Object.values(parts).filter(
      ({ path: part, to = '' }) => isSamePlace(to, path) || isSameFile(part, path),
    );
    return named.some(({ startedAtMs }) => startedAtMs > this.startMs || this.ledger.isHeld(key));
  }
}
