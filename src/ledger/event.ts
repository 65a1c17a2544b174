// The events that the ledger writes: one JSON line each, folded into jobs when read. Times are Unix milliseconds.

import type { ErrorFacts } from '../errors.ts';

/** How and where a job's outputs are saved; kept for `gw jobs sync`, but for `force`: a later command has its own. */
export interface SavePlan {
  /** Absolute path of a file, a directory (ends in the separator) or a pattern. */
  readonly target: string;
  readonly force: boolean;
  readonly download: boolean;
  /** Set to this version of gw if FILE.json is to be written beside each output. */
  readonly sidecar?: string | undefined;
}

/** The facts of a refusal that the gateway stated besides its message. */
type SaidOfRefusal = Readonly<Pick<ErrorFacts, 'status' | 'type' | 'code' | 'requestId'>>;

/** A media file that a request refers to. */
export interface KeptReference {
  /** The name as in `media`. */
  readonly name: string;
  /** Digest of the content of a file or a data URI. */
  readonly sha256?: string | undefined;
}

/** What `gw again` needs to repeat a request. Data and links with a query are not kept; prompts only if allowed. */
export interface KeptRequest {
  /** The command as a row of a batch names it: `video alpha`. */
  readonly command: string;
  /** The request's flags by key; local files are absolute paths. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly set?: readonly string[] | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** True if a prompt was given; the prompt itself is in the job. */
  readonly prompted: boolean;
  /** SHA-256 of each local file, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Outputs of other jobs that it used, as `job:ID#PART`, by the words that the user typed. */
  readonly outputs?: Readonly<Record<string, string>> | undefined;
  /** Keys of flags that the user gave but the ledger does not keep. */
  readonly lacks?: readonly string[] | undefined;
}

/** The key under which a job is made at most once (`--once`), and its request. */
export interface Once {
  readonly key: string;
  /** Starts at 1; the next attempt is made if the one before failed (`--again`). */
  readonly attempt: number;
  /** A short digest of each field of the body by path, so that a message can name the field that differs. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface IntentEvent {
  readonly event: 'intent';
  readonly family: string;
  readonly endpoint: string;
  readonly model: string | undefined;
  /** Absent if GW_LEDGER_PROMPTS=off. */
  readonly prompt?: string | undefined;
  /** The body without prompt and media; scalars are kept as sent. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Each reference as a name, a URL without its query, or a digest; never as Base64. */
  readonly media: readonly string[];
  /** The same references with digests of their contents; absent in jobs of an older gw. */
  readonly references?: readonly KeptReference[] | undefined;
  /** Absent in jobs of an older gw. */
  readonly request?: KeptRequest | undefined;
  readonly bodySha256: string;
  readonly profile: string;
  /** Identifies the API key of the request; absent if not needed, and in jobs of an older gw. */
  readonly keyId?: string | undefined;
  /** The gateway's base URL without credentials. */
  readonly gateway: string;
  readonly externalId?: string | undefined;
  readonly once?: Once | undefined;
  /** The cost that the user's price file predicted. */
  readonly estimate?: { readonly amount: number; readonly unit: string } | undefined;
  readonly save: SavePlan;
  /** Set if `gw mcp` made the job: such jobs count against its own limits. */
  readonly via?: 'mcp' | undefined;
}

interface PartFacts {
  readonly etag?: string | undefined;
  readonly totalBytes?: number | undefined;
  readonly to?: string | undefined;
  readonly sha256?: string | undefined;
}

export type LedgerEvent =
  | IntentEvent
  /** Written before the first byte of the request may leave; `sending` is a random name of this one. */
  | { readonly event: 'sent'; readonly sending?: string | undefined }
  /** That sending made nothing, and another may follow: no byte of it left, or the gateway refused it (HTTP 401, 429). */
  | { readonly event: 'not_made'; readonly sending: string }
  /** The gateway took the task. `reply` is the create reply as JSON text, unless it is long. */
  | {
      readonly event: 'accepted';
      readonly id: string;
      readonly status?: string | undefined;
      readonly reply?: string;
    }
  /**
   * A complete refusal, or certainty that nothing was created: the job is over and cost nothing. Kind `interrupted`:
   * its process ended before it sent anything. Kind `not_sent`: no byte of any attempt left.
   */
  | ({ readonly event: 'refused'; readonly kind: string; readonly message: string } & SaidOfRefusal)
  /**
   * No complete reply came, so the task may exist. `unconfirmedId` is the task in a cut reply, which the gateway must
   * still confirm. `record` holds the image links of a cut reply, as in `final`.
   */
  | {
      readonly event: 'unknown';
      readonly message: string;
      readonly unconfirmedId?: string | undefined;
      readonly record?: unknown;
      readonly serverDateMs?: number | undefined;
    }
  /** A look-up after the last sending found no task; `serverDateMs` is the gateway's clock then. */
  | { readonly event: 'absent'; readonly serverDateMs?: number | undefined }
  /** The gateway's status has changed. */
  | { readonly event: 'status'; readonly status: string }
  /** The complete last record as it came; the life of its links begins at `serverDateMs`. */
  | {
      readonly event: 'final';
      readonly state: 'succeeded' | 'failed';
      readonly status: string;
      readonly record: unknown;
      readonly serverDateMs: number;
      /** The record's JSON text, kept if JavaScript would write one of its numbers differently. */
      readonly recordText?: string | undefined;
    }
  /** The gateway no longer knows the task. */
  | { readonly event: 'lost'; readonly message: string }
  /** The save plan has changed since the intent. */
  | { readonly event: 'plan'; readonly save: SavePlan }
  /** gw is about to request a download (family A counts downloads). */
  | { readonly event: 'get'; readonly role: string }
  /** The output's server asks gw to wait this long before the next request. */
  | { readonly event: 'held'; readonly role: string; readonly forMs: number }
  /** The part file of an output; without `path` it is gone. With `to` it is complete and about to get that name. */
  | ({ readonly event: 'part'; readonly role: string; readonly path?: string | undefined } & PartFacts)
  | ({ readonly event: 'saved' } & SavedFile);

