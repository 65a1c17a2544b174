import * as fs from 'node:fs';
import * as path from 'node:path';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { appendLine, ensureDirectory } from '../../disk/durable-directory.ts';
import { jsonOf } from '../../json-text.ts';
import { digestOf } from '../../machines/row.ts';
import type { RowResult } from '../batch/run.ts';

// What this machine has handed over, and what it was told of it: a queue that forgets is found out, and a run without the
// queue makes nothing once more.

interface Remembered {
  readonly saved?: Pick<RowResult, 'id' | 'status' | 'files'>;
}

interface Said extends Remembered {
  readonly keys?: readonly string[];
  readonly key?: string;
  readonly takenBack?: readonly string[];
}

/** The rows of one batch that were handed over. */
export class Memory {
  readonly #file: string;
  readonly rows = new Map<string, Remembered>();

  constructor(name: string, ctx: Context) {
    this.#file = path.join(trustedStateDir(ctx.host), 'queues', `${digestOf(name)}.jsonl`);
    const text = fs.existsSync(this.#file) ? fs.readFileSync(this.#file, 'utf8') : '';
    for (const line of text.split('\n')) {
      // A line that was torn by a crash was not acted upon.
      const said = line === '' ? undefined : (jsonOf(line) as Said | undefined);
      for (const key of said?.keys ?? []) this.rows.set(key, {});
      for (const key of said?.takenBack ?? []) this.rows.delete(key);
      if (said?.key !== undefined && said.saved) this.rows.set(said.key, { saved: said.saved });
    }
  }

  of(key: string): Remembered | undefined {
    return this.rows.get(key);
  }

  /** Durable when this returns. */
  handedOver(keys: readonly string[]): void {
    if (keys.length === 0) return;
    this.#append({ keys });
    for (const key of keys) this.rows.set(key, {});
  }

  /** They were never sent, and nobody else can send them any more. */
  takenBack(keys: readonly string[]): void {
    if (keys.some((key) => this.rows.has(key))) this.#append({ takenBack: keys });
  }

  saved(key: string, { id, status, files }: RowResult): void {
    const saved = { id, status, files };
    this.rows.set(key, { saved });
    this.#append({ key, saved });
  }

  #append(said: Said): void {
    ensureDirectory(path.dirname(this.#file));
    appendLine(this.#file, JSON.stringify(said));
  }
}
