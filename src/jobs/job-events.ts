import type { IntentEvent, Job, LedgerEvent } from '../ledger/event.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** The result that is printed when gw is done with a job: the object of `--json`. */
interface Result {
  readonly family: string;
  readonly id: string;
  readonly status: string;
  readonly record: unknown;
  readonly files: readonly object[];
}

interface RowResult extends RowOf, Omit<Result, 'id'> {
  readonly key: string | null;
  readonly id: string | null;
}

interface RowOf {
  readonly row: number;
  readonly line: number;
  /** The row's key, such as `day/boat`. */
  readonly row_key: string;
}

interface Subject {
  /** gw's own key; null for a row without a job in this ledger. */
  readonly key: string | null;
  readonly family: string;
  id?: string | undefined;
  status?: string | undefined;
  readonly once?: { readonly key: string } | undefined;
  of?: RowOf | undefined;
  /** True if it was made on another machine and only adopted: its intent and ID are not reported as new. */
  isAdopted?: boolean;
  /** True if the run makes the job or is about it, and does not merely check whether it occupies a slot. */
  isOwn?: boolean;
  /** True if its result was reported: an error that comes later, as an interrupt does, brings no second one. */
  isTold?: boolean;
}

/** An error in the form of the contract's section 1, which says whether it ends the job. */
export interface ToldError {
  readonly kind: string;
  readonly task_id?: string | undefined;
}

interface EventsWorld {
  /** Writes one event as one line. A failure to write is reported with the next `result`. */
  readonly write: (event: object) => Promise<void>;
  readonly clock: { now(): number; steady(): number };
}

const DOWNLOAD_EVERY_MS = 1_000;

/**
 * Reports the events of a run's jobs as they happen (`--events`). They are taken from what is written to the ledger;
 * download progress and results are added.
 */
export class JobEvents {
  readonly #rows = new Map<string, RowOf>();
  readonly #byKey = new Map<string, Subject>();
  readonly #byId = new Map<string, Subject>();
  /** Jobs of this run whose result has not been reported. */
  readonly #due = new Set<Subject>();
  readonly #toldAtMs = new Map<string, number>();

  constructor(private readonly world: EventsWorld) {}

  /** A ledger whose writes are reported here, each once it is durable. */
  watching(ledger: Ledger): Ledger {
    const remember = (job: Job | undefined) => job && this.#remember(job);
    const begins = (key: string, intent: IntentEvent) => {
      const { family, once, bodySha256 } = intent;
      this.#remember({ key, family, once, isAdopted: bodySha256 === '' });
    };
    const told: Partial<Ledger> = {
      begin: (intent, key) => {
        const hold = ledger.begin(intent, key);
        begins(hold.key, intent);
        this.#tellWritten(hold.key, intent);
        return hold;
      },
      hold: async (key) => {
        const hold = await ledger.hold(key);
        remember(hold?.job);
        return hold;
      },
      holdMany: async (keys) => {
        const holds = await ledger.holdMany(keys);
        for (const { job } of holds) remember(job);
        return holds;
      },
      append: (key, event) => {
        if (event.event === 'intent') begins(key, event);
        try {
          ledger.append(key, event);
        } catch (error) {
          // The gateway has the task, even if its ID could not be written.
          if (event.event === 'accepted') this.#tellWritten(key, event);
          throw error;
        }
        this.#tellWritten(key, event);
      },
      find: async (wanted) => {
        const jobs = await ledger.find(wanted);
        if (wanted?.ids) for (const job of jobs) remember(job);
        return jobs;
      },
    };
    // A ledger may inherit from another one, so a spread would lose inherited methods.
    return Object.assign(Object.create(ledger), told);
  }

