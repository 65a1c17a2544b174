import * as fs from 'node:fs';
import * as path from 'node:path';
import { errorCode } from '../../errors.ts';
import type { TaskView } from '../../gateway/task.ts';
import type { IntentEvent, Job } from '../../ledger/event.ts';
import { newPartName } from './output-path.ts';

/** What is known of a job when its outputs are saved. */
export type SidecarJob = Pick<Job, 'family' | 'model' | 'prompt' | 'settings' | 'createdAtMs' | 'save'> & {
  readonly id: string;
  readonly references?: IntentEvent['references'];
};

/**
 * The text of the file beside an output (`--sidecar`), from its SHA-256; undefined where none is asked for. It holds no
 * link, no key and no data of a reference.
 */
export function sidecarOf(
  job: SidecarJob,
  view: Pick<TaskView, 'made' | 'usage'> | undefined,
): ((sha256: string) => string) | undefined {
  const { family, id, model, prompt, settings, references = [], createdAtMs, save } = job;
  if (save.sidecar === undefined) return undefined;
  const isLink = (value: unknown) => typeof value === 'string' && /^https?:\/\//i.test(value);
  const { outputS, tokens, charges } = view?.usage ?? {};
  const facts = {
    family,
    id,
    model: model ?? null,
    prompt: prompt ?? null,
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => !isLink(value))),
    references: references.map(({ name, sha256 }) => ({
      name: isLink(name) ? path.posix.basename(name) : name,
      ...(sha256 !== undefined && { sha256 }),
    })),
    seed: view?.made?.seed ?? settings.seed ?? null,
    usage:
      outputS === undefined && tokens === undefined && charges === undefined
        ? null
        : { output_s: outputS ?? null, tokens: tokens ?? null, charges: charges ?? null },
    created_at: new Date(createdAtMs).toISOString(),
  };
  return (sha256) => `${JSON.stringify({ ...facts, sha256, gw: save.sidecar }, undefined, 2)}\n`;
}

/** The name of the file beside an output. */
export const besideOf = (output: string): string => `${output}.json`;

/** What came of writing the file beside an output: made, there already with this text, or the name is another file's. */
export type Beside = 'made' | 'same' | 'taken';

/** Puts the file beside an output, whole or not at all. `link` fails where a file stands. Throws what the disk says. */
export function writeBeside(
  output: string,
  text: string,
  mode: number,
  link: (from: string, to: string) => void,
): Beside {
  const file = besideOf(output);
  if (fs.lstatSync(file, { throwIfNoEntry: false })) return textOf(file) === text ? 'same' : 'taken';
  return throughTrial(file, text, mode, (trial) => {
    try {
      link(trial, file);
      return 'made';
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return 'taken';
      throw error;
    }
  });
}

/** Puts it in the place of one that gw wrote (`--force`). Throws what the disk says. */
export function replaceBeside(output: string, text: string, mode: number): void {
  const file = besideOf(output);
  throughTrial(file, text, mode, (trial) => fs.renameSync(trial, file));
}

/** Whether the file beside an output may be put there under --force: there is none, or it is a sidecar. */
export function isReplaceable(output: string): boolean {
  const there = fs.lstatSync(besideOf(output), { throwIfNoEntry: false });
  if (!there) return true;
  try {
    const { gw, sha256 } = JSON.parse(textOf(besideOf(output)) ?? '') as Record<string, unknown>;
    return typeof gw === 'string' && typeof sha256 === 'string';
  } catch {
    return false;
  }
}

/** Larger than any sidecar. */
const MAX_BYTES = 1 << 20;

function textOf(file: string): string | undefined {
  const there = fs.lstatSync(file, { throwIfNoEntry: false });
  return there?.isFile() && there.size <= MAX_BYTES ? fs.readFileSync(file, 'utf8') : undefined;
}

function throughTrial<T>(file: string, text: string, mode: number, publish: (trial: string) => T): T {
  const trial = path.join(path.dirname(file), newPartName());
  const fd = fs.openSync(trial, 'wx', 0o600);
  try {
    try {
      fs.writeFileSync(fd, text);
      fs.fchmodSync(fd, mode);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    return publish(trial);
  } finally {
    fs.rmSync(trial, { force: true });
  }
}
