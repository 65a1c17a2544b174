import { randomBytes } from 'node:crypto';
import type { Pool, SandboxTask } from './task.ts';

/** The memory of the embedded gateway. Times are Unix milliseconds. */
export interface SandboxStore {
  /** Signs output links; all servers on one state directory share it. */
  readonly secret: Uint8Array;
  add(task: SandboxTask): void;
  remove(task: SandboxTask): void;
  task(id: string): SandboxTask | undefined;
  tasks(): SandboxTask[];
  /** IDs of the tasks of a pool that have not ended at `nowMs`. */
  unfinished(pool: Pool, nowMs: number): string[];
  /** Appends a mark to a row of marks; returns the number of marks before it. Exact across processes. */
  append(row: string, atMs: number): number;
  marks(row: string): number[];
  /**
   * Stores a document, and replaces an existing one of this kind and ID.
   * @param kind `[a-z][a-z0-9-]*`, used by one part of the sandbox
   * @param id any text
   * @param value plain JSON
   */
  put(kind: string, id: string, value: object, life?: DocumentLife): void;
  /** As `put`, but if the document exists, nothing is stored and the result is false. Exact across processes. */
  putNew(kind: string, id: string, value: object, life?: DocumentLife): boolean;
  /** The document of this kind and ID. It must not be changed; `put` a changed copy. */
  get(kind: string, id: string): unknown;
  /** All documents of a kind by ID, in no defined order. */
  all(kind: string): ReadonlyMap<string, unknown>;
  /** Deletes a document; false if there was none. */
  drop(kind: string, id: string): boolean;
  /** Deletes everything except the secret. */
  clear(): void;
  /** Deletes tasks and documents that have expired at `nowMs`, and marks of requests after two minutes. */
  sweep(nowMs: number): void;
}

interface DocumentLife {
  /** A sweep after this time deletes the document; without it, the document stays. */
  readonly expiresAtMs?: number;
}

export interface KeptDocument extends DocumentLife {
  readonly id: string;
  readonly value: unknown;
}

/** True if a sweep at `nowMs` deletes it. */
export const hasOutlived = ({ expiresAtMs }: DocumentLife, nowMs: number): boolean =>
  expiresAtMs !== undefined && nowMs >= expiresAtMs;

export const requestRow = (pool: Pool, minute: number): string => `requests.${pool}.${minute}`;

/** True for a row of requests that no rate counts any more. */
export function isOldRow(row: string, nowMs: number): boolean {
  const minute = /^requests\.[^.]+\.(\d+)$/.exec(row)?.[1];
  return minute !== undefined && Number(minute) < nowMs / 60_000 - 3;
}

export const downloadRow = (taskId: string, file: string): string => `downloads.${taskId}.${file}`;

export const isDownloadRowOf = (row: string, taskId: string): boolean =>
  row.startsWith(`downloads.${taskId}.`);

/** A store that is lost when its server ends. */
export function memoryStore(): SandboxStore {
  const tasks = new Map<string, SandboxTask>();
  const rows = new Map<string, number[]>();
  // Documents are kept as text, as on disk, so that changing a returned value does not change the store.
  const kinds = new Map<string, Map<string, string>>();
  const dropRows = (fits: (row: string) => boolean) => {
    for (const row of rows.keys()) if (fits(row)) rows.delete(row);
  };
  const read = (text: string) => JSON.parse(text) as KeptDocument;
  const store: SandboxStore = {
    secret: randomBytes(32),
    add: (task) => void tasks.set(task.id, task),
    remove: (task) => void tasks.delete(task.id),
    task: (id) => tasks.get(id),
    tasks: () => [...tasks.values()],
    unfinished: (pool, nowMs) =>
      [...tasks.values()]
        .filter((task) => task.pool === pool && nowMs < task.endsAtMs)
        .map((task) => task.id),
    append(row, atMs) {
      const marks = rows.get(row) ?? [];
      rows.set(row, marks);
      return marks.push(atMs) - 1;
    },
    marks: (row) => [...(rows.get(row) ?? [])],
    put(kind, id, value, life) {
      const documents = kinds.get(kind) ?? new Map<string, string>();
      kinds.set(kind, documents);
      documents.set(id, JSON.stringify({ id, value, ...life } satisfies KeptDocument));
    },
    putNew(kind, id, value, life) {
      if (kinds.get(kind)?.has(id)) return false;
      store.put(kind, id, value, life);
      return true;
    },
    get(kind, id) {
      const text = kinds.get(kind)?.get(id);
      return text === undefined ? undefined : read(text).value;
    },
    all: (kind) => new Map([...(kinds.get(kind) ?? [])].map(([id, text]) => [id, read(text).value])),
    drop: (kind, id) => kinds.get(kind)?.delete(id) ?? false,
    clear() {
      tasks.clear();
      rows.clear();
      kinds.clear();
    },
    sweep(nowMs) {
      dropRows((row) => isOldRow(row, nowMs));
      for (const task of tasks.values()) {
        if (nowMs < task.expiresAtMs) continue;
        tasks.delete(task.id);
        dropRows((row) => isDownloadRowOf(row, task.id));
      }
      for (const documents of kinds.values())
        for (const [id, text] of documents) if (hasOutlived(read(text), nowMs)) documents.delete(id);
    },
  };
  return store;
}
