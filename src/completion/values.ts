import * as fs from 'node:fs';
import { openRegular } from '../disk/small-file.ts';
import type { Completes } from '../flags/flag.ts';
import { fieldsOf } from '../gateway/json-value.ts';
import { kindOf } from '../gateway/models.ts';
import { jsonOf } from '../json-text.ts';
import type { LedgerLine } from '../ledger/event.ts';
import { journals } from '../ledger/journal-files.ts';
import type { CompletionNode, CompletionTable } from './table.ts';

export interface Candidate {
  readonly value: string;
  readonly summary: string;
}

/** Candidates, or an instruction to the shell to complete files. */
export interface Values {
  readonly kind: 'value' | 'file';
  readonly candidates: readonly Candidate[];
  /** The part of the word before the file's name: `image1=`. */
  readonly before?: string;
}

/** Values that are known only on the user's machine; each is read when needed, and reading never fails. */
export interface Sources {
  profiles(): readonly string[];
  /** Stored conversations. */
  sessions(): readonly string[];
  presets(): readonly string[];
  /** Model IDs that gateways have listed. */
  models(): readonly string[];
  /** Newest first. */
  jobs(): readonly RecentJob[];
}

export const fitting = (candidates: readonly Candidate[], typed: string): readonly Candidate[] =>
  candidates.filter(({ value }) => value.startsWith(typed));

/** The values of a flag or an argument that begin with the typed text. */
export function valuesFor(
  { choices = [], completes }: { choices?: readonly string[]; completes?: Completes | undefined },
  typed: string,
  table: CompletionTable,
  sources: Sources,
): Values {
  const named = completes === undefined ? [] : known(completes, table, sources);
  const all = new Map([...plain(choices), ...named].map((each) => [each.value, each]));
  const candidates = fitting([...all.values()], typed);
  if (candidates.length > 0) return { kind: 'value', candidates };
  return fileValues(completes, typed) ?? { kind: 'value', candidates: [] };
}

function fileValues(completes: Completes | undefined, typed: string): Values | undefined {
  const files = { kind: 'file', candidates: [] } as const;
  // A job is also named by the path of a file that it saved.
  if (completes === 'file' || completes === 'task' || completes === 'output') return files;
  if (completes === 'named-file') return { ...files, before: /^\w+=/.exec(typed)?.[0] ?? '' };
  return undefined;
}

function known(completes: Completes, table: CompletionTable, sources: Sources): readonly Candidate[] {
  if (completes === 'profile') return plain(['sandbox', ...sources.profiles()]);
  if (completes.startsWith('model')) {
    const kind = completes.slice('model:'.length);
    const fits = modelFits[kind] ?? ((id: string) => kind === '' || id.startsWith(`${kind}-`));
    return plain([...table.models, ...sources.models()].filter((id) => fits(id)));
  }
  if (completes === 'session') return plain(sources.sessions());
  if (completes === 'preset') return plain(sources.presets());
  if (completes === 'setting') return [...defaultsIn(table, table.root, [])];
  const [what, family] = completes.split(':');
  if (what === 'task' || what === 'output') return jobsFor(sources.jobs(), what, family);
  return [];
}

/** The names of possible flag defaults in a profile: `defaults.video.alpha.resolution`. */
function* defaultsIn(
  table: CompletionTable,
  node: CompletionNode,
  words: readonly string[],
): Generator<Candidate> {
  const shared = new Set(table.root.flags);
  const [first = '', last = ''] = [words[0], words.at(-1)];
  const isMade = first === 'chat' || (/^(video|image)$/.test(first) && /^(create|edit|native)$/.test(last));
  const name = ['defaults', ...(first === 'video' ? words.slice(0, -1) : words)].join('.');
  for (const at of isMade ? node.flags : []) {
    const flag = table.flags[at];
    const isOne = !/^--(prompt(-file)?|events|once)$/.test(flag?.names[0] ?? '');
    if (flag && isOne && !shared.has(at))
      yield { value: `${name}.${flag.names[0]?.slice(2)}`, summary: flag.summary };
  }
  for (const child of node.children ?? []) yield* defaultsIn(table, child, [...words, child.name]);
}

const plain = (values: readonly string[]): readonly Candidate[] =>
  values.map((value) => ({ value, summary: '' }));

