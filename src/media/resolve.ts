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

/** A reference as typed, and the forms that its place in the body accepts. */
export interface MediaInput {
  readonly raw: string;
  /** The flag in messages: `--image`. */
  readonly flag: string;
  readonly modality: Modality;
  readonly takes: {
    readonly url: boolean;
    readonly base64: boolean;
    readonly schemes: readonly ReferenceScheme[];
  };
  readonly limits?: MediaLimits | undefined;
  /** The output that a reference to a job means. */
  readonly output?: FoundOutput | undefined;
}

export interface FoundOutput {
  /** Its name in messages and in the ledger: `job:ID#PART`. */
  readonly label: string;
  /** The words of the reference, which a `--once` key compares. */
  readonly asked: string;
  /** Its file, or the frame cut from it; absent if it does not exist yet, or if nothing more is sent. */
  readonly file?: string | undefined;
  readonly sha256?: string | undefined;
  /** If the endpoint takes only URLs: looks up and counts the output's link when it is called. */
  readonly link?: (() => Promise<string>) | undefined;
}

/** The reference to use: for a found output, the file that it was saved as. */
export const referenceOf = ({ raw, flag, output }: MediaInput): Reference =>
  output === undefined ? parseReference(raw, flag) : outputAs(output);

const outputAs = ({ file, label }: FoundOutput): Reference =>
  file === undefined ? { kind: 'url', url: standInFor(label) } : { kind: 'file', path: file };

/** Replaces the URL of an output in a body that is only checked. */
export const standInFor = (label: string): string => `https://output.invalid/${encodeURIComponent(label)}`;

/** An output as a shown body names it; the link itself is never shown. */
export const shownAs = ({ label, sha256 }: FoundOutput): string =>
  sha256 === undefined ? label : `${label} sha256:${sha256}`;

/** A reference that is ready for the body. */
interface ResolvedMedia {
  readonly kind: Reference['kind'];
  /** The value that is sent: the URL, `asset://ID`, `file_id:ID`, or the file as a data URI. */
  readonly url: string;
  /** For the ledger and for people: a file's name, a URL without its query, or a digest; never the data. */
  readonly describe: string;
  /** Digest of the bytes of a file or a data URI. */
  readonly sha256?: string | undefined;
  /** Known only for files and data URIs. */
  readonly facts?: MediaFacts | undefined;
  /** The size of `url` in the body, in bytes. */
  readonly bytes: number;
}

export interface ResolveOptions {
  /** The endpoint's `maxBodyBytes`. */
  readonly maxBodyBytes?: number | undefined;
  /** A better hint than the default for media that are too large together, if there is one. */
  readonly hintIfTooLarge?: string | undefined;
  /** Maximum total duration of all videos, and of all audio, in seconds. */
  readonly totalS?: number | undefined;
  /** False with --no-validate: a body over the limit is then read anyway and reported as a breach. True by default. */
  readonly validate?: boolean | undefined;
}

export interface ResolveDeps {
  /** The directory that relative paths start from. */
  readonly cwd: string;
  /** The directory of the files that are shipped with gw. */
  readonly assetsDir: string;
  readonly signal?: AbortSignal | undefined;
  /** Timeout for reading a file's facts; five seconds by default. */
  readonly deadlineMs?: number | undefined;
}

type ReadDeps = ResolveDeps & Pick<ProbeOptions, 'readsTracks'>;

/** A parsed reference with its size in the body, before its content is read. */
interface Planned {
  readonly input: MediaInput;
  readonly reference: Reference;
  /** Its name in messages: `--image photo.png`. */
  readonly named: string;
  readonly bodyBytes: number;
}

interface Outcome {
  readonly item: ResolvedMedia;
  readonly breaches: readonly string[];
}

/**
 * Turns typed references into values for the body, in the same order. It first checks all of them without reading, so
 * that a body that is too large costs nothing; then it reads, probes and checks each. Throws `usage` for a reference
 * that cannot be sent at all: malformed, a missing or changing file, or a file where only URLs are accepted. Breaches
 * of documented limits are returned as sentences: usage errors, or warnings with --no-validate.
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
 * Resolves the media after a file whose tracks timed out, without reading tracks: each could cost a timeout, and the
 * user has to fix the first file anyway.
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
      // No URL field can hold a file_id, so it could not be sent even unchecked.
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
  // The type of the bytes is sent; the declared type counts only if the bytes do not tell.
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
  // A file of the wrong kind, such as an HTML page, needs only one sentence.
  return wrongKind.length > 0 ? wrongKind : checkMedia(facts, limits ?? {}, named);
}

interface SizeBreach {
  readonly message: string;
  readonly hint: string;
  /** True if the body is larger than JSON text can be here, whatever the gateway allows. */
  readonly unsendable: boolean;
}

/** A JavaScript string holds at most 512 MB; half of that leaves room for the rest of the body. */
const MAX_SENDABLE_BYTES = 256 * MB;

/** The breach if the media of a request exceed the body's limit ("Limits"); it names the largest one. */
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

/** A hint for a missing file: users may have typed a bare ID, or curl's @FILE. */
function hintIfMissing({ raw, takes }: MediaInput): string | undefined {
  const scheme = takes.schemes.find((each) => each !== 'file_id');
  if (scheme && /^[\w-]+$/.test(raw)) {
    const held = scheme === 'asset' ? 'an asset of the library' : 'a file of the gateway';
    return `${held} is written ${scheme}://${raw}`;
  }
  return raw.startsWith('@') ? `a media file is named without the @: ${raw.slice(1)}` : undefined;
}

/** The error for a file or data where only URLs are accepted (videos of family A: "Rules for content", 1). */
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

/** The accepted forms in words: `an https:// URL or asset://ID`. */
function formsTaken(takes: MediaInput['takes']): string {
  const forms = [
    ...(takes.base64 ? ['a file', 'a data: URI'] : []),
    ...(takes.url ? ['an https:// URL'] : []),
    ...takes.schemes.map((scheme) => (scheme === 'file_id' ? 'file_id:ID' : `${scheme}://ID`)),
  ];
  return forms.length > 1 ? `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}` : forms.join('');
}
