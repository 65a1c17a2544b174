// What the ledger writes: one JSON line an event, folded into jobs when read. Times are Unix milliseconds.

import type { ErrorFacts } from '../errors.ts';

/** How and where a job's outputs are to be saved; kept so that `gw jobs sync` finishes what the create began. */
export interface SavePlan {
  /** Absolute file, directory (ends in the separator) or pattern. */
  readonly target: string;
  readonly force: boolean;
  readonly download: boolean;
  /** Write FILE.json beside each output, in the name of this version of gw. */
  readonly sidecar?: string | undefined;
}

/** What the gateway said of a refusal, beside its message. */
type SaidOfRefusal = Readonly<Pick<ErrorFacts, 'status' | 'type' | 'code' | 'requestId'>>;

/** A medium that a request refers to. */
export interface KeptReference {
  /** As in `media`. */
  readonly name: string;
  /** Of what a file or a data URI holds. */
  readonly sha256?: string | undefined;
}

/** What `gw again` makes the same request from. Neither data nor links with a query are kept, nor prompts unless they may be. */
export interface KeptRequest {
  /** As a row of a batch names it: `video alpha`. */
  readonly command: string;
  /** The flags that make the request, by their keys; local files as absolute paths. */
  readonly flags: Readonly<Record<string, unknown>>;
  readonly set?: readonly string[] | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Whether a prompt was given; it is the job's. */
  readonly prompted: boolean;
  /** SHA-256 of each local file, by its path. */
  readonly files: Readonly<Record<string, string>>;
  /** Outputs of jobs that it was made from, `job:ID#PART`, by the words that were typed. */
  readonly outputs?: Readonly<Record<string, string>> | undefined;
  /** Keys of the flags that were given and are not kept. */
  readonly lacks?: readonly string[] | undefined;
}