const modelFits: Readonly<Record<string, (id: string) => boolean>> = {
  image: (id) => kindOf({ id }) === 'image',
  chat: (id) => (kindOf({ id }) ?? 'chat') === 'chat',
};

/** Jobs by ID, with those of the wanted state first; then by the user's own keys, which no family's command takes. */
function jobsFor(
  jobs: readonly RecentJob[],
  what: 'task' | 'output',
  family: string | undefined,
): readonly Candidate[] {
  const mine = jobs.filter((job) => family === undefined || (job.family === family && job.id !== undefined));
  const isFirst = (job: RecentJob) => (what === 'task' ? job.isOpen : job.state === 'succeeded');
  const sorted = [...mine.filter(isFirst), ...mine.filter((job) => !isFirst(job))];
  const keyed = sorted.filter(({ once = '' }) => family === undefined && isSafeWord(once));
  const named = (job: RecentJob, value = job.id ?? job.key) => ({
    value,
    summary: [job.family, job.state, job.prompt && safeText(job.prompt)].filter(Boolean).join(' · '),
  });
  return [...sorted.map((job) => named(job)), ...keyed.map((job) => named(job, job.once))];
}

/** A job as described at the end of the newest journal. */
export interface RecentJob {
  readonly key: string;
  readonly id?: string | undefined;
  readonly family?: string | undefined;
  readonly profile?: string | undefined;
  readonly prompt?: string | undefined;
  /** The user's own key: of --once, or of a batch's row. */
  readonly once?: string | undefined;
  readonly state: string;
  /** True if the job was accepted or may have been, and is not known to be finished. */
  readonly isOpen: boolean;
}

/** Records may be large, and recent jobs are the likely candidates, so only the end of the journal is read. */
const TAIL_BYTES = 65_536;
const MAX_JOBS = 60;

/** The jobs in the last 64 KiB of the newest journal, newest first; none if it cannot be read. */
export function recentJobs(ledgerDir: string): RecentJob[] {
  const jobs = new Map<string, RecentJob>();
  for (const line of tailOf(journals(ledgerDir).at(-1)?.path)) {
    const read = parsed(line);
    if (read === undefined || !isSafeWord(read.job)) continue;
    const before = jobs.get(read.job);
    // Moved to the end: jobs are ordered by their last event.
    jobs.delete(read.job);
    jobs.set(read.job, next(before ?? unknownJob(read.job), read));
  }
  return [...jobs.values()].reverse().slice(0, MAX_JOBS);
}

const unknownJob = (key: string): RecentJob => ({ key, state: '', isOpen: false });

function next(job: RecentJob, line: LedgerLine): RecentJob {
  switch (line.event) {
    case 'intent': {
      const { family, profile, prompt, once } = line;
      return { ...job, family, profile, prompt, once: once?.key, state: 'not sent' };
    }
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
  const fields = fieldsOf(jsonOf(line));
  const isText = (name: string) => fields[name] === undefined || typeof fields[name] === 'string';
  const isWhole =
    typeof fields.job === 'string' &&
    typeof fields.event === 'string' &&
    ['family', 'profile', 'prompt', 'state'].every(isText) &&
    (fields.event !== 'accepted' || typeof fields.id === 'string');
  return isWhole ? (fields as unknown as LedgerLine) : undefined;
}

function tailOf(file: string | undefined): string[] {
  if (file === undefined) return [];
  const {
    fd,
    stats: { size },
  } = openRegular(file);
  try {
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const count = fs.readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8', 0, count).split('\n');
  } finally {
    fs.closeSync(fd);
  }
}

const MAX_CHARACTERS = 48;

/** Makes outside text safe for a menu: no control, format or line characters, and nothing that a shell interprets. */
function safeText(text: string): string {
  const line = text
    .replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]|[\\`$]/gu, ' ')
    .replace(/ +/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : line;
}

/**
 * True if an outside word may be offered: no shell interprets it, quoted or not. After `=` and `:` bash expands `~` to a
 * home directory.
 */
export const isSafeWord = (word: string): boolean =>
  /^[A-Za-z0-9_](?:[A-Za-z0-9._:/@+=-]|(?<![=:])~){0,127}$/.test(word);
