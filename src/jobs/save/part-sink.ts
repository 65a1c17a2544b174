import * as path from 'node:path';
import { DiskFault, freeBytes } from '../../disk/disk-fault.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import { bytesText } from '../../io/quantity-text.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { type OutputSink, Unwanted, type Verdict } from './get-output.ts';
import { type DownloadJournal, forgetPart, PartFile } from './part-file.ts';
import { refusalOf } from './verify-part.ts';

export interface PartSinkOptions {
  readonly dir: string;
  readonly role: string;
  readonly type: TaskOutput['type'];
  readonly journal: DownloadJournal;
  /** After each piece, and once when a body begins. */
  readonly onBytes: (bytes: number, totalBytes: number | undefined) => void;
  readonly freeBytes?: ((dir: string) => number | undefined) | undefined;
}

/** A file of unannounced length leaves this much of the disk free (promises, section 5). */
const LEAST_FREE_BYTES = 256 * 1024 * 1024;
/** What is written between two looks at what is free. */
const LOOK_BYTES = 8 * 1024 * 1024;

/** Holds an output's one part file through several transfers, and puts each body where it belongs. */
export class PartSink implements OutputSink {
  private sniffed = false;
  /** How long the part is at the next look at what is free. */
  private lookAt = 0;

  constructor(
    private readonly options: PartSinkOptions,
    /** What an earlier process left, or what has come so far. */
    public part: PartFile | undefined,
  ) {}

  /** Throws DiskFault where the announced rest does not fit on the disk. */
  begin(verdict: Extract<Verdict, { do: 'append' | 'restart' }>): void {
    const { dir, role, journal, onBytes } = this.options;
    if (verdict.do === 'restart') {
      this.discard();
      this.needSpace(verdict.totalBytes);
      const { etag, totalBytes } = verdict;
      this.part = PartFile.create(dir, { etag, totalBytes }, (facts) => journal.part(role, facts));
      this.sniffed = false;
    } else if (this.part) {
      this.needSpace(verdict.totalBytes - this.part.bytes);
      this.setTotal(verdict.totalBytes);
    }
    this.lookAt = 0;
    if (this.part) onBytes(this.part.bytes, this.part.totalBytes);
  }

  /** Throws DiskFault where the disk or, for a length that is not announced, its reserve is used up; or Unwanted for more bytes than announced and for first bytes that are not the output's. */
  data(chunk: Uint8Array): void {
    const { part } = this;
    if (!part) return;
    if (part.totalBytes !== undefined && part.bytes + chunk.length > part.totalBytes) {
      throw new Unwanted({ do: 'drop', reason: 'the server sent more bytes than it announced' });
    }
    if (part.totalBytes === undefined && part.bytes >= this.lookAt) {
      this.needReserve();
      this.lookAt = part.bytes + LOOK_BYTES;
    }
    part.append(chunk);
    if (!this.sniffed && part.bytes >= SNIFF_BYTES) {
      this.sniffed = true;
      const reason = refusalOf(sniff(part.head(SNIFF_BYTES)), this.options.type);
      if (reason !== undefined) throw new Unwanted({ do: 'renew', reason });
    }
    this.options.onBytes(part.bytes, part.totalBytes);
  }

  /** The length of the file is known now: recorded, so that a later process knows when the part is whole. */
  setTotal(totalBytes: number): void {
    const { part } = this;
    if (!part || part.totalBytes === totalBytes) return;
    part.totalBytes = totalBytes;
    this.options.journal.part(this.options.role, { path: part.path, etag: part.etag, totalBytes });
  }

  /** Closes the part, removes it and records that. */
  discard(): void {
    const { part } = this;
    if (!part) return;
    this.part = undefined;
    part.close();
    forgetPart(part.path, this.options.role, this.options.journal);
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
    return (this.options.freeBytes ?? freeBytes)(this.options.dir);
  }

  private tooFull(free: number, why: string): DiskFault {
    return new DiskFault(`${path.resolve(this.options.dir)} has ${bytesText(free)} free, and ${why}`, true);
  }
}
