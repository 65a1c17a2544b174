import { randomBytes } from 'node:crypto';
import { isDownloadRowOf, minuteOfRow, type SandboxStore } from './store.ts';
import type { SandboxTask } from './task.ts';

/** A store that forgets everything with its server. */
export function memoryStore(): SandboxStore {
  const tasks = new Map<string, SandboxTask>();
  const rows = new Map<string, number[]>();
  const dropRows = (fits: (row: string) => boolean) => {
    for (const row of rows.keys()) if (fits(row)) rows.delete(row);
  };
  return {
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
    sweep(nowMs, recordLifeMs) {
      dropRows((row) => (minuteOfRow(row) ?? Number.POSITIVE_INFINITY) < nowMs / 60_000 - 3);
      for (const task of tasks.values()) {
        if (nowMs < task.createdAtMs + recordLifeMs) continue;
        tasks.delete(task.id);
        dropRows((row) => isDownloadRowOf(row, task.id));
      }
    },
  };
}
