import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { isDownloadRowOf, minuteOfRow, type SandboxStore } from './store.ts';
import type { SandboxTask } from './task.ts';

// state directory/
//   secret                             32 random bytes
//   tasks/ID.json                      one task each, put there by rename
//   unfinished/ENDS_AT_MS.POOL.ID      empty; lets a create count the running tasks without reading all records
//   marks/ROW                          16 bytes a mark: the time (float64) and 8 random bytes

const markBytes = 16;
const idForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const errorCode = (error: unknown) => (error as NodeJS.ErrnoException | null)?.code;

/** Runs a file operation; gives `otherwise` where the file is missing (another process was quicker). */
function ifThere<T>(operate: () => T, otherwise: T): T {
  try {
    return operate();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return otherwise;
    throw error;
  }
}

const unlink = (path: string) => ifThere(() => fs.unlinkSync(path), undefined);

/**
 * A store that several processes may use at once and that outlives them. Each fact is a file that appears whole or a
 * single append, so that no lock is needed.
 * @param stateDir made if missing, readable by this user only
 */
export function diskStore(stateDir: string): SandboxStore {
  const folder = (name: string) => join(stateDir, name);
  for (const name of ['', 'tasks', 'unfinished', 'marks'])
    fs.mkdirSync(folder(name), { recursive: true, mode: 0o700 });
  const taskPath = (id: string) => join(folder('tasks'), `${id}.json`);
  const markPath = (row: string) => join(folder('marks'), row);
  const unfinishedName = (task: SandboxTask) => `${Math.ceil(task.endsAtMs)}.${task.pool}.${task.id}`;

  const writeWhole = (
    path: string,
    bytes: string | Uint8Array,
    publish: (from: string, to: string) => void,
  ) => {
    const temporary = `${path}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`;
    fs.writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' });
    try {
      publish(temporary, path);
    } finally {
      unlink(temporary);
    }
  };
  const readTask = (path: string): SandboxTask | undefined => {
    const text = ifThere(() => fs.readFileSync(path, 'utf8'), '');
    try {
      return JSON.parse(text) as SandboxTask;
    } catch {
      return undefined; // gone, or cut by a machine that went down
    }
  };
  const readMarks = (row: string) => ifThere(() => fs.readFileSync(markPath(row)), Buffer.alloc(0));
  const store: SandboxStore = {
    secret: loadSecret(join(stateDir, 'secret'), writeWhole),
    add(task) {
      fs.writeFileSync(join(folder('unfinished'), unfinishedName(task)), '', { mode: 0o600 });
      writeWhole(taskPath(task.id), JSON.stringify(task), fs.renameSync);
    },
    remove(task) {
      unlink(taskPath(task.id));
      unlink(join(folder('unfinished'), unfinishedName(task)));
    },
    task: (id) => (idForm.test(id) ? readTask(taskPath(id)) : undefined),
    tasks: () =>
      fs
        .readdirSync(folder('tasks'))
        .filter((name) => name.endsWith('.json'))
        .map((name) => readTask(join(folder('tasks'), name)))
        .filter((task) => task !== undefined),
    unfinished(pool, nowMs) {
      const ids: string[] = [];
      for (const name of fs.readdirSync(folder('unfinished'))) {
        const [, endsAtMs, taskPool, id] = /^(\d+)\.([^.]+)\.(.+)$/.exec(name) ?? [];
        if (Number(endsAtMs) <= nowMs) unlink(join(folder('unfinished'), name));
        else if (id !== undefined && taskPool === pool) ids.push(id);
      }
      return ids;
    },
    append(row, atMs) {
      const mark = Buffer.alloc(markBytes);
      mark.writeDoubleBE(atMs);
      randomBytes(8).copy(mark, 8);
      fs.appendFileSync(markPath(row), mark, { mode: 0o600 });
      const bytes = readMarks(row);
      for (let at = 0; at < bytes.length; at += markBytes) {
        if (bytes.compare(mark, 0, markBytes, at, at + markBytes) === 0) return at / markBytes;
      }
      return bytes.length / markBytes;
    },
    marks(row) {
      const bytes = readMarks(row);
      return Array.from({ length: Math.floor(bytes.length / markBytes) }, (_, index) =>
        bytes.readDoubleBE(index * markBytes),
      );
    },
    sweep(nowMs, recordLifeMs) {
      const rows = fs.readdirSync(folder('marks'));
      for (const row of rows) {
        if ((minuteOfRow(row) ?? Number.POSITIVE_INFINITY) < nowMs / 60_000 - 3) unlink(markPath(row));
      }
      for (const task of store.tasks()) {
        if (nowMs < task.createdAtMs + recordLifeMs) continue;
        store.remove(task);
        for (const row of rows) if (isDownloadRowOf(row, task.id)) unlink(markPath(row));
      }
    },
  };
  return store;
}

function loadSecret(
  path: string,
  writeWhole: (path: string, bytes: Uint8Array, publish: (from: string, to: string) => void) => void,
): Uint8Array {
  const read = () => ifThere(() => fs.readFileSync(path), undefined);
  const known = read();
  if (known) return known;
  try {
    // A link fails where a file is there already: of two first servers, one secret wins.
    writeWhole(path, randomBytes(32), fs.linkSync);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  return read() ?? randomBytes(32);
}
