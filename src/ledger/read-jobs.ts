import { readLines } from '../disk/read-lines.ts';
import type { Job, LedgerLine } from './event.ts';
import { foldJobs, JobFold } from './fold.ts';
import { isJobKey } from './job-key.ts';
import { type Journal, journals } from './journal-files.ts';
import { jobOfLine, parseLine } from './parse-line.ts';

/** Counts the lines that could not be read. */
export interface Skips {
  lines: number;
}

/** The jobs of all journals that may hold one created at `sinceMs` or later, newest first; lines are read one at a time. */
export function readJobs(dir: string, skips: Skips, sinceMs?: number): Job[] {
  const fold = new JobFold();
  for (const journal of journals(dir, sinceMs)) {
    for (const line of parsedLines(journal, skips)) fold.add(line);
  }
  return fold.jobs();
}

/**
 * One job by gw's key or the gateway's task ID; the newest journal is looked into first and the search ends with it.
 * Two gateways may give out the same ID: with `gateway`, only its own job is found.
 */
export function findJob(dir: string, idOrKey: string, skips: Skips, gateway?: string): Job | undefined {
  const newestFirst = journals(dir).reverse();
  const known = isJobKey(idOrKey) ? jobsOfKeys(newestFirst, new Set([idOrKey]), skips)[0] : undefined;
  if (known) return known;
  for (const key of keysOfTask(newestFirst, idOrKey, skips)) {
    const [job] = jobsOfKeys(newestFirst, new Set([key]), skips);
    if (job && (gateway === undefined || job.gateway === gateway)) return job;
  }
  return undefined;
}

/** As `findJob` for many at once: each journal is read at most twice, however many are asked for. */
export function findJobs(
  dir: string,
  idsOrKeys: Iterable<string>,
  skips: Skips,
  gateway?: string,
): Map<string, Job> {
  const asked = new Set(idsOrKeys);
  const newestFirst = journals(dir).reverse();
  const wanted = new Set([...asked].filter(isJobKey));
  const keysOfId = new Map<string, string[]>();
  for (const { id, job } of acceptedNewestFirst(newestFirst, skips)) {
    if (!asked.has(id)) continue;
    wanted.add(job);
    keysOfId.set(id, [...(keysOfId.get(id) ?? []), job]);
  }
  const jobs = new Map(jobsOfKeys(newestFirst, wanted, skips).map((job) => [job.key, job]));
  const found = new Map<string, Job>();
  for (const id of asked) {
    const named = (keysOfId.get(id) ?? []).map((key) => jobs.get(key));
    const job = jobs.get(id) ?? named.find((each) => each && (gateway ?? each.gateway) === each.gateway);
    if (job) found.set(id, job);
  }
  return found;
}

/** The keys of the jobs that were accepted under an ID, newest first. */
function* keysOfTask(newestFirst: readonly Journal[], id: string, skips: Skips): Generator<string> {
  for (const { job, id: accepted } of acceptedNewestFirst(newestFirst, skips, id)) {
    if (accepted === id) yield job;
  }
}

/** What was accepted, under any ID or one; each journal is read only when the one after it has been seen. */
function* acceptedNewestFirst(newestFirst: readonly Journal[], skips: Skips, id?: string) {
  const needle = id === undefined ? '"event":"accepted"' : `"id":${JSON.stringify(id)}`;
  for (const journal of newestFirst) {
    const accepted = [...parsedLines(journal, skips, needle)].filter((line) => line.event === 'accepted');
    yield* accepted.reverse();
  }
}

/** A job's later lines never stand in an older journal than its intent, so the search ends where the last one is found. */
function jobsOfKeys(newestFirst: readonly Journal[], keys: ReadonlySet<string>, skips: Skips): Job[] {
  const [only] = keys;
  const needle = keys.size === 1 ? `"job":"${only}"` : undefined;
  const missing = new Set(keys);
  let lines: LedgerLine[] = [];
  for (const journal of newestFirst) {
    if (missing.size === 0) break;
    const here: LedgerLine[] = [];
    for (const line of parsedLines(journal, skips, needle, keys)) {
      here.push(line);
      if (line.event === 'intent') missing.delete(line.job);
    }
    lines = here.concat(lines);
  }
  return foldJobs(lines);
}

function* parsedLines(
  { files }: Journal,
  skips: Skips,
  needle?: string,
  keys?: ReadonlySet<string>,
): Generator<LedgerLine> {
  for (const file of files) {
    for (const text of readLines(file, needle)) {
      const key = keys && jobOfLine(text);
      if (key !== undefined && !keys?.has(key)) continue;
      const line = parseLine(text, file);
      if (line === 'bad') skips.lines += 1;
      else if (line !== 'foreign' && keys?.has(line.job) !== false) yield line;
    }
  }
}
