/** Every kind of error with its exit code and its meaning for a script (the contract, section 1). */
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

/** Errors that every further create would also get, whatever it requests. */
export const endsAll: ReadonlySet<ErrorKind> = new Set(['auth', 'balance', 'budget']);

/** Facts about an error beside its message; absent facts are left out of `--json`. */
export interface ErrorFacts {
  /** One sentence on what to do next. */
  hint?: string | undefined;
  /** Ends the hint: the command that pays for the job once more, because nothing else can bring its output. */
  anew?: string | undefined;
  /** The faults of a request, one sentence each, if there are several. */
  faults?: readonly string[] | undefined;
  /** The HTTP status of a reply, and its own `error.type` and `error.code`. */
  status?: number | undefined;
  type?: string | undefined;
  code?: string | undefined;
  requestId?: string | undefined;
  taskId?: string | undefined;
  /** True if this machine's ledger cannot be used, so that no job can be made. */
  noLedger?: boolean | undefined;
  /** The time of the next allowed request by the gateway, in Unix milliseconds. */
  retryAtMs?: number | undefined;
  /** The same time in words, printed after the hint, but never for a job that may exist. */
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
    super(withoutPasswords(message));
  }
  get exitCode(): number {
    return errorKinds[this.kind].exitCode;
  }
  get hint(): string | undefined {
    const { hint, anew, when } = this.facts;
    const whole = anew ? `${hint}: ${anew}` : hint;
    const all = [whole, this.kind !== 'unknown_outcome' && when].filter(Boolean).join('; ');
    return withoutPasswords(all) || undefined;
  }
  /** Returns the same failure with more facts, or with another message. */
  told(facts: ErrorFacts, message = this.message): GwError {
    return new GwError(this.kind, message, { ...this.facts, ...facts });
  }
}

/**
 * A text for a message, with `***` for the password in each address (`ftp://user:***@host`). The word PASSWORD stays,
 * because a hint has it where the user writes a password.
 */
export const withoutPasswords = (text: string): string => text.replace(passwords, '://$1***@');
// A colon with digits begins a port and no password; a password that nobody has encoded may hold / and @.
const passwords =
  /:\/\/(?!\w*:PASSWORD@)(?:([^\s/?#@:"'[]*:)(?!\d*[/?#])(?:[^\s/"']*|[^\s@"']{0,999})|[^\s/?#"']*)@/g;

/** A paid create was sent and no complete reply came: the job may exist. What came is kept, as it may name the ID. */
export class UnknownOutcome extends GwError {
  constructor(
    message: string,
    facts?: ErrorFacts,
    /** The text received of a cut or unreadable 2xx reply. */
    readonly partialText?: string | undefined,
  ) {
    super('unknown_outcome', message, facts);
  }
}

/** True if an error says that a paid job may exist. */
export const isUnknownOutcome = (error: unknown): error is GwError =>
  error instanceof GwError && error.kind === 'unknown_outcome';

/** A usage error: bad flags, or a request that breaks a documented rule. Nothing was sent. */
export const usage = (message: string, hint?: string): GwError => new GwError('usage', message, { hint });

export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type EndingSignal = keyof typeof signalExitCodes;

/** The user or the system ended the run; used as the abort reason of the run's signal. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(
    readonly signal: EndingSignal,
    /** A command to go on with, and the task that it concerns. */
    readonly facts: Pick<ErrorFacts, 'hint' | 'taskId'> = {},
    /** The work that goes on or may exist, such as `the job goes on`. */
    what?: string,
  ) {
    // A user who pressed Ctrl-C need not be told the signal's name.
    const how = signal === 'SIGINT' ? 'interrupted' : `interrupted by ${signal}`;
    super(what === undefined ? how : `${how}; ${what}`);
  }
  get exitCode(): number {
    return signalExitCodes[this.signal];
  }
}

/** The user ended a command that runs until it is ended, which is no error. */
export class Ended extends Interrupted {}
export const ended = ({ reason }: AbortSignal): unknown =>
  reason instanceof Interrupted ? new Ended(reason.signal) : reason;

/** The reader of stdout closed it (`| head -1`): the run ends quietly with exit code 0. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe';
}

/** The `code` of a system or library error (`ENOENT`, `UND_ERR_CONNECT_TIMEOUT`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Quotes a word for a POSIX shell, for the commands in messages and hints. */
export const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
