import type { ReplyEvent } from './reply.ts';
import { seededRandom } from './seeded.ts';

/** Where a fault can occur: creates, queries and chats of the API, downloads of outputs, or the end of a task. */
export type FaultPlace = 'create' | 'query' | 'chat' | 'output' | 'task';
const requestPlaces = ['create', 'query', 'chat', 'output'] as const;
/** Requests whose replies can be streams: chats, and images. */
const streamPlaces = ['chat', 'create'] as const;
const wheres = {
  create: ['create'],
  query: ['query'],
  chat: ['chat'],
  output: ['output'],
  any: requestPlaces,
  task: ['task'],
} as const satisfies Record<string, readonly FaultPlace[]>;

/** Every fault: its syntax, where it applies, and its effect. Help and parser read this table. */
const table = {
  status: {
    form: /^[45]\d\d(\+\d{1,6})?$/,
    written: 'STATUS[+S]',
    at: requestPlaces,
    does: 'that status (400-599) with an error body, with Retry-After: S; nothing is taken',
  },
  'reset-before': { at: requestPlaces, does: 'the connection is reset before the request is taken' },
  'reset-after': { at: requestPlaces, does: 'the request is taken, then the connection is reset' },
  cut: { at: requestPlaces, does: 'the request is taken, the reply ends in the middle of its body' },
  hang: { at: requestPlaces, does: 'no answer ever; nothing is taken' },
  slow: { at: requestPlaces, does: 'the reply comes one small piece at a time' },
  html: { at: requestPlaces, does: '200 with an HTML page; nothing is taken' },
  empty: { at: requestPlaces, does: 'the request is taken, 200 without a body' },
  garbage: { at: requestPlaces, does: 'the request is taken, 200 with broken JSON' },
  'wrong-length': { at: requestPlaces, does: 'Content-Length promises more than comes' },
  redirect: { at: requestPlaces, does: 'a redirect to another origin; nothing is taken' },
  'code-only': {
    at: ['create', 'query'],
    does: 'a refusal of family B comes with status 200, so that only its code says it',
  },
  expired: { at: ['output'], does: 'the link is dead: 403' },
  'no-range': { at: ['output'], does: 'Range is ignored' },
  'new-etag': { at: ['output'], does: 'other bytes and another ETag each time' },
  'plain-json': { at: streamPlaces, does: 'the whole reply as JSON where a stream was asked for' },
  'odd-form': { at: streamPlaces, does: 'a stream in rare legal form: BOM, comments, CRLF' },
  'unknown-event': { at: streamPlaces, does: 'an event of an unknown type in the middle of a stream' },
  'bad-event': { at: streamPlaces, does: 'an event with broken JSON in the middle of a stream' },
  'error-event': { at: streamPlaces, does: 'an error event in the middle of a stream, then its end' },
  'long-line': { at: streamPlaces, does: 'a comment line of 10 MiB in the middle of a stream' },
  stall: { at: streamPlaces, does: 'a stream that falls silent in its middle and stays open' },
  'no-end': { at: streamPlaces, does: 'a stream without its last event' },
  'end-twice': { at: streamPlaces, does: 'a stream with its last event twice' },
  fail: {
    form: /^fail=[\w.-]{1,64}$/,
    written: 'fail=CODE',
    at: ['task'],
    does: 'the task ends failed with that code',
  },
  cancel: { at: ['task'], does: 'the task ends cancelled, where its family knows that end (C)' },
} as const satisfies Record<
  string,
  { form?: RegExp; written?: string; at: readonly FaultPlace[]; does: string }
>;
type FaultKind = keyof typeof table;
/** The faults of a stream's events; they do not affect a reply that is no stream. */
export type StreamFaultKind = {
  [Kind in FaultKind]: (typeof table)[Kind]['at'] extends typeof streamPlaces ? Kind : never;
}[FaultKind];

export interface Fault {
  readonly where: keyof typeof wheres;
  readonly kind: FaultKind;
  /** The text in the SPEC. */
  readonly spec: string;
  /** The places that both `where` and `kind` allow. */
  readonly places: readonly FaultPlace[];
  readonly status?: number;
  readonly retryAfterS?: number;
  /** Failure code of `fail=CODE`. */
  readonly code?: string;
  readonly times?: number;
  /** The percentage of requests that it strikes. */
  readonly percent?: number;
}

