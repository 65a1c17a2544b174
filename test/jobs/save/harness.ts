import * as fs from 'node:fs';
import * as path from 'node:path';
import type { TaskOutput } from '../../../src/gateway/task.ts';
import type { Clock } from '../../../src/host.ts';
import { HttpTransport } from '../../../src/http/transport.ts';
import { Claims } from '../../../src/jobs/save/claims.ts';
import type { DownloadJournal, RecordedPart } from '../../../src/jobs/save/part-file.ts';
import { type SaveInput, saveOutputs } from '../../../src/jobs/save/save-outputs.ts';
import type { SavedFile } from '../../../src/ledger/event.ts';

/** A journal in memory that a later run can start from. */
export class MemoryJournal implements DownloadJournal {
  downloadsSoFar = 0;
  parts: Record<string, RecordedPart> = {};
  files: SavedFile[] = [];
  waits: Record<string, { readonly atMs: number; readonly forMs: number }> = {};
  readonly events: string[] = [];

  aboutToGet(role: string): void {
    this.events.push(`get ${role}`);
    this.downloadsSoFar++;
  }
  held(role: string, forMs: number): void {
    this.events.push(`held ${role}`);
    this.waits[role] = { atMs: Date.now(), forMs };
  }
  part(role: string, part: Parameters<DownloadJournal['part']>[1]): void {
    this.events.push(part ? `part ${role}` : `gone ${role}`);
    if (part) this.parts[role] = { ...part, startedAtMs: Date.now() };
    else delete this.parts[role];
  }
  saved(file: SavedFile): void {
    this.events.push(`saved ${file.role}`);
    this.files.push(file);
  }
  /** A copy of the journal for a run that starts now. */
  snapshot(): MemoryJournal {
    const copy = new MemoryJournal();
    copy.downloadsSoFar = this.downloadsSoFar;
    copy.parts = { ...this.parts };
    copy.files = [...this.files];
    copy.waits = { ...this.waits };
    return copy;
  }
}

/** A clock that passes each sleep at once and records its length. */
export function scriptedClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  let passed = 0;
  return {
    slept,
    now: () => Date.now() + passed,
    steady: () => performance.now() + passed,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      slept.push(ms);
      passed += ms;
    },
  };
}

/** Claims beside which no other job has a file. */
export const lonely = () => new Claims({ find: async () => [], isHeld: () => false }, Date.now());

/** A refuge that cannot be made. */
export const NO_REFUGE = '/proc/rescued';

export { newDir as tempDir } from '../../helpers/new-dir.ts';
export { startOutputServer as outputServer } from '../../helpers/output-server.ts';

export const video = (url: string): TaskOutput => ({ role: 'video', type: 'video', url });

export interface Run extends Partial<SaveInput> {
  readonly dir: string;
  readonly url?: string;
}

/** Runs saveOutputs as a separate process would, with one output, the default name and the changes of the test. */
export async function run({ dir, url, ...changes }: Run) {
  const journal = (changes.journal as MemoryJournal | undefined) ?? new MemoryJournal();
  const clock = scriptedClock();
  const warnings: string[] = [];
  const progress: { bytes: number; totalBytes: number | undefined }[] = [];
  let refreshed = 0;
  const transport = changes.transport ?? new HttpTransport({ proxies: undefined });
  const input: SaveInput = {
    outputs: [video(url ?? 'http://127.0.0.1:1/')],
    plan: { target: path.join(dir, '{id}.{ext}'), force: false, download: true },
    names: {
      id: 'cgt-1',
      family: 'alpha',
      model: 'alpha-video-2-5-260628',
      atMs: Date.parse('2026-11-20T12:00:00'),
    },
    maxDownloads: 100,
    silenceMs: 2_000,
    clock,
    random: () => 0.5,
    signal: new AbortController().signal,
    onWarning: (text) => warnings.push(text),
    onProgress: (update) => progress.push(update),
    bootedAtMs: 0,
    claims: lonely(),
    refuge: NO_REFUGE,
    ...changes,
    transport,
    journal,
    refreshLink: async (role) => {
      refreshed++;
      return changes.refreshLink?.(role);
    },
  };
  try {
    const { files, failures } = await saveOutputs(input);
    return { files, failures, journal, slept: clock.slept, warnings, progress, refreshed: () => refreshed };
  } finally {
    if (!changes.transport) await transport.close();
  }
}

/** The sorted names in a directory, including hidden files. */
export const listing = (dir: string): string[] => fs.readdirSync(dir).sort();
