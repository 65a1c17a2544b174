import * as fs from 'node:fs';
import * as path from 'node:path';
import { digestOf, type Row } from '../../batch/rows.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { appendLine, ensureDirectory } from '../../disk/durable-directory.ts';
import { refuseNewer } from '../../formats.ts';
import { jsonOf } from '../../json-text.ts';
import type { RowRecord } from '../../machines/row.ts';
import type { Fields } from '../batch/known-rows.ts';
import type { RowResult } from '../batch/report.ts';
import { currentOrigin } from '../once.ts';

// Records which rows this machine has handed over and what the queue reported, so that a queue which lost rows is
// noticed, and a run without the queue creates no row twice.

interface Remembered {
  readonly saved?: Pick<RowResult, 'family' | 'id' | 'status' | 'files'>;
  /** The attempt under its key, from 1; an older gw did not record it. */
  readonly attempt?: number | undefined;
  /** A digest of each field of its request; an older gw did not record it. */
  readonly fields?: Fields | undefined;
  /** True if the run ended before it knew that the row had reached the queue. */
  readonly isOnItsWay?: boolean;
}

interface Said extends Omit<Remembered, 'isOnItsWay'> {
  /** The format, if it is above 1. */
  readonly v?: unknown;
  /** The origin of the gateway; an older gw did not record it. */
  readonly origin?: string;
  readonly keys?: readonly string[];
  /** Rows that are about to be handed over; `keys` lists them once they are. */
  readonly handing?: readonly string[];
  readonly key?: string;
  readonly takenBack?: readonly string[];
}

/** The rows of one batch that were handed over at the current gateway. */
export class Memory {
  readonly #file: string;
  readonly rows = new Map<string, Remembered>();

  static async open(name: string, ctx: Context): Promise<Memory> {
    return new Memory(name, await currentOrigin(ctx), ctx);
  }

  private constructor(
    name: string,
    private readonly origin: string,
    ctx: Context,
  ) {
    this.#file = path.join(trustedStateDir(ctx.host), 'queues', `${digestOf(name)}.jsonl`);
    const text = fs.existsSync(this.#file) ? fs.readFileSync(this.#file, 'utf8') : '';
    for (const line of text.split('\n')) {
      // A line that a crash cut off was not acted upon.
      const said = line === '' ? undefined : (jsonOf(line) as Said | undefined);
      refuseNewer('handovers', said?.v, this.#file);
      if (said && (said.origin ?? origin) === origin) this.#take(said);
    }
  }

  #take({ handing = [], keys = [], takenBack = [], key: of, saved, attempt, fields }: Said): void {
    for (const key of handing) this.rows.set(key, { isOnItsWay: true });
    for (const key of keys) this.rows.set(key, {});
    for (const key of takenBack) this.rows.delete(key);
    if (of !== undefined && saved) this.rows.set(of, { saved, attempt, fields });
  }

  /** Records rows that are about to be handed over (`handing`) or are on the queue (`keys`); durable on return. */
  handed(rows: readonly Row[], as: 'handing' | 'keys'): void {
    if (rows.length > 0) this.#append({ [as]: rows.map(({ key }) => key) });
  }

  /** Records rows that were never sent and that no worker can send any more. */
  takenBack(keys: readonly string[]): void {
    if (keys.some((key) => this.rows.has(key))) this.#append({ takenBack: keys });
  }

  saved({ row_key: key, family, id, status, files }: RowResult, { job }: Pick<RowRecord, 'job'>): void {
    this.#append({ key, saved: { family, id, status, files }, attempt: job?.attempt, fields: job?.fields });
  }

  #append(said: Said): void {
    ensureDirectory(path.dirname(this.#file));
    appendLine(this.#file, JSON.stringify({ origin: this.origin, ...said }));
    this.#take(said);
  }
}
