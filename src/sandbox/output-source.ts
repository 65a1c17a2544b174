import type { World } from './world.ts';

/** A file that the output listener can send. */
export interface OutputFile {
  /** Its Content-Type. */
  readonly type: string;
  /** How often it may be fetched, where the document says so. */
  readonly maxDownloads?: number;
  /**
   * Makes the bytes when they are first asked for; the listener keeps the latest in memory.
   * @param variant 0 for the file as it is; another number gives an equal one in other bytes, where there is one
   */
  make(variant: number): Promise<Uint8Array>;
}

/**
 * What has files to offer under `/outputs/{id}/{name}`. The listener checks signature and life of the link first
 * (`signedLink`), so that each source decides how long its own links live.
 */
export interface OutputSource {
  /** The file of that name; undefined where this source has none, or has none yet. */
  find(id: string, name: string, world: World): OutputFile | undefined;
}
