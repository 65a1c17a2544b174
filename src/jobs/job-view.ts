import type { Family } from '../gateway/task.ts';
import type { Job } from '../ledger/event.ts';

/** A job of the ledger as it is listed: what was asked, where it stands, and how long it still lives. */
export interface JobView {
  /** The gateway's task ID, or gw's own where there is none. */
  readonly id: string;
  /** gw's own ID. */
  readonly job: string;
  readonly family: string;
  readonly model: string | null;
  /** The gateway's last word, or gw's where the gateway has not spoken: `refused`, `unknown`, … */
  readonly status: string;
  readonly prompt: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly profile: string;
  readonly created_at: string;
  readonly finished_at: string | null;
  /** When the output links die, and when the gateway forgets the record; null where neither applies. */
  readonly link_expires_at: string | null;
  readonly record_expires_at: string | null;
  readonly downloads: number;
  readonly message: string | null;
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly type: string;
  }[];
}

const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

/** When the output links of a finished job die, Unix milliseconds, counted from the server's clock at first sight. */
export const linkExpiresAtMs = (job: Job, family: Family): number | undefined =>
  job.state === 'succeeded' && job.serverDateMs !== undefined
    ? job.serverDateMs + family.linkLifeMs
    : undefined;

/** When the gateway forgets a task, Unix milliseconds. */
export const recordExpiresAtMs = (job: Job, family: Family): number | undefined =>
  job.acceptedAtMs === undefined || family.recordLifeMs === undefined
    ? undefined
    : job.acceptedAtMs + family.recordLifeMs;

/** A job's word for lists: the gateway's status, unless gw knows more. */
export const statusWord = (job: Job): string =>
  job.state === 'running' || job.state === 'succeeded' || job.state === 'failed'
    ? (job.status ?? job.state)
    : job.state;

export function jobView(job: Job, family: Family): JobView {
  return {
    id: job.id ?? job.key,
    job: job.key,
    family: job.family,
    model: job.model ?? null,
    status: statusWord(job),
    prompt: job.prompt ?? null,
    settings: job.settings,
    profile: job.profile,
    created_at: new Date(job.createdAtMs).toISOString(),
    finished_at: iso(job.finishedAtMs),
    link_expires_at: iso(linkExpiresAtMs(job, family)),
    record_expires_at: iso(recordExpiresAtMs(job, family)),
    downloads: job.downloads,
    message: job.message ?? null,
    files: job.files.map(({ path, bytes, sha256, type }) => ({ path, bytes, sha256, type })),
  };
}