/** A SPEC of faults that cannot be parsed; the message gives the grammar. */
export class FaultSpecError extends Error {
  override readonly name = 'FaultSpecError';
}

const kinds = Object.entries(table) as [
  FaultKind,
  (typeof table)[FaultKind] & { form?: RegExp; written?: string },
][];
const whereList = Object.keys(wheres).join('|');
const written = ([kind, row]: (typeof kinds)[number]) => row.written ?? kind;
const grammar = `WHERE:WHAT[:xCOUNT|:P%], comma separated; WHERE is ${whereList}, WHAT is ${kinds.map(written).join('|')}`;

/** The grammar of a SPEC for help texts, a line each. */
export const faultHelp: readonly string[] = [
  'SPEC is WHERE:WHAT[:xCOUNT|:P%], comma separated; the first fault that applies strikes.',
  `WHERE is ${whereList}. xCOUNT: only the first COUNT times. P%: in P of 100 requests, the same ones each run.`,
  ...kinds.map(
    (row) =>
      `  ${written(row).padEnd(13)}  ${row[1].does}${row[1].at.length < requestPlaces.length ? ` (${row[1].at.join(', ')})` : ''}`,
  ),
];

/**
 * Parses a SPEC such as `create:503+3:x2,output:cut:20%`. Throws FaultSpecError, whose message names the faulty part and
 * the grammar.
 */
export function parseFaults(spec: string): Fault[] {
  return spec.split(',').map((part) => parseFault(part.trim()));
}

function parseFault(spec: string): Fault {
  const bad = (why: string) => new FaultSpecError(`fault "${spec}": ${why}; a SPEC is ${grammar}`);
  const [where, what, limit, ...rest] = spec.split(':');
  if (what === undefined || rest.length > 0) throw bad('not WHERE:WHAT[:xCOUNT|:P%]');
  if (!isWhere(where)) throw bad(`"${where}" is not a place`);
  const kind = kinds.find(([name, row]) => (row.form ? row.form.test(what) : name === what));
  if (!kind) throw bad(`"${what}" is not a fault`);
  const [name, row] = kind;
  const places = wheres[where].filter((place) => (row.at as readonly FaultPlace[]).includes(place));
  if (places.length === 0) throw bad(`${what} does not apply to ${where} (only to ${row.at.join(', ')})`);
  const [, status, retryAfterS] = /^(\d{3})(?:\+(\d+))?$/.exec(what) ?? [];
  return {
    where,
    kind: name,
    spec,
    places,
    ...(status === undefined ? {} : { status: Number(status) }),
    ...(retryAfterS === undefined ? {} : { retryAfterS: Number(retryAfterS) }),
    ...(name === 'fail' ? { code: what.slice('fail='.length) } : {}),
    ...readLimit(limit, bad),
  };
}

const isWhere = (where: string | undefined): where is keyof typeof wheres =>
  where !== undefined && Object.hasOwn(wheres, where);

function readLimit(
  limit: string | undefined,
  bad: (why: string) => Error,
): { times?: number; percent?: number } {
  if (limit === undefined) return {};
  const [, times] = /^x([1-9]\d{0,5})$/.exec(limit) ?? [];
  if (times !== undefined) return { times: Number(times) };
  const [, percent] = /^(\d{1,3}(?:\.\d+)?)%$/.exec(limit) ?? [];
  if (percent !== undefined && Number(percent) <= 100) return { percent: Number(percent) };
  throw bad(`"${limit}" is neither xCOUNT (from 1) nor P% (0-100)`);
}

/** A fault that occurs now, for the nth time. */
export interface Struck {
  readonly fault: Fault;
  readonly nth: number;
}

/** Decides which requests the faults strike, and counts them. */
export class FaultDraw {
  readonly #atStart: readonly Fault[];
  #faults: readonly Fault[];
  readonly #counts = new Map<Fault, number>();
  readonly #random: () => number;