  /** Registers a job of this run: it always gets a result, unless the run continues without it. */
  about(job: Subject & { readonly key: string }, isDue = true): void {
    const subject = Object.assign(this.#remember(job), { isOwn: true });
    if (isDue) this.#due.add(subject);
  }

  /** Registers a row of a batch when it begins: the events of its job name the row. */
  ofRow({ row, line, key }: { readonly row: number; readonly line: number; readonly key: string }): void {
    this.#rows.set(key, { row, line, row_key: key });
  }

  /** Reports how many bytes of an output have come, at most once a second. */
  download(
    key: string,
    update: { readonly role: string; readonly bytes: number; readonly totalBytes: number | undefined },
  ): void {
    const subject = this.#byKey.get(key);
    const nowMs = this.world.clock.steady();
    if (!subject || nowMs - (this.#toldAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < DOWNLOAD_EVERY_MS) return;
    this.#toldAtMs.set(key, nowMs);
    const { role, bytes, totalBytes: total } = update;
    this.tell('download', subject, { role, bytes, ...(total !== undefined && { total }) });
  }

  /** Reports one outcome of the command: its error and result. Throws the error of writing to stdout. */
  async ended(value: Result | RowResult | undefined, error: ToldError | undefined): Promise<void> {
    if (value && 'row_key' in value) {
      const { row, line, row_key, key, family, id } = value;
      const subject = this.#byKey.get(key ?? '') ?? { key, family, id: (id !== key && id) || undefined };
      subject.of = { row, line, row_key };
      return this.#end(subject, value, error);
    }
    const id = value?.id ?? error?.task_id;
    if (id === undefined) {
      // The error names no job, so it belongs to the only one in progress.
      const [only] = this.#due;
      if (error === undefined || this.#due.size !== 1 || only === undefined) return;
      return this.#end(only, resultOf(only), error);
    }
    const subject = this.#byKey.get(id) ?? this.#byId.get(id) ?? { key: id, family: value?.family ?? '', id };
    await this.#end(subject, value ?? (subject.isTold ? undefined : resultOf(subject)), error);
  }

  /** Reports a result for each job that has none yet, at the end of the run. Throws the error of writing to stdout. */
  async close(): Promise<void> {
    await Promise.all([...this.#due].map((due) => this.#end(due, resultOf(due))));
  }

  async #end(subject: Subject, result: Result | RowResult | undefined, error?: ToldError): Promise<void> {
    this.#due.delete(subject);
    // These errors end a wait but not the job.
    if (error && !['wait_timeout', 'interrupted'].includes(error.kind)) {
      this.tell(error.kind === 'unknown_outcome' ? 'unknown' : 'failed', subject, { error });
    }
    if (result) await this.#write('result', Object.assign(subject, { isTold: true }), result);
  }

  #remember(job: Subject & { readonly key: string; readonly state?: string }): Subject {
    const { key, family, id, status, state, once, isAdopted = false } = job;
    const subject = this.#byKey.get(key) ?? { key, family, isAdopted };
    subject.of ??= this.#rows.get(once?.key ?? '');
    subject.id ??= id;
    subject.status ??= status ?? (state === 'refused' ? state : undefined);
    this.#byKey.set(key, subject);
    if (subject.id !== undefined) this.#byId.set(subject.id, subject);
    return subject;
  }

  #tellWritten(key: string, event: LedgerEvent): void {
    const subject = this.#byKey.get(key);
    if (!subject) return;
    switch (event.event) {
      case 'intent':
        this.#due.add(Object.assign(subject, { isOwn: true }));
        if (!subject.isAdopted) this.tell('intent', subject, { model: event.model });
        break;
      case 'accepted':
        // If the disk refused the ID, it is written again with the end, but was reported already.
        if (subject.id === event.id) break;
        subject.id = event.id;
        subject.status = event.status;
        this.#byId.set(event.id, subject);
        if (!subject.isAdopted) this.tell('accepted', subject, { status: event.status });
        break;
      case 'status':
      case 'final':
        if (subject.isOwn && subject.status !== event.status)
          this.tell('status', subject, { status: event.status });
        subject.status = event.status;
        break;
      case 'refused':
        subject.status = event.kind === 'not_sent' || event.kind === 'interrupted' ? 'not_sent' : 'refused';
        break;
      case 'not_made':
        subject.status = 'not_sent';
        break;
      case 'sent':
      case 'unknown':
      case 'lost':
        subject.status = event.event === 'sent' ? 'unknown' : event.event;
        break;
      case 'saved': {
        const { role, path, bytes, sha256, type } = event;
        this.tell('saved', subject, { role, path, bytes, sha256, type });
        break;
      }
    }
  }

  /** Reports one event, also of a job on another machine; `more` has its other fields, and `t` of an earlier event. */
  tell(event: string, subject: Subject, more: object): void {
    // The failure is reported with the result, whose write fails the same way.
    this.#write(event, subject, more).catch(() => {});
  }

  #write(event: string, { key, family, id, of }: Subject, more: object): Promise<void> {
    const t = new Date(this.world.clock.now()).toISOString();
    return this.world.write({ event, t, ...of, family, key, id, ...more });
  }
}

/** The state of a job for which the command gave no result. */
const resultOf = ({ key, family, id, status }: Subject): Result => ({
  family,
  id: id ?? key ?? '',
  status: status ?? '',
  record: null,
  files: [],
});
