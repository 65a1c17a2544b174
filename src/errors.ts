/** Every kind of error, its exit code, and what the code tells a script (the contract, section 1). */
export const errorKinds = {
  internal: { exitCode: 1, meaning: 'a fault of gw itself' },
  usage: {
    exitCode: 2,
    meaning: 'bad flags, or a request that breaks the documented rules; nothing was sent',
  },
  auth: { exitCode: 3, meaning: 'no gateway or key configured, HTTP 401 or 403' },
  not_found: { exitCode: 4, meaning: 'HTTP 404 or 410, unknown task or asset, expired record' },
  rejected: { exitCode: 5, meaning: 'HTTP 400, 405, 413, 415, 422, 451, or another refusal of the gateway' },
  balance: { exitCode: 6, meaning: 'HTTP 402, insufficient balance or quota' },
  rate_limited: { exitCode: 7, meaning: 'HTTP 429 after all retries' },
  unavailable: {
    exitCode: 8,
    meaning: 'HTTP 5xx, no connection, a broken or unreadable reply, or a redirect, after all retries',
  },
  task_failed: { exitCode: 9, meaning: 'the task or asset ended failed or cancelled' },
  wait_timeout: { exitCode: 10, meaning: '--wait-timeout ran out; the job goes on and stays in the ledger' },
  incomplete: { exitCode: 11, meaning: 'the reply holds no usable answer' },
  download: {
    exitCode: 12,
    meaning: 'the job succeeded but an output could not be saved; gw jobs sync tries again',
  },
  partial: { exitCode: 13, meaning: 'some of several IDs or items failed' },
  unknown_outcome: {
    exitCode: 14,
    meaning: 'a paid create was sent and no reply came that settles it; it may exist and was not sent again',
  },
  budget: { exitCode: 15, meaning: 'a limit that the user has set would be passed; nothing was sent' },
} as const satisfies Record<string, { exitCode: number; meaning: string }>;

export type ErrorKind = keyof typeof errorKinds;

/** Errors of a create that every further one would meet too, whatever it asks for. */
export const endsAll: ReadonlySet<ErrorKind> = new Set(['auth', 'balance', 'budget']);

/** What is known about an error beside its sentence; absent facts are left out of `--json`. */
export interface ErrorFacts {
  /** What to do next, one sentence. */
  hint?: string | undefined;
  /** All that a request breaks, where that is several things: a sentence each. */
  faults?: readonly string[] | undefined;
  /** HTTP status, where there was a reply. */
  status?: number | undefined;
  /** The gateway's own `error.type` and `error.code`. */
  type?: string | undefined;
  code?: string | undefined;
  requestId?: string | undefined;
  taskId?: string | undefined;
  /** When the gateway says it may be asked again, Unix milliseconds. */
  retryAtMs?: number | undefined;
  /** The same in words, said behind the hint; of what may exist no message says to try again. */
  when?: string | undefined;
}

/** An error with a kind that decides the exit code, and one sentence for the user. */
export class GwError extends Error {
  override readonly name = 'GwError';
  constructor(
    readonly kind: ErrorKind,
    message: string,
    readonly facts: ErrorFacts = {},
  ) {
    super(message);
  }
  get exitCode(): number {
    return errorKinds[this.kind].exitCode;
  }
  get hint(): string | undefined {
    const { hint, when } = this.facts;
    return [hint, this.kind !== 'unknown_outcome' && when].filter(Boolean).join('; ') || undefined;
  }
  /** The same failure with more facts, or in other words. */
  told(facts: ErrorFacts, message = this.message): GwError {
    return new GwError(this.kind, message, { ...this.facts, ...facts });
  }
}

/**
 * A paid create left this machine and no complete, readable reply came: it may exist, and was not sent again. What did
 * come is kept, so that its ID can be looked for.
 */
export class UnknownOutcome extends GwError {
  constructor(
    message: string,
    facts?: ErrorFacts,
    /** The text of a cut or unreadable 2xx reply, as far as it came. */
    readonly partialText?: string | undefined,
  ) {
    super('unknown_outcome', message, facts);
  }
}

/** Whether an error says that a paid job may exist. */
export const isUnknownOutcome = (error: unknown): error is GwError =>
  error instanceof GwError && error.kind === 'unknown_outcome';

/** A usage error: bad flags or a request that breaks a documented rule; nothing was sent. */
export const usage = (message: string, hint?: string): GwError => new GwError('usage', message, { hint });

export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type EndingSignal = keyof typeof signalExitCodes;

/** The user or the system ended the run; carried as the abort reason of the one signal everything listens to. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(
    readonly signal: EndingSignal,
    /** How to go on from here. */
    readonly hint?: string,
    /** What goes on all the same, or may be there: `the job goes on`. */
    what?: string,
  ) {
    // Who pressed Ctrl-C needs no signal's name.
    const how = signal === 'SIGINT' ? 'interrupted' : `interrupted by ${signal}`;
    super(what === undefined ? how : `${how}; ${what}`);
  }
  get exitCode(): number {
    return signalExitCodes[this.signal];
  }
}

/** The user ended what has no other end: that is no error. */
export class Ended extends Interrupted {}
export const ended = ({ reason }: AbortSignal): unknown =>
  reason instanceof Interrupted ? new Ended(reason.signal) : reason;

/** stdout was closed by its reader (`| head -1`): the run ends quietly with exit 0. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe';
}

/** The `code` of a system or library error (`ENOENT`, `UND_ERR_CONNECT_TIMEOUT`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** A word as a POSIX shell reads it, for the commands that messages and hints name. */
export const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
