import type { SavedFile } from '../../ledger/event.ts';

/** What is known of a part file: enough for a later process to go on with it. */
export interface PartFacts {
  readonly path: string;
  /** A strong `ETag`, with its quotes; without one the part can only be finished by the process that began it. */
  readonly etag?: string | undefined;
  readonly totalBytes?: number | undefined;
}

/** A part file as an earlier run recorded it. */
export interface RecordedPart extends PartFacts {
  readonly startedAtMs: number;
}

/**
 * Where the downloader's facts go, and what earlier runs of the same job left. Each call returns when the fact is
 * durable; one that throws stops the output it concerns before anything is done that it should have recorded.
 */
export interface DownloadJournal {
  /** Downloads of this job recorded before this run. */
  readonly downloadsSoFar: number;
  /** By role. */
  readonly parts: Readonly<Record<string, RecordedPart>>;
  readonly files: readonly SavedFile[];
  /** A GET is about to be sent. */
  aboutToGet(role: string): void;
  /** The output's one part file is about to be made, or (undefined) is gone. */
  part(role: string, part: PartFacts | undefined): void;
  saved(file: SavedFile): void;
}