  /** @param seed decides which requests a `P%` strikes */
  constructor(faults: readonly Fault[], seed: number) {
    this.#atStart = faults;
    this.#faults = faults;
    this.#random = seededRandom(seed);
  }

  /** The faults as in the SPEC, in the order of their priority. */
  specs(): string[] {
    return this.#faults.map(({ spec }) => spec);
  }

  /** Adds a fault with priority over the others. */
  strikeNext(fault: Fault): void {
    this.#faults = [fault, ...this.#faults];
  }

  replace(faults: readonly Fault[]): void {
    this.#faults = faults;
    this.#counts.clear();
  }

  /** Restores the initial faults with full counts. */
  reset(): void {
    this.replace(this.#atStart);
  }

  /** The first fault that applies here and is not used up; `spares` exempts this request from a fault. */
  draw(place: FaultPlace, spares: (fault: Fault) => boolean = () => false): Struck | undefined {
    for (const fault of this.#faults) {
      if (!fault.places.includes(place) || spares(fault)) continue;
      const count = this.#counts.get(fault) ?? 0;
      if (fault.times !== undefined && count >= fault.times) continue;
      if (fault.percent !== undefined && this.#random() * 100 >= fault.percent) continue;
      this.#counts.set(fault, count + 1);
      return { fault, nth: count + 1 };
    }
    return undefined;
  }
}

const LONG_LINE_BYTES = 10 * 1024 * 1024;
const ODD_PIECE_CHARS = 7;

type Bend = (events: readonly ReplyEvent[]) => ReplyEvent[];

/** Inserts a text in the middle of a stream, at the time of the next event. */
const inTheMiddle =
  (text: string, goesOn = true): Bend =>
  (events) => {
    const middle = Math.ceil(events.length / 2);
    const atMs = events[middle]?.atMs ?? 0;
    return [...events.slice(0, middle), { text, atMs }, ...(goesOn ? events.slice(middle) : [])];
  };

const errorEvent = {
  type: 'error',
  error: { type: 'server_error', code: 'InternalServiceError', message: 'The answer broke off.' },
};

const bends: Readonly<Record<StreamFaultKind, Bend>> = {
  // The reply's JSON has replaced the stream before this is called.
  'plain-json': (events) => [...events],
  'odd-form': (events) => events.flatMap(oddly),
  'unknown-event': inTheMiddle('event: surprise\ndata: {"type":"surprise","surprise":true}\n\n'),
  'bad-event': inTheMiddle('data: {"choices":[{"delta"\n\n'),
  'error-event': inTheMiddle(`event: error\ndata: ${JSON.stringify(errorEvent)}\n\n`, false),
  'long-line': inTheMiddle(`: ${'-'.repeat(LONG_LINE_BYTES)}\n\n`),
  stall: (events) => [
    ...events.slice(0, Math.ceil(events.length / 2)),
    { text: '', atMs: Number.POSITIVE_INFINITY },
  ],
  'no-end': (events) => events.slice(0, -1),
  'end-twice': (events) => [...events, ...events.slice(-1)],
};

function oddly({ text, atMs }: ReplyEvent, nth: number): ReplyEvent[] {
  const odd = `${nth === 0 ? '\uFEFF' : ': keep-alive\r\n'}${text.replaceAll('\n', '\r\n')}`;
  const pieces = odd.match(new RegExp(`[^]{1,${ODD_PIECE_CHARS}}`, 'gu')) ?? [];
  return pieces.map((piece) => ({ text: piece, atMs }));
}

export const isStreamFault = (kind: string): kind is StreamFaultKind => Object.hasOwn(bends, kind);

export const bendEvents = (kind: StreamFaultKind, events: Iterable<ReplyEvent>): ReplyEvent[] =>
  bends[kind]([...events]);

/** A prompt with this word passes the request's checks, and the finished output fails the review. */
export const SENSITIVE_OUTPUT_WORD = 'sensitive-output';

/** A prompt with this word is refused by family C's content review before anything is created (422). */
export const SENSITIVE_PROMPT_WORD = 'sensitive-prompt';
