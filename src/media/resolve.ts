import { createHash } from 'node:crypto';
import * as path from 'node:path';
import { type GwError, usage } from '../errors.ts';
import { MB, type MediaLimits, type Modality } from '../gateway/limits.ts';
import { checkMedia, checkModality, checkTotals, inMB } from './check.ts';
import { mediaFileBytes, openMediaFile } from './local-file.ts';
import { type MediaFacts, type ProbeOptions, probe, probeBytes } from './probe.ts';
import {
  dataUriBytes,
  parseDataUri,
  parseReference,
  type Reference,
  type ReferenceScheme,
  shorten,
  toDataUri,
} from './reference.ts';

/** A reference as typed, and what the place in the body that it is for takes. */
export interface MediaInput {
  readonly raw: string;
  /** `--image`, for messages. */
  readonly flag: string;
  readonly modality: Modality;
  readonly takes: {
    readonly url: boolean;
    readonly base64: boolean;
    readonly schemes: readonly ReferenceScheme[];
  };
  readonly limits?: MediaLimits | undefined;
  /** Of a reference to an output of a job: what it stands for. */
  readonly output?: FoundOutput | undefined;
}

export interface FoundOutput {
  /** What is told and kept of it: `job:ID#PART`. */
  readonly label: string;
  /** What a key compares of it: the words. */
  readonly asked: string;
  /** Its file, or the picture that was cut out of it; absent where it is not made yet, or nothing is sent any more. */
  readonly file?: string | undefined;
  readonly sha256?: string | undefined;
  /** Where the endpoint takes addresses only: its link, which is looked up anew and counted when it is asked for. */
  readonly link?: (() => Promise<string>) | undefined;
}

/** What a reference is once it is found: an output is the file that it was saved as. */
export const referenceOf = ({ raw, flag, output }: MediaInput): Reference =>
  output === undefined ? parseReference(raw, flag) : outputAs(output);

const outputAs = ({ file, label }: FoundOutput): Reference =>
  file === undefined ? { kind: 'url', url: standInFor(label) } : { kind: 'file', path: file };

/** Stands for the address of an output in a body that is only checked. */
export const standInFor = (label: string): string => `https://output.invalid/${encodeURIComponent(label)}`;

/** An output as it is shown in a body: never its link. */
export const shownAs = ({ label, sha256 }: FoundOutput): string =>
  sha256 === undefined ? label : `${label} sha256:${sha256}`;

/** A reference made ready for the body. */
export interface ResolvedMedia {
  readonly kind: Reference['kind'];
  /** What is sent: the URL, `asset://ID`, `file_id:ID`, or the file as a data URI. */
  readonly url: string;
  /** For the ledger and for people: a file's name, a URL without its query, a digest. Never the data itself. */
  readonly describe: string;
  /** Of the bytes of a file or a data URI. */
  readonly sha256?: string | undefined;
  /** Known for files and data URIs only. */
  readonly facts?: MediaFacts | undefined;
  /** Bytes that `url` takes in the body. */
  readonly bytes: number;
}

export interface ResolveOptions {
  /** The endpoint's `maxBodyBytes`. */
  readonly maxBodyBytes?: number | undefined;
  /** What to do about media that are too large together, where there is something better. */
  readonly hintIfTooLarge?: string | undefined;
  /** Longest sum over all videos, and over all audio, in seconds. */
  readonly totalS?: number | undefined;
  /** False under --no-validate: a body over the limit is then read all the same, and a breach. Default true. */
  readonly validate?: boolean | undefined;
}

export interface ResolveDeps {
  /** Relative paths start here. */
  readonly cwd: string;
  /** Where the files that come with gw are. */
  readonly assetsDir: string;
  readonly signal?: AbortSignal | undefined;
  /** Longest time that a file is read for its facts; five seconds where absent. */
  readonly deadlineMs?: number | undefined;
}

type ReadDeps = ResolveDeps & Pick<ProbeOptions, 'readsTracks'>;

/** A reference told apart, with its size in the body, before anything of it is read. */
interface Planned {
  readonly input: MediaInput;
  readonly reference: Reference;
  /** `--image photo.png`. */
  readonly named: string;
  readonly bodyBytes: number;
}

interface Outcome {
  readonly item: ResolvedMedia;
  readonly breaches: readonly string[];
}

/**
 * Makes typed references into what goes in the body, in the same order. First all of them are looked at without being
 * read, so that a body that would be too large costs nothing; then each is read, probed and checked.
 * Throws `usage` for what cannot be sent at all: a malformed reference, a file that is missing or changes, a file where
 * only addresses are taken. What breaks a documented limit is returned, a whole sentence each: a usage error, or under
 * --no-validate a warning.
 */
