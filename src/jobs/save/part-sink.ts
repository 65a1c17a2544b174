import * as path from 'node:path';
import { DiskFault, freeBytes } from '../../disk/disk-fault.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import { bytesText } from '../../io/quantity-text.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { type OutputSink, Unwanted, type Verdict } from './get-output.ts';
import { type DownloadJournal, GrowingPart, type PartHome } from './part-file.ts';
import { refusalOf } from './verify-part.ts';

export interface PartSinkOptions {
  readonly home: PartHome;
  /** The directory for the part if its home's disk fails. */
  readonly refuge: string;
  readonly role: string;
  readonly type: TaskOutput['type'];
  readonly journal: DownloadJournal;
  /** Called after each chunk, and once when a body begins. */
  readonly onBytes: (bytes: number, totalBytes: number | undefined) => void;
  readonly freeBytes?: ((dir: string) => number | undefined) | undefined;
  /** Limit for a file of unannounced length; unlimited if absent. */
  readonly mostBytes?: number | undefined;
}

/** A file of unannounced length must leave this much of the disk free (promises, section 5). */
export const LEAST_FREE_BYTES = 256 * 1024 * 1024;
/** Number of bytes written between two checks of the free space. */
const LOOK_BYTES = 8 * 1024 * 1024;

/** Keeps an output's part file through several transfers, and writes each body into it. */
export class PartSink extends GrowingPart implements OutputSink {
  /** The part's length at which the free space is checked next. */
  private lookAt = 0;

  constructor(private readonly options: PartSinkOptions) {
    const { home, refuge, role, journal } = options;
    super(home, refuge, (facts) => journal.part(role, facts));
  }

  /** Begins a body. Throws DiskFault if its announced rest does not fit on the disk. */
  begin(verdict: Extract<Verdict, { do: 'append' | 'restart' }>): void {
    if (verdict.do === 'restart') {
      this.discard();
      const { etag, totalBytes } = verdict;
      this.orFlee(() => {
        this.needSpace(totalBytes);
        this.create({ etag, totalBytes });
      });
    } else if (this.part) {
      this.setTotal(verdict.totalBytes);
      this.orFlee(() => this.needSpace(verdict.totalBytes - (this.part?.bytes ?? 0)));
    }
    this.lookAt = 0;
    if (this.part) this.options.onBytes(this.part.bytes, this.part.totalBytes);
  }

  /** Throws DiskFault if the disk (or the reserve, for an unannounced length) is full; Unwanted for wrong bytes. */
  data(chunk: Uint8Array): void {
    const { part } = this;
    if (!part) return;
    if (part.totalBytes !== undefined && part.bytes + chunk.length > part.totalBytes) {
      throw new Unwanted({ do: 'drop', reason: 'the server sent more bytes than it announced' });
    }
    const { mostBytes = Number.POSITIVE_INFINITY } = this.options;
    if (part.totalBytes === undefined && part.bytes + chunk.length > mostBytes) {
      const more = `more than ${bytesText(mostBytes)} came of it (the setting max_output)`;
      throw new Unwanted({
        do: 'refuse',
        reason: `the server does not say how long the file is, and ${more}`,
      });
    }
    if (part.totalBytes === undefined && part.bytes >= this.lookAt) {
      this.orFlee(() => this.needReserve());
      this.lookAt = part.bytes + LOOK_BYTES;
    }
    const endsAt = part.bytes + chunk.length;
    const completesBeginning = part.bytes < SNIFF_BYTES && endsAt >= SNIFF_BYTES;
    this.append(chunk);
    if (completesBeginning) {
      const reason = refusalOf(this.part ? this.part.fileType() : sniff(chunk), this.options.type);
      if (reason !== undefined) throw new Unwanted({ do: 'renew', reason });
    }
    this.options.onBytes(endsAt, part.totalBytes);
  }

  /** Sets the file's length and records it, so that a later process knows when the part is complete. */
  setTotal(totalBytes: number): void {
    const { part } = this;
    if (!part || part.totalBytes === totalBytes) return;
    part.totalBytes = totalBytes;
    this.options.journal.part(this.options.role, { path: part.path, etag: part.etag, totalBytes });
  }

  private needSpace(bytes: number | undefined): void {
    const free = this.freeBytes();
    if (bytes === undefined || free === undefined || bytes <= free) return;
    throw this.tooFull(free, `the file needs ${bytesText(bytes)} more`);
  }

  private needReserve(): void {
    const free = this.freeBytes();
    if (free === undefined || free >= LEAST_FREE_BYTES) return;
    throw this.tooFull(
      free,
      `the server does not say how long the file is: ${LEAST_FREE_BYTES / 2 ** 20} MiB are left free then`,
    );
  }

  private freeBytes(): number | undefined {
    return (this.options.freeBytes ?? freeBytes)(this.dir);
  }

  private tooFull(free: number, why: string): DiskFault {
    return new DiskFault(`${path.resolve(this.dir)} has ${bytesText(free)} free, and ${why}`, true);
  }
}
