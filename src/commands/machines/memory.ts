import * as fs from 'node:fs';
import * as path from 'node:path';
import { askedDigest, digestOf, type Row } from '../../batch/rows.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { appendLine, ensureDirectory } from '../../disk/durable-directory.ts';
import { refuseNewer } from '../../formats.ts';
import { jsonOf } from '../../json-text.ts';
import type { RowResult } from '../batch/report.ts';
import { currentOrigin } from '../once.ts';

// Records which rows this machine has handed over and what the queue reported, so that a queue which lost rows is
// noticed, and a run without the queue creates no row twice.

interface Remembered {
  /** The digest of the request (`askedDigest`); an older gw did not record it. */
  readonly asked?: string | undefined;
  readonly saved?: Pick<RowResult, 'id' | 'status' | 'files'>;
  /** The attempt under its key, from 1; an older gw did not record it. */
  readonly attempt?: number | undefined;
  /** True if the run ended before it knew that the row had reached the queue. */
  readonly isOnItsWay?: boolean;
}

interface Said extends Pick<Remembered, 'saved' | 'attempt'> {
  /** The format, if it is above 1. */
  readonly v?: unknown;
  /** The origin of the gateway; an older gw did not record it. */
  readonly origin?: string;
  readonly keys?: readonly string[];
  /** Rows that are about to be handed over; `keys` lists them once they are. */
  readonly handing?: readonly string[];
  readonly asked?: readonly string[];
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

  #take({ handing = [], keys = [], asked, takenBack = [], key: of, saved, attempt }: Said): void {
    for (const [at, key] of handing.entries()) this.rows.set(key, { asked: asked?.[at], isOnItsWay: true });
    for (const [at, key] of keys.entries()) this.rows.set(key, { asked: asked?.[at] });
    for (const key of takenBack) this.rows.delete(key);
    if (of !== undefined && saved) this.rows.set(of, { ...this.rows.get(of), saved, attempt });
  }

  /** Records rows that are about to be handed over (`handing`) or are on the queue (`keys`); durable on return. */
  handed(rows: readonly Row[], as: 'handing' | 'keys'): void {
    if (rows.length > 0) this.#append({ [as]: rows.map(({ key }) => key), asked: rows.map(askedDigest) });
  }

  /** Records rows that were never sent and that no worker can send any more. */
  takenBack(keys: readonly string[]): void {
    if (keys.some((key) => this.rows.has(key))) this.#append({ takenBack: keys });
  }

  saved(row: Row, { id, status, files }: RowResult, attempt: number | undefined): void {
    if (!this.rows.has(row.key)) this.handed([row], 'keys');
    this.#append({ key: row.key, saved: { id, status, files }, attempt });
  }

  #append(said: Said): void {
    ensureDirectory(path.dirname(this.#file));
    appendLine(this.#file, JSON.stringify({ origin: this.origin, ...said }));
    this.#take(said);
  }
}