export async function resolveMedia(
  inputs: readonly MediaInput[],
  options: ResolveOptions,
  deps: ResolveDeps,
): Promise<{ items: ResolvedMedia[]; breaches: string[] }> {
  const planned: Planned[] = [];
  for (const input of inputs) planned.push(await planOf(input, deps));
  const items: ResolvedMedia[] = [];
  const breaches: string[] = [];
  const tooLarge = bodySizeBreach(planned, options.maxBodyBytes);
  if (tooLarge) {
    if (options.validate !== false || tooLarge.unsendable)
      throw usage(tooLarge.message, options.hintIfTooLarge ?? tooLarge.hint);
    breaches.push(tooLarge.message);
  }
  for (const each of planned) {
    const isLate = items.some(({ facts }) => facts?.isStuck);
    const { item, breaches: found } = await (isLate ? resolveLate(each, deps) : resolve(each, deps));
    items.push(item);
    breaches.push(...found);
  }
  if (options.totalS !== undefined) {
    const timed = items.map(({ facts }, index) => ({ flag: inputs[index]?.flag ?? '', facts }));
    breaches.push(...checkTotals(timed, options.totalS));
  }
  return { items, breaches };
}

/** Throws `usage` for a file that cannot be sent, and for one where only addresses are taken. */
export async function planOf(input: MediaInput, deps: ResolveDeps): Promise<Planned> {
  const reference = referenceOf(input);
  const named = `${input.flag} ${shorten(input.raw, reference.kind === 'data' ? 40 : 200)}`;
  if (reference.kind !== 'file') return { input, reference, named, bodyBytes: Buffer.byteLength(input.raw) };
  const bytes = await mediaFileBytes(path.resolve(deps.cwd, reference.path), named, hintIfMissing(input));
  if (!input.takes.base64) throw fileNotTaken(input, named, 'a file');
  return { input, reference, named, bodyBytes: dataUriBytes(bytes) };
}

/**
 * After a file whose tracks did not come to an end: several of them would cost a deadline each, and what the first one
 * breaks has to be mended anyway.
 */
function resolveLate(planned: Planned, deps: ResolveDeps): Promise<Outcome> {
  const { modality, limits: { formats, bytes } = {} } = planned.input;
  const limits = { ...(formats && { formats }), ...(bytes && { bytes }) };
  const input = modality === 'image' ? planned.input : { ...planned.input, limits };
  return resolve({ ...planned, input }, { ...deps, readsTracks: false });
}

async function resolve({ input, reference, named }: Planned, deps: ReadDeps): Promise<Outcome> {
  switch (reference.kind) {
    case 'file':
      return fromFile(input, path.resolve(deps.cwd, reference.path), named, deps);
    case 'data':
      return fromDataUri(input, reference.uri, named, deps);
    case 'url': {
      const { origin, pathname } = new URL(reference.url);
      const describe = input.output?.label ?? `${origin}${pathname}`;
      return fromAddress(input, reference.kind, reference.url, describe, input.takes.url, named);
    }
    case 'job':
    case 'row':
      throw usage(`${named}: an output of a job cannot be used here`, `give ${formsTaken(input.takes)}`);
    case 'file_id': {
      const address = `file_id:${reference.id}`;
      // No URL field can carry it, so nothing could be sent even unchecked.
      if (!input.takes.schemes.includes('file_id'))
        throw usage(`${named}: file_id: cannot be used here`, `give ${formsTaken(input.takes)}`);
      return fromAddress(input, reference.kind, address, address, true, named);
    }
    default: {
      const address = `${reference.kind}://${reference.id}`;
      const taken = input.takes.schemes.includes(reference.kind);
      return fromAddress(input, reference.kind, address, address, taken, named);
    }
  }
}

function fromAddress(
  { takes }: MediaInput,
  kind: Reference['kind'],
  url: string,
  describe: string,
  isTaken: boolean,
  named: string,
): Outcome {
  const breaches = isTaken ? [] : [`${named}: this form cannot be used here; give ${formsTaken(takes)}`];
  return { item: { kind, url, describe, bytes: Buffer.byteLength(url) }, breaches };
}

async function fromFile(
  input: MediaInput,
  absolutePath: string,
  named: string,
  deps: ReadDeps,
): Promise<Outcome> {
  const file = await openMediaFile(absolutePath, named);
  try {
    const facts = await probe(file, { ...deps, modality: input.modality });
    const content = await file.readAll();
    const url = toDataUri(facts.mime, content);
    const describe = input.output?.label ?? path.basename(absolutePath);
    const sha256 = digestOf(content);
    if (input.output && input.output.sha256 !== sha256)
      throw usage(`${named}: ${absolutePath} changed while it was read`, 'run it again');
    return {
      item: { kind: 'file', url, describe, sha256, facts, bytes: url.length },
      breaches: check(input, facts, named),
    };
  } finally {
    await file.close();
  }
}

