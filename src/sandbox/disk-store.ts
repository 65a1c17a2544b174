import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { hasOutlived, isDownloadRowOf, isOldRow, type KeptDocument, type SandboxStore } from './store.ts';
import type { SandboxTask } from './task.ts';

// The state directory contains:
//   secret                             32 random bytes
//   tasks/ID.json                      a task, put there by rename
//   unfinished/ENDS_AT_MS.POOL.ID      empty; lets a create count running tasks without reading all records
//   marks/ROW                          16 bytes per mark: its time (float64) and 8 random bytes
//   documents/KIND/NAME.json           a document, put there by rename, or by link if it must be new

const markBytes = 16;
const idForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const errorCode = (error: unknown) => (error as NodeJS.ErrnoException | null)?.code;

/** Runs a file operation; returns `otherwise` if the file is missing (another process may have removed it). */
function ifThere<T>(operate: () => T, otherwise: T): T {
  try {
    return operate();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return otherwise;
    throw error;
  }
}

const unlink = (path: string) => ifThere(() => fs.unlinkSync(path), undefined);

/** Moves a complete file to a new name. Throws EEXIST if that name is taken. */
function nameAnew(from: string, to: string): void {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw error;
    // Some file systems have no hard links, so an empty file reserves the name.
    fs.closeSync(fs.openSync(to, 'wx', 0o600));
    fs.renameSync(from, to);
  }
}

/** Makes one level: Node's recursive mkdir never returns on file systems without directories, such as /proc. */
function makeFolder(path: string): void {
  try {
    fs.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

/**
 * A store that several processes may use at once and that persists. Each fact is a file that appears whole, or a single
 * append, so that no lock is needed.
 * @param stateDir created if missing (its parent must exist), readable by this user only
 */
export function diskStore(stateDir: string): SandboxStore {
  const folder = (name: string) => join(stateDir, name);
  for (const name of ['', 'tasks', 'unfinished', 'marks', 'documents']) makeFolder(folder(name));
  const taskPath = (id: string) => join(folder('tasks'), `${id}.json`);
  const markPath = (row: string) => join(folder('marks'), row);
  const unfinishedName = (task: SandboxTask) => `${Math.ceil(task.endsAtMs)}.${task.pool}.${task.id}`;
  const unfinishedPath = (task: SandboxTask) => join(folder('unfinished'), unfinishedName(task));
  const { sweepDocuments, clearDocuments, ...documents } = documentsIn(folder('documents'));

  const readTask = (path: string): SandboxTask | undefined => {
    const task = readJson(path) as SandboxTask | undefined;
    return task?.plan === undefined ? undefined : task; // an older sandbox stored its tasks in another form
  };
  const readMarks = (row: string) => ifThere(() => fs.readFileSync(markPath(row)), Buffer.alloc(0));
  const store: SandboxStore = {
    secret: loadSecret(join(stateDir, 'secret')),
    add(task) {
      if (task.pool !== undefined) fs.writeFileSync(unfinishedPath(task), '', { mode: 0o600 });
      writeWhole(taskPath(task.id), JSON.stringify(task), fs.renameSync);
    },
    remove(task) {
      unlink(taskPath(task.id));
      unlink(unfinishedPath(task));
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
    ...documents,
    clear() {
      for (const name of ['tasks', 'unfinished', 'marks']) empty(folder(name));
      clearDocuments();
    },
    sweep(nowMs) {
      const rows = fs.readdirSync(folder('marks'));
      for (const row of rows) if (isOldRow(row, nowMs)) unlink(markPath(row));
      for (const task of store.tasks()) {
        if (nowMs < task.expiresAtMs) continue;
        store.remove(task);
        for (const row of rows) if (isDownloadRowOf(row, task.id)) unlink(markPath(row));
      }
      sweepDocuments(nowMs);
    },
  };
  return store;
}

/** The documents of a store: a folder for each kind, and a file for each document. */
function documentsIn(dir: string) {
  const kindPath = (kind: string) => join(dir, kind);
  const documentPath = (kind: string, id: string) => join(kindPath(kind), `${documentName(id)}.json`);
  const readDocument = (path: string) => readJson(path) as KeptDocument | undefined;
  const writeDocument = (
    kind: string,
    document: KeptDocument,
    publish: (from: string, to: string) => void,
  ) => {
    makeFolder(kindPath(kind));
    writeWhole(documentPath(kind, document.id), JSON.stringify(document), publish);
  };
  const documentPaths = (kind: string) =>
    ifThere(() => fs.readdirSync(kindPath(kind)), [])
      .filter((name) => name.endsWith('.json'))
      .map((name) => join(kindPath(kind), name));
  const documents: Pick<SandboxStore, 'put' | 'putNew' | 'get' | 'all' | 'drop'> = {
    put(kind, id, value, life) {
      writeDocument(kind, { id, value, ...life }, fs.renameSync);
    },
    putNew(kind, id, value, life) {
      try {
        writeDocument(kind, { id, value, ...life }, nameAnew);
        return true;
      } catch (error) {
        if (errorCode(error) === 'EEXIST') return false;
        throw error;
      }
    },
    get: (kind, id) => readDocument(documentPath(kind, id))?.value,
    all(kind) {
      const documents = documentPaths(kind).map(readDocument);
      return new Map(documents.flatMap((one) => (one === undefined ? [] : [[one.id, one.value]])));
    },
    drop: (kind, id) =>
      ifThere(() => {
        fs.unlinkSync(documentPath(kind, id));
        return true;
      }, false),
  };
  return {
    ...documents,
    clearDocuments: () => {
      for (const kind of fs.readdirSync(dir)) empty(kindPath(kind));
    },
    sweepDocuments: (nowMs: number) => {
      for (const path of fs.readdirSync(dir).flatMap(documentPaths)) {
        if (hasOutlived(readDocument(path) ?? {}, nowMs)) unlink(path);
      }
    },
  };
}

function empty(dir: string): void {
  for (const name of fs.readdirSync(dir)) unlink(join(dir, name));
}

/** Writes a temporary file beside the target and publishes it whole. */
function writeWhole(
  path: string,
  bytes: string | Uint8Array,
  publish: (from: string, to: string) => void,
): void {
  const temporary = `${path}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`;
  try {
    fs.writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' });
    publish(temporary, path);
  } finally {
    unlink(temporary);
  }
}

/** The content of a JSON file; undefined if it is gone, or was cut by a crash of the machine. */
function readJson(path: string): unknown {
  const text = ifThere(() => fs.readFileSync(path, 'utf8'), '');
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A file name for any ID: the ID itself if every file system allows it, else its digest. */
const documentName = (id: string): string =>
  /^[a-z0-9][a-z0-9_-]{0,99}$/.test(id) ? id : `~${createHash('sha256').update(id).digest('hex')}`;

function loadSecret(path: string): Uint8Array {
  const read = () => ifThere(() => fs.readFileSync(path), undefined);
  const known = read();
  if (known?.length) return known;
  try {
    // If two servers start first at the same time, one secret wins.
    writeWhole(path, randomBytes(32), nameAnew);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  return read() ?? randomBytes(32);
}
