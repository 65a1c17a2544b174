import type { Completes } from '../flags/flag.ts';
import { kindOf } from '../gateway/model-facts/sheets.ts';
import { type RecentJob, safeText } from './recent-jobs.ts';
import type { CompletionTable } from './table.ts';

export interface Candidate {
  readonly value: string;
  readonly summary: string;
}

/** Candidates, or a word to the shell to complete files itself. */
export interface Values {
  readonly kind: 'value' | 'file';
  readonly candidates: readonly Candidate[];
  /** What of the word is no part of the file's name: `@`, `image1=`. */
  readonly before?: string;
}

/** What is known only where gw runs; each is asked for when it is needed, and never fails. */
export interface Sources {
  profiles(): readonly string[];
  /** Stored conversations. */
  sessions(): readonly string[];
  /** Model IDs that gateways have listed. */
  models(): readonly string[];
  /** Newest first. */
  jobs(): readonly RecentJob[];
}

/** The candidates that begin with what is typed. */
export const fitting = (candidates: readonly Candidate[], typed: string): readonly Candidate[] =>
  candidates.filter(({ value }) => value.startsWith(typed));

/** The values of a flag or an argument that begin with what is typed. */
export function valuesFor(
  {
    choices = [],
    completes,
  }: { readonly choices?: readonly string[]; readonly completes?: Completes | undefined },
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
  if (completes === 'file') return files;
  if (completes === 'prompt' && typed.startsWith('@')) return { ...files, before: '@' };
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
  const [what, family] = completes.split(':');
  if (what === 'task' || what === 'output') return jobsFor(sources.jobs(), what, family);
  return [];
}

const plain = (values: readonly string[]): readonly Candidate[] =>
  values.map((value) => ({ value, summary: '' }));

const modelFits: Readonly<Record<string, (id: string) => boolean>> = {
  image: (id) => kindOf({ id }) === 'image',
  chat: (id) => (kindOf({ id }) ?? 'chat') === 'chat',
};

/** Jobs by the ID that a command takes; those that it is about come first. */
function jobsFor(
  jobs: readonly RecentJob[],
  what: 'task' | 'output',
  family: string | undefined,
): readonly Candidate[] {
  const mine = jobs.filter((job) => family === undefined || (job.family === family && job.id !== undefined));
  const isFirst = (job: RecentJob) => (what === 'task' ? job.isOpen : job.state === 'succeeded');
  return [...mine.filter(isFirst), ...mine.filter((job) => !isFirst(job))].map((job) => ({
    value: job.id ?? job.key,
    summary: [job.family, job.state, job.prompt && safeText(job.prompt)].filter(Boolean).join(' · '),
  }));
}
