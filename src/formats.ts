import { GwError } from './errors.ts';

// The formats of all stored data. A format's number is in its file, line or hash as `v` or `version`; data without a
// number has format 1, or the format of its gw version. CONTRIBUTING says how to raise a number.

/** Where the data is kept: a directory of gw, the user's own place, or Redis below `gw:GATEWAY:`. */
type Place = 'state' | 'config' | 'cache' | 'outputs' | 'redis';

interface Format {
  readonly place: Place;
  /** Matches the paths below the place, or the Redis keys, of this format. */
  readonly names: RegExp;
  /** The name in messages. */
  readonly what: string;
  /** The newest format that this build reads and writes (it reads all from 1 on); absent if the data has no number. */
  readonly format?: number;
  /** What this build does with a newer format; `not ours`: others write it, and unknown content is refused in use. */
  readonly newer: 'refused' | 'made again' | 'not read' | 'not ours';
}

const table = {
  ledger: {
    place: 'state',
    what: 'the ledger',
    format: 1,
    newer: 'refused',
    names: /^ledger\/\d{4,6}-\d{2}\.jsonl(\.[0-9a-f]+\.(old|new))?$/,
  },
  contents: {
    place: 'state',
    what: 'the table of contents of the ledger, and that of earlier builds',
    newer: 'made again',
    names: /^ledger\/(contents|index)\b/,
  },
  sent: {
    place: 'state',
    what: 'a note that a job with a --once key was sent',
    newer: 'not read',
    names: /^ledger\/sent\/gw-[0-9a-z]{26}$/,
  },
  reserve: {
    place: 'state',
    what: 'some room on the disk, so that an ID can be written when it is full',
    newer: 'not read',
    names: /^ledger\/reserve$/,
  },
  locks: {
    place: 'state',
    what: 'a lock, a place in a line or a rate',
    newer: 'made again',
    names: /^locks\/|^chat\/.*\.lock$/,
  },
  talks: {
    place: 'state',
    what: 'the session',
    format: 1,
    newer: 'refused',
    names: /^chat\/sessions\/[^/]+\.jsonl$/,
  },
  history: {
    place: 'state',
    what: 'the history of questions',
    newer: 'not read',
    names: /^chat\/history\.jsonl$/,
  },
  listeners: {
    place: 'state',
    what: 'the file of a listener',
    format: 1,
    newer: 'refused',
    names: /^listeners\/[0-9a-f]+\.json$/,
  },
  handovers: {
    place: 'state',
    what: 'the list of rows that were handed over',
    format: 1,
    newer: 'refused',
    names: /^queues\/[0-9a-f]+\.jsonl$/,
  },
  sandbox: {
    place: 'state',
    what: 'a task or document of the sandbox',
    format: 1,
    newer: 'refused',
    names: /^sandbox(-serve)?\/(tasks|documents\/[\w-]+)\/[^/]+\.json$/,
  },
  marks: {
    place: 'state',
    what: 'what the sandbox counts and signs with',
    newer: 'not read',
    names: /^sandbox(-serve)?\/(secret|marks\/.*|unfinished\/.*)$/,
  },
  certificate: {
    place: 'state',
    what: 'the certificate of a sandbox that serves over TLS, while it runs',
    newer: 'not ours',
    names: /^sandbox-serve\/certificate-\d*\.pem$/,
  },
  server: {
    place: 'state',
    what: 'what gw queue serve keeps of its Redis',
    newer: 'not ours',
    names: /^queue\//,
  },
  settings: {
    place: 'config',
    what: 'the configuration file',
    format: 1,
    newer: 'refused',
    names: /^config\.json$/,
  },
  keys: { place: 'config', what: 'the key file', format: 1, newer: 'refused', names: /^keys\.json$/ },
  presets: {
    place: 'config',
    what: 'a preset',
    newer: 'not ours',
    names: /^presets\/[\w.-]+\.(json|ya?ml)$/,
  },
  writing: { place: 'config', what: 'the lock of a change', newer: 'made again', names: /^write\.lock$/ },
  models: {
    place: 'cache',
    what: 'the list of models',
    format: 1,
    newer: 'made again',
    names: /^models\/[0-9a-f]+\.json$/,
  },
  code: { place: 'cache', what: 'compiled code', newer: 'made again', names: /^code(\/|$)/ },
  outputs: {
    place: 'outputs',
    what: 'an output',
    newer: 'not ours',
    names: /\.(mp4|mov|png|jpe?g|webp|svg)$/,
  },
  parts: {
    // The ledger describes the part, and has a format of its own.
    place: 'outputs',
    what: 'a part of an output',
    newer: 'not read',
    names: /(^|\/)\.gw-[0-9a-f]+(\.json)?\.part$/,
  },
  sidecars: {
    place: 'outputs',
    what: 'a sidecar, report or gallery',
    newer: 'not read',
    names: /\.(json|jsonl|csv|html)$/,
  },
  prices: { place: 'outputs', what: 'the price file', newer: 'not ours', names: /\.ya?ml$/ },
  rows: { place: 'redis', what: 'the row', format: 2, newer: 'refused', names: /^row:/ },
  queue: { place: 'redis', what: 'the queue', format: 1, newer: 'refused', names: /^meta$/ },
  logs: { place: 'redis', what: 'the log or the events of rows', newer: 'not read', names: /^(log|events):/ },
  words: {
    place: 'redis',
    what: 'what each worker says of itself, and which rows there are',
    newer: 'made again',
    names: /^(workers|counts|batch:.*)$/,
  },
  rates: { place: 'redis', what: 'a rate', newer: 'made again', names: /^rate:/ },
  engine: {
    // BullMQ stores its own version in each queue.
    place: 'redis',
    what: 'what BullMQ keeps of a pool',
    newer: 'not ours',
    names: /^(alpha|alpha-4k|beta|gamma|image|save):/,
  },
} as const satisfies Record<string, Format>;

type FormatName = keyof typeof table;
export const formats: Readonly<Record<FormatName, Format>> = table;

/** The formats whose newer versions are refused. */
type NumberedName = {
  [Name in FormatName]: (typeof table)[Name] extends { newer: 'refused' } ? Name : never;
}[FormatName];

/** A newer gw wrote something on the disk or in Redis; nothing was sent or changed. */
export class NewerFormat extends GwError {}

/** Throws NewerFormat (`usage`) if `version` is newer than this build can read; `at` is the path or key. */
export function refuseNewer(name: NumberedName, version: unknown, at: string): void {
  const { what, place, format } = table[name];
  if (typeof version !== 'number' || version <= format) return;
  const other = {
    state: 'set GW_STATE_DIR to another directory',
    config: 'set GW_CONFIG_DIR to another directory',
    redis: 'name another Redis with --redis',
  }[place];
  throw new NewerFormat(
    'usage',
    `${what} ${at} was written by a newer gw (format ${version}, this gw reads format ${format})`,
    { hint: `upgrade gw, or ${other}` },
  );
}

/** The newest format that this build reads and writes. */
export const formatOf = (name: NumberedName): number => table[name].format;

/** The formats as `gw doctor` prints them: `ledger 1`. */
export const formatWords = (): string[] =>
  Object.entries(formats).flatMap(([name, { format }]) =>
    format === undefined ? [] : [`${name} ${format}`],
  );