async function fromDataUri(input: MediaInput, uri: string, named: string, deps: ReadDeps): Promise<Outcome> {
  const { mime, content } = parseDataUri(uri, named);
  const facts = await probeBytes(content, { ...deps, modality: input.modality });
  // The type that is sent is what the bytes are; what was declared counts only where they do not say.
  const url = toDataUri(facts.format === 'unknown' && mime !== '' ? mime : facts.mime, content);
  const sha256 = digestOf(content);
  const describe = `sha256:${sha256}`;
  const breaches = check(input, facts, named);
  if (!input.takes.base64) {
    const { message, facts: about } = fileNotTaken(input, named, 'Base64 data');
    breaches.unshift(`${message}: ${about.hint}`);
  }
  return { item: { kind: 'data', url, describe, sha256, facts, bytes: url.length }, breaches };
}

const digestOf = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

function check({ modality, limits }: MediaInput, facts: MediaFacts, named: string): string[] {
  const wrongKind = checkModality(facts, modality, named);
  // A page of HTML has no width: one sentence says what is wrong.
  return wrongKind.length > 0 ? wrongKind : checkMedia(facts, limits ?? {}, named);
}

interface SizeBreach {
  readonly message: string;
  readonly hint: string;
  /** More than one JSON text can hold here, whatever the gateway allows. */
  readonly unsendable: boolean;
}

/** A JavaScript string ends at 512 MB; half of it leaves room for the rest of the body. */
const MAX_SENDABLE_BYTES = 256 * MB;

/** Whether the media of a request are over the body's limit ("Limits"), and which of them is the largest. */
function bodySizeBreach(parts: readonly Planned[], maxBodyBytes: number | undefined): SizeBreach | undefined {
  const totalBytes = parts.reduce((sum, part) => sum + part.bodyBytes, 0);
  const unsendable = totalBytes > MAX_SENDABLE_BYTES;
  const limitBytes = unsendable ? Math.min(maxBodyBytes ?? Infinity, MAX_SENDABLE_BYTES) : maxBodyBytes;
  const [first, ...others] = parts;
  if (!first || limitBytes === undefined || totalBytes <= limitBytes) return undefined;
  const largest = others.reduce((most, part) => (part.bodyBytes > most.bodyBytes ? part : most), first);
  const total = `the media come to ${inMB(totalBytes)} in the request's body, over ${inMB(limitBytes)}`;
  return {
    message: `${largest.named}: ${total}; it is the largest, with ${inMB(largest.bodyBytes)} as Base64`,
    hint: 'give large files by URL or as a reference to what the gateway holds, or make them smaller',
    unsendable,
  };
}

/** What to say of a file that is not there: an ID and curl's @FILE are typed by habit. */
function hintIfMissing({ raw, takes }: MediaInput): string | undefined {
  const scheme = takes.schemes.find((each) => each !== 'file_id');
  if (scheme && /^[\w-]+$/.test(raw)) {
    const held = scheme === 'asset' ? 'an asset of the library' : 'a file of the gateway';
    return `${held} is written ${scheme}://${raw}`;
  }
  return raw.startsWith('@') ? `a media file is named without the @: ${raw.slice(1)}` : undefined;
}

/** The error for a file, or its data, where only addresses are taken (videos of family A: "Rules for content", 1). */
function fileNotTaken({ modality, takes }: MediaInput, named: string, form: string): GwError {
  const message = `${named}: is ${form}, and a ${modality} is sent here by address only (${formsTaken(takes)})`;
  if (!takes.schemes.includes('asset'))
    return usage(message, 'put the file where the gateway can fetch it and give its https:// URL');
  const type = `${modality.slice(0, 1).toUpperCase()}${modality.slice(1)}`;
  return usage(
    message,
    `put the file where the gateway can fetch it and give its https:// URL, or add that URL to the asset library (gw asset create --group ID --name NAME --type ${type} --url …) and give asset://ID; or let a command of yours do it: gw config set upload_command COMMAND`,
  );
}

/** The forms that a place takes, in words: `an https:// URL or asset://ID`. */
function formsTaken(takes: MediaInput['takes']): string {
  const forms = [
    ...(takes.base64 ? ['a file', 'a data: URI'] : []),
    ...(takes.url ? ['an https:// URL'] : []),
    ...takes.schemes.map((scheme) => (scheme === 'file_id' ? 'file_id:ID' : `${scheme}://ID`)),
  ];
  return forms.length > 1 ? `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}` : forms.join('');
}
