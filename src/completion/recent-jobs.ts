import * as fs from 'node:fs';
import type { LedgerLine } from '../ledger/event.ts';
import { journals } from '../ledger/journal-files.ts';

/** A job as far as the end of the newest journal tells of it. */
export interface RecentJob {
  readonly key: string;
  readonly id: string | undefined;
  readonly family: string | undefined;
  readonly profile: string | undefined;
  readonly prompt: string | undefined;
  readonly state: string;
  /** Accepted or possibly so, and not known to be over. */
  readonly isOpen: boolean;
}

/** A record may be large; what was written last is what is asked for. */
const TAIL_BYTES = 65_536;
const MAX_JOBS = 60;

/** The jobs of the last 64 KiB of the newest journal, newest first; none where it cannot be read. */
export function recentJobs(ledgerDir: string): RecentJob[] {
  const jobs = new Map<string, RecentJob>();
  for (const line of tailOf(journals(ledgerDir).at(-1)?.path)) {
    const read = parsed(line);
    if (read === undefined || !isSafeWord(read.job)) continue;
    const before = jobs.get(read.job);
    // A job is as new as its last event.
    jobs.delete(read.job);
    jobs.set(read.job, next(before ?? unknownJob(read.job), read));
  }
  return [...jobs.values()].reverse().slice(0, MAX_JOBS);
}

const unknownJob = (key: string): RecentJob => ({
  key,
  id: undefined,
  family: undefined,
  profile: undefined,
  prompt: undefined,
  state: '',
  isOpen: false,
});

function next(job: RecentJob, line: LedgerLine): RecentJob {
  switch (line.event) {
    case 'intent':
      return { ...job, family: line.family, profile: line.profile, prompt: line.prompt, state: 'not sent' };
    case 'accepted':
      return isSafeWord(line.id) ? { ...job, id: line.id, state: 'running', isOpen: true } : job;
    case 'sent':
    case 'unknown':
      return { ...job, state: line.event, isOpen: true };
    case 'refused':
    case 'lost':
      return { ...job, state: line.event, isOpen: false };
    case 'final':
      return { ...job, state: line.state, isOpen: false };
    default:
      return job;
  }
}

function parsed(line: string): LedgerLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
    const isText = (name: string) => fields[name] === undefined || typeof fields[name] === 'string';
    const isWhole =
      typeof fields.job === 'string' &&
      typeof fields.event === 'string' &&
      ['family', 'profile', 'prompt', 'state'].every(isText) &&
      (fields.event !== 'accepted' || typeof fields.id === 'string');
    return isWhole ? (value as LedgerLine) : undefined;
  } catch {
    return undefined;
  }
}

function tailOf(file: string | undefined): string[] {
  // To open a named pipe would wait for a writer.
  if (file === undefined || !fs.statSync(file).isFile()) return [];
  const fd = fs.openSync(file, 'r');
  try {
    const { size } = fs.fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const count = fs.readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8', 0, count).split('\n');
  } finally {
    fs.closeSync(fd);
  }
}

const MAX_CHARACTERS = 48;

/** Words from outside, for a menu: no control, format or line character, and nothing that a shell could take up. */
export function safeText(text: string): string {
  const line = text
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]|[\\`$]/gu, ' ')
    .replace(/ +/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : line;
}

/** Whether a word from outside may be offered: it means itself in every shell, quoted or not. */
export const isSafeWord = (word: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/.test(word);
