import { randomBytes } from 'node:crypto';
import { hasOutlived, isDownloadRowOf, type KeptDocument, minuteOfRow, type SandboxStore } from './store.ts';
import type { SandboxTask } from './task.ts';

/** A store that forgets everything with its server. */
export function memoryStore(): SandboxStore {
  const tasks = new Map<string, SandboxTask>();
  const rows = new Map<string, number[]>();
  // Documents are kept as text, as a disk would keep them: nobody changes one by changing what he got.
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
      dropRows((row) => (minuteOfRow(row) ?? Number.POSITIVE_INFINITY) < nowMs / 60_000 - 3);
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
