import type { Pool, SandboxTask } from './task.ts';

/** What the embedded gateway remembers. Times are Unix milliseconds. */
export interface SandboxStore {
  /** Signs output links; shared by all servers on one state directory. */
  readonly secret: Uint8Array;
  add(task: SandboxTask): void;
  remove(task: SandboxTask): void;
  task(id: string): SandboxTask | undefined;
  tasks(): SandboxTask[];
  /** IDs of the tasks of a pool that have not ended at `nowMs`. */
  unfinished(pool: Pool, nowMs: number): string[];
  /** Appends a mark to a row of marks; returns how many stood before it. Exact between processes. */
  append(row: string, atMs: number): number;
  /** The times of a row of marks, in order. */
  marks(row: string): number[];
  /** Drops what has outlived its time at `nowMs`: records after `recordLifeMs`, minutes of requests after two. */
  sweep(nowMs: number, recordLifeMs: number): void;
}

/** The row of marks of a pool's requests within one minute. */
export const requestRow = (pool: Pool, minute: number): string => `requests.${pool}.${minute}`;

/** The minute in the name of a row of requests; undefined for any other row. */
export function minuteOfRow(row: string): number | undefined {
  const minute = /^requests\.[^.]+\.(\d+)$/.exec(row)?.[1];
  return minute === undefined ? undefined : Number(minute);
}

/** The row of marks of a file's downloads. */
export const downloadRow = (taskId: string, file: string): string => `downloads.${taskId}.${file}`;

/** Whether a row counts the downloads of this task. */
export const isDownloadRowOf = (row: string, taskId: string): boolean =>
  row.startsWith(`downloads.${taskId}.`);