/** The key under which a job is made at most once (`--once`), and what it asked for. */
export interface Once {
  readonly key: string;
  /** From 1; another one is made where the one before it ended badly (`--again`). */
  readonly attempt: number;
  /** A short digest of each field of the body by its path, so that one that differs can be named. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface IntentEvent {
  readonly event: 'intent';
  readonly family: string;
  readonly endpoint: string;
  readonly model: string | undefined;
  /** Left out when GW_LEDGER_PROMPTS=off. */
  readonly prompt?: string | undefined;
  /** The body without prompt and media: scalars as sent. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Each reference as a name, a URL without query, or a digest. Base64 never. */
  readonly media: readonly string[];
  /** The same, with what each held; absent in jobs that an older gw made. */
  readonly references?: readonly KeptReference[] | undefined;
  /** Absent in jobs that an older gw made. */
  readonly request?: KeptRequest | undefined;
  readonly bodySha256: string;
  readonly profile: string;
  /** Tells the key it was sent with from others; absent where none is needed, and for jobs that an older gw made. */
  readonly keyId?: string | undefined;
  /** The gateway's base URL without credentials. */
  readonly gateway: string;
  readonly externalId?: string | undefined;
  readonly once?: Once | undefined;
  /** What it was going to cost by the user's price file. */
  readonly estimate?: { readonly amount: number; readonly unit: string } | undefined;
  readonly save: SavePlan;
  /** Whose call made it, where that was no person and no script: those of `gw mcp` are counted against its own limits. */
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
  /** Written before the first byte of the request may leave. */
  | { readonly event: 'sent' }
  /** `reply` is what the create was answered with, as JSON text; a long one is not kept. */
  | {
      readonly event: 'accepted';
      readonly id: string;
      readonly status?: string | undefined;
      readonly reply?: string;
    }
  /**
   * A complete refusal, or certainty that nothing was created: the job is over and cost nothing. Of kind `interrupted` where
   * its process ended before it sent anything, `not_sent` where no byte of any sending left.
   */
  | ({ readonly event: 'refused'; readonly kind: string; readonly message: string } & SaidOfRefusal)
  /**
   * No complete reply came: it may exist. The task that a cut reply named is still to be confirmed by the gateway; `record` is
   * what came of a reply with links to images, as in `final`.
   */
  | {
      readonly event: 'unknown';
      readonly message: string;
      readonly unconfirmedId?: string | undefined;
      readonly record?: unknown;
      readonly serverDateMs?: number | undefined;
    }
  /** A look-up after the last time it was sent found nothing; `serverDateMs` is the gateway's clock then. */
  | { readonly event: 'absent'; readonly serverDateMs?: number | undefined }
  /** The gateway's status changed. */
  | { readonly event: 'status'; readonly status: string }
  /** The last record, whole, as it came; `serverDateMs` starts the life of its links. */
  | {
      readonly event: 'final';
      readonly state: 'succeeded' | 'failed';
      readonly status: string;
      readonly record: unknown;
      readonly serverDateMs: number;
      /** The record's JSON, where it holds a number that JavaScript would write in another way. */
      readonly recordText?: string | undefined;
    }
  /** The gateway no longer knows the task. */
  | { readonly event: 'lost'; readonly message: string }
  /** Where and whether outputs are to be saved has changed since the intent. */
  | { readonly event: 'plan'; readonly save: SavePlan }
  /** A download is about to be asked for (family A counts them). */
  | { readonly event: 'get'; readonly role: string }
  /** The server of an output wants not to be asked for it again for so long. */
  | { readonly event: 'held'; readonly role: string; readonly forMs: number }
  /** The one part file of an output; absent path: it is gone. Whole, it is about to be renamed to `to`. */
  | ({ readonly event: 'part'; readonly role: string; readonly path?: string | undefined } & PartFacts)
  | ({ readonly event: 'saved' } & SavedFile);

/** A line as it stands in the file: `{"v":1,"t":…,"job":"gw-…","event":…,"sum":"…"}`. */
export type LedgerLine = {
  readonly v: number;
  readonly t: number;
  readonly job: string;
  /** Of what stands before it; older builds wrote none. */
  readonly sum?: string | undefined;
} & LedgerEvent;

/** Where a job may stand, from its events alone. */
export const jobStates = [
  'intent', // durable, not sent
  'sent', // sent, no reply recorded
  'not_sent', // never sent, and never will be
  'refused', // nothing was created
  'unknown', // may exist
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
  /** It lies where nobody wanted it, because the disk where it was wanted had failed; told as long as there is no other. */
  readonly rescued?: true | undefined;
  /** An image that looks cut, though all came that the server had announced: it is kept, and still to be had. */
  readonly cut?: true | undefined;
}

/** Whether a file is the output, where it was wanted. */
export const isHome = ({ rescued, cut }: Pick<SavedFile, 'rescued' | 'cut'>): boolean => !rescued && !cut;

export interface Job extends Omit<IntentEvent, 'event'> {
  /** gw's own ID, `gw-…` with 128 random bits. */
  readonly key: string;
  /** Its intent cannot be read: what it asked for is not known but for what could be made out of that line. */
  readonly isDamaged?: true | undefined;
  /** The gateway's task ID. */
  readonly id: string | undefined;
  /** The task that the cut reply to its create named; never confirmed, as long as it has no `id`. */
  readonly unconfirmedId?: string | undefined;
  readonly state: JobState;
  /** The gateway's last word. */
  readonly status: string | undefined;
  readonly message: string | undefined;
  /** Of what kind the refusal was, and what the gateway said of it; absent where there was none. */
  readonly refusal?: (SaidOfRefusal & { readonly kind: string }) | undefined;
  readonly createdAtMs: number;
  readonly sentAtMs: number | undefined;
  /** The first look-up that found nothing: when it was here, and at the gateway where that showed it; and the last one here. */
  readonly absentSince?:
    | { readonly atMs: number; readonly lastMs: number; readonly serverDateMs?: number | undefined }
    | undefined;
  /** How often it was sent again after a look-up that found nothing. */
  readonly resends: number;
  readonly acceptedAtMs: number | undefined;
  readonly reply?: string | undefined;
  readonly finishedAtMs: number | undefined;
  readonly savedAtMs?: number | undefined;
  readonly record: unknown;
  /** What earlier looks at its end had brought, the first one first. */
  readonly earlierRecords?: readonly unknown[] | undefined;
  /** Its JSON as it came, where it holds a number that JavaScript would write in another way. */
  readonly recordText?: string | undefined;
  readonly serverDateMs: number | undefined;
  readonly downloads: number;
  /** What the servers of outputs said last on waiting, by role. */
  readonly held?: Readonly<Record<string, { readonly atMs: number; readonly forMs: number }>>;
  readonly parts: Readonly<
    Record<string, PartFacts & { readonly path: string; readonly startedAtMs: number }>
  >;
  readonly files: readonly SavedFile[];
}

/** Whether a job was sent and its outcome is not known: it may have been made, and the same request may be paid twice. */
export const mayExist = ({ state }: Pick<Job, 'state'>): boolean => state === 'sent' || state === 'unknown';
