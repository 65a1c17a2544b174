import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { readRegular } from '../../disk/small-file.ts';
import type { Family, TaskView } from '../../gateway/task.ts';
import { quietly } from '../../host.ts';
import type { IntentEvent, Job, KeptRequest } from '../../ledger/event.ts';
import { trimRequest } from '../../ledger/serialize.ts';
import { taskOf } from '../../ledger/settled.ts';
import { usageOf } from '../job-view.ts';
import { isThere } from './disk-ways.ts';
import { besideOf } from './output-path.ts';
import type { Whole } from './take-name.ts';

/** The facts about a job when its outputs are saved. */
type SidecarJob = Pick<Job, 'family' | 'model' | 'prompt' | 'settings' | 'createdAtMs' | 'save'> & {
  readonly id: string;
  readonly references?: IntentEvent['references'];
  readonly request?: KeptRequest | undefined;
};

/**
 * Makes the text of the file beside an output (`--sidecar`) from its SHA-256; undefined if none is wanted. It holds no
 * link, no API key and no data of a reference.
 */
export function sidecarOf(
  job: SidecarJob,
  view: Pick<TaskView, 'made' | 'usage'> | undefined,
): ((sha256: string) => string) | undefined {
  const { family, id, model, prompt, settings, references = [], request, createdAtMs, save } = job;
  if (save.sidecar === undefined) return undefined;
  const isLink = (value: unknown) => typeof value === 'string' && /^https?:\/\//i.test(value);
  const facts = {
    family,
    id,
    model: model ?? null,
    prompt: prompt ?? null,
    ...(view?.made?.revisedPrompt !== undefined && { revised_prompt: view.made.revisedPrompt }),
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => !isLink(value))),
    references: references.map(({ name, sha256 }) => ({
      name: isLink(name) ? path.posix.basename(name) : name,
      ...(sha256 !== undefined && { sha256 }),
    })),
    seed: view?.made?.seed ?? settings.seed ?? null,
    usage: usageOf(view?.usage),
    created_at: new Date(createdAtMs).toISOString(),
    request: request && portableRequest(request),
  };
  return (sha256) => `${JSON.stringify({ ...facts, sha256, gw: save.sidecar }, undefined, 2)}\n`;
}

/** Like {@link sidecarOf}, for a job in the ledger; `save` is where its outputs go this time. */
export const sidecarOfJob = (job: Job, family: Family | undefined, save = job.save) =>
  sidecarOf({ ...job, id: job.id ?? job.key, save }, taskOf(job, family));

/**
 * What `gw again` needs to repeat the request on another machine, as a batch row: without links, with each file by its
 * name relative to their common folder. A callback URL belongs to one machine and is left out.
 */
function portableRequest(request: KeptRequest): KeptRequest {
  const { callbackUrl: _, ...flags } = request.flags;
  const names = shortNames(Object.keys(request.files));
  const portable = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(portable);
    if (isShot(value)) return `${value.seconds}:${value.words}`;
    if (typeof value !== 'string') return value;
    const [, id = '', file = value] = /^([\p{L}\p{N}_-]{1,64}=)?([\s\S]*)$/u.exec(value) ?? [];
    return id + (names.get(file) ?? file);
  };
  const isPortable = (value: unknown) =>
    !/"(?:[^"=]{1,64}=)?(?:\/|[a-z]:\\)|\b(?:data:|https?:)/i.test(JSON.stringify(value));
  const { files, ...rest } = trimRequest(
    {
      ...request,
      flags: Object.fromEntries(Object.entries(flags).map(([key, value]) => [key, portable(value)])),
    },
    true,
    isPortable,
  );
  const entries = Object.entries(files).map(([file, sha256]) => [names.get(file), sha256]);
  return { ...rest, files: Object.fromEntries(entries) };
}

const isShot = (value: unknown): value is { readonly seconds: string; readonly words: string } =>
  typeof value === 'object' && value !== null && 'seconds' in value && 'words' in value;

/** The file names relative to the deepest folder that holds all of them, by absolute path. */
function shortNames(files: readonly string[]): ReadonlyMap<string, string> {
  const isBelow = (file: string, dir: string) => path.relative(dir, file).split(path.sep)[0] !== '..';
  let [dir = ''] = files.map((file) => path.dirname(file));
  while (!files.every((file) => isBelow(file, dir))) dir = path.dirname(dir);
  return new Map(files.map((file) => [file, path.relative(dir, file).split(path.sep).join('/')]));
}

/** The result of writing the file beside an output: made, already there for this output, or the name is taken. */
export type Beside = 'made' | 'same' | 'taken';

/** The text for the file beside an output, and the free name under which it is written first. */
interface BesideText {
  readonly text: string;
  readonly mode: number;
  readonly trial: string;
}

/** Writes the file beside an output atomically; `take` says whether the name was free. Throws the disk's error. */
export async function writeBeside(
  output: string,
  { text, mode, trial }: BesideText,
  take: (whole: Whole, to: string) => Promise<boolean>,
): Promise<Beside> {
  const file = besideOf(output);
  if (fs.lstatSync(file, { throwIfNoEntry: false })) {
    // An earlier, killed run wrote it, and may have known more about the job.
    const [there, ours] = [textOf(file), text].map(sidecarIn);
    return ours && there && ours.id === there.id && ours.sha256 === there.sha256 ? 'same' : 'taken';
  }
  writeTrial({ text, mode, trial });
  try {
    const sha256 = createHash('sha256').update(text).digest('hex');
    return (await take({ path: trial, sha256, mode }, file)) ? 'made' : 'taken';
  } finally {
    fs.rmSync(trial, { force: true });
  }
}

/** Writes the file beside an output atomically, over a file that is there (`--force`). Throws the disk's error. */
export function replaceBeside(output: string, beside: BesideText): void {
  writeTrial(beside);
  try {
    fs.renameSync(beside.trial, besideOf(output));
  } finally {
    fs.rmSync(beside.trial, { force: true });
  }
}

/** Removes the sidecar of an output that --force replaced, unless it tells of the new bytes. Throws the disk's error. */
export function removeBeside(output: string, sha256: string): void {
  const old = sidecarIn(textOf(besideOf(output)));
  if (old && old.sha256 !== sha256) fs.rmSync(besideOf(output), { force: true });
}

/** True if --force may write the file beside an output: there is none, or it is a sidecar. */
export const isReplaceable = (output: string): boolean =>
  !quietly(() => isThere(besideOf(output))) || sidecarIn(textOf(besideOf(output))) !== undefined;

/** The facts in a text that gw wrote beside an output; undefined for any other text. */
function sidecarIn(text: string | undefined): Record<string, unknown> | undefined {
  const facts = quietly(() => JSON.parse(text ?? '') as Record<string, unknown> | null);
  return typeof facts?.gw === 'string' && typeof facts.sha256 === 'string' ? facts : undefined;
}

/** No sidecar is this large. */
const MAX_BYTES = 1 << 20;

const textOf = (file: string): string | undefined =>
  quietly(() => (fs.lstatSync(file).isFile() ? readRegular(file, MAX_BYTES).toString() : undefined));

function writeTrial({ text, mode, trial }: BesideText): void {
  const fd = fs.openSync(trial, 'wx', 0o600);
  try {
    fs.writeFileSync(fd, text);
    // A disk that stores no permissions still stores the text.
    quietly(() => fs.fchmodSync(fd, mode));
    fs.fsyncSync(fd);
  } catch (error) {
    fs.rmSync(trial, { force: true });
    throw error;
  } finally {
    fs.closeSync(fd);
  }
}