/** A line as it is in the file: `{"v":1,"t":…,"job":"gw-…","event":…,"sum":"…"}`. */
export type LedgerLine = {
  readonly v: number;
  readonly t: number;
  readonly job: string;
  /** Checksum of the text before it; older builds wrote none. */
  readonly sum?: string | undefined;
} & LedgerEvent;

/** The states of a job, as its events alone tell. */
export const jobStates = [
  'intent', // durable, not sent, or each sending made nothing
  'sent', // sent, no reply recorded
  'not_sent', // never sent, and never will be
  'refused', // nothing was created
  'unknown', // the task may exist
  'running', // accepted, not finished
  'succeeded',
  'failed',
  'lost', // accepted, but the gateway no longer knows it
] as const;
export type JobState = (typeof jobStates)[number];

export interface SavedFile {
  readonly role: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly type: string;
  /** True if it was saved elsewhere because the intended disk failed; told until it is saved as intended. */
  readonly rescued?: true | undefined;
  /** True for an image that looks truncated although all announced bytes came; it is kept, but not counted as saved. */
  readonly cut?: true | undefined;
}

export interface Job extends Omit<IntentEvent, 'event'> {
  /** gw's own ID, `gw-…` with 128 random bits. */
  readonly key: string;
  /** True if the intent cannot be read: then only the fields that could be salvaged from its line are known. */
  readonly isDamaged?: true | undefined;
  /** The gateway's task ID. */
  readonly id: string | undefined;
  /** The task ID in the cut reply of its create; it is unconfirmed while the job has no `id`. */
  readonly unconfirmedId?: string | undefined;
  readonly state: JobState;
  /** True for a job without an answer that a living process held when it was read, as `nowOf` finds out. */
  readonly isHeld?: true | undefined;
  /** The gateway's last status. */
  readonly status: string | undefined;
  readonly message: string | undefined;
  /** The kind of refusal and the facts that the gateway stated; absent if it was not refused. */
  readonly refusal?: (SaidOfRefusal & { readonly kind: string }) | undefined;
  readonly createdAtMs: number;
  readonly sentAtMs: number | undefined;
  /** The first look-up that found no task, by our clock and the gateway's (if known); and the last, by ours. */
  readonly absentSince?:
    | { readonly atMs: number; readonly lastMs: number; readonly serverDateMs?: number | undefined }
    | undefined;
  /** How often the job was sent again after a look-up that found nothing. */
  readonly resends: number;
  readonly acceptedAtMs: number | undefined;
  readonly reply?: string | undefined;
  readonly finishedAtMs: number | undefined;
  readonly savedAtMs?: number | undefined;
  readonly record: unknown;
  /** Earlier records of the finished task, oldest first. */
  readonly earlierRecords?: readonly unknown[] | undefined;
  /** The record's JSON as it came, kept if JavaScript would write one of its numbers differently. */
  readonly recordText?: string | undefined;
  readonly serverDateMs: number | undefined;
  readonly downloads: number;
  /** The last waiting time that the server of each output asked for, by role. */
  readonly held?: Readonly<Record<string, { readonly atMs: number; readonly forMs: number }>>;
  readonly parts: Readonly<
    Record<string, PartFacts & { readonly path: string; readonly startedAtMs: number }>
  >;
  readonly files: readonly SavedFile[];
}

/** True if a job was sent and its outcome is unknown: a task may exist, and sending again may cost twice. */
export const mayExist = ({ state }: Pick<Job, 'state'>): boolean => state === 'sent' || state === 'unknown';
