import * as path from 'node:path';
import { DiskFault, freeBytes } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import type { TaskOutput } from '../../gateway/task.ts';
import { bytesText } from '../../io/quantity-text.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { type OutputSink, Unwanted, type Verdict } from './get-output.ts';
import { type DownloadJournal, forgetPart, movePart, PartFile } from './part-file.ts';
import type { PartHome } from './rescue.ts';
import { refusalOf } from './verify-part.ts';

export interface PartSinkOptions {
  /** Where the part grows. */
  readonly home: PartHome;
  /** Takes the part where that disk fails. */
  readonly refuge: string | undefined;
  readonly role: string;
  readonly type: TaskOutput['type'];
  readonly journal: DownloadJournal;
  /** After each piece, and once when a body begins. */
  readonly onBytes: (bytes: number, totalBytes: number | undefined) => void;
  readonly freeBytes?: ((dir: string) => number | undefined) | undefined;
  /** Of a file of unannounced length; any when absent. */
  readonly mostBytes?: number | undefined;
}

/** A file of unannounced length leaves this much of the disk free (promises, section 5). */
export const LEAST_FREE_BYTES = 256 * 1024 * 1024;
/** What is written between two looks at what is free. */
const LOOK_BYTES = 8 * 1024 * 1024;

/** Holds an output's one part file through several transfers, and puts each body where it belongs. */
export class PartSink implements OutputSink {
  private sniffed = false;
  /** How long the part is at the next look at what is free. */
  private lookAt = 0;

  private dir: string;
  /** What an earlier process left, or what has come so far. */
  part: PartFile | undefined;
  /** Why the part lies in the refuge, where it was to lie elsewhere. */
  fault: DiskFault | undefined;

  constructor(private readonly options: PartSinkOptions) {
    this.dir = options.home.dir;
    this.fault = options.home.fault;
  }

  /** Throws DiskFault where the announced rest does not fit on the disk. */
  begin(verdict: Extract<Verdict, { do: 'append' | 'restart' }>): void {
    const { role, journal, onBytes } = this.options;
    if (verdict.do === 'restart') {
      this.discard();
      const { etag, totalBytes } = verdict;
      this.orFlee(() => {
        this.needSpace(totalBytes);
        this.part = PartFile.create(this.dir, { etag, totalBytes }, (facts) => journal.part(role, facts));
      });
      this.sniffed = false;
    } else if (this.part) {
      this.setTotal(verdict.totalBytes);
      this.orFlee(() => this.needSpace(verdict.totalBytes - (this.part?.bytes ?? 0)));
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
    // What found no place here goes on there, from where it stopped.
    this.orFlee(() => this.part?.append(chunk.subarray(chunk.length - (endsAt - this.part.bytes))));
    if (!this.sniffed && endsAt >= SNIFF_BYTES) {
      this.sniffed = true;
      const reason = refusalOf(sniff(this.part?.head(SNIFF_BYTES) ?? chunk), this.options.type);
      if (reason !== undefined) throw new Unwanted({ do: 'renew', reason });
    }
    this.options.onBytes(endsAt, part.totalBytes);
  }

  /** Does what the disk may refuse; once, what it refuses is done in the refuge. Throws DiskFault. */
  private orFlee(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof DiskFault) || !this.flee(error)) throw error;
      act();
    }
  }

  /** What came cannot be used, because its disk cannot be read: whether it may be fetched anew, into the refuge. */
  beginElsewhere(fault: DiskFault): boolean {
    const { refuge } = this.options;
    if (refuge === undefined || this.dir === refuge || this.fault !== undefined) return false;
    this.discard();
    return this.flee(fault);
  }

  /** Whether the refuge has taken the part, with what has come of it. */
  private flee(fault: DiskFault): boolean {
    const { refuge, role, journal } = this.options;
    if (refuge === undefined || this.dir === refuge) return false;
    try {
      ensureDirectory(refuge);
      this.part = this.part && movePart(this.part, refuge, (facts) => journal.part(role, facts));
      this.dir = refuge;
      return true;
    } catch {
      return false;
    } finally {
      this.fault = fault;
    }
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
    return (this.options.freeBytes ?? freeBytes)(this.dir);
  }

  private tooFull(free: number, why: string): DiskFault {
    return new DiskFault(`${path.resolve(this.dir)} has ${bytesText(free)} free, and ${why}`, true);
  }
}
