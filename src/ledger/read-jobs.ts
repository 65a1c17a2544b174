import { readLines } from '../disk/read-lines.ts';
import type { Job, LedgerLine } from './event.ts';
import { JobFold } from './fold.ts';
import { isJobKey } from './job-key.ts';
import { journalPaths } from './journal-files.ts';
import { parseLine } from './parse-line.ts';

/** Counts the lines that could not be read. */
export interface Skips {
  lines: number;
}

/** The jobs of all journals that may hold one created at `sinceMs` or later, newest first; lines are read one at a time. */
export function readJobs(dir: string, skips: Skips, sinceMs?: number): Job[] {
  const fold = new JobFold();
  for (const file of journalPaths(dir, sinceMs)) {
    for (const line of parsedLines(file, skips)) fold.add(line);
  }
  return fold.jobs();
}

/**
 * One job by gw's key or the gateway's task ID; the newest journal is looked into first and the search ends with it.
 * Two gateways may give out the same ID: with `gateway`, only its own job is found.
 */
export function findJob(dir: string, idOrKey: string, skips: Skips, gateway?: string): Job | undefined {
  const newestFirst = journalPaths(dir).reverse();
  const known = isJobKey(idOrKey) ? jobOfKey(newestFirst, idOrKey, skips) : undefined;
  if (known) return known;
  for (const key of keysOfTask(newestFirst, idOrKey, skips)) {
    const job = jobOfKey(newestFirst, key, skips);
    if (job && (gateway === undefined || job.gateway === gateway)) return job;
  }
  return undefined;
}

/** The keys of the jobs that were accepted under an ID, newest first. */
function* keysOfTask(newestFirst: readonly string[], id: string, skips: Skips): Generator<string> {
  for (const file of newestFirst) {
    const keys = new Set<string>();
    for (const line of parsedLines(file, skips, `"id":${JSON.stringify(id)}`)) {
      if (line.event === 'accepted' && line.id === id) keys.add(line.job);
    }
    yield* [...keys].reverse();
  }
}

/** A job's later lines never stand in an older journal than its intent, so the search ends where that is found. */
function jobOfKey(newestFirst: readonly string[], key: string, skips: Skips): Job | undefined {
  let lines: LedgerLine[] = [];
  for (const file of newestFirst) {
    const here = [...parsedLines(file, skips, `"job":"${key}"`)].filter((line) => line.job === key);
    lines = [...here, ...lines];
    if (here.some((line) => line.event === 'intent')) break;
  }
  const fold = new JobFold();
  for (const line of lines) fold.add(line);
  return fold.jobs()[0];
}

function* parsedLines(file: string, skips: Skips, needle?: string): Generator<LedgerLine> {
  for (const text of readLines(file, needle)) {
    const line = parseLine(text, file);
    if (line === 'bad') skips.lines += 1;
    else if (line !== 'foreign') yield line;
  }
}
