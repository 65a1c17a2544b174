import { usage } from '../errors.ts';
import type { Modality } from '../gateway/limits.ts';
import type { Family } from '../gateway/task.ts';
import type { SavedOutputs } from '../jobs/save/saved.ts';
import type { Job } from '../ledger/event.ts';
import { taskOf } from '../ledger/settled.ts';
import { type OutputPart, partText } from '../media/reference.ts';

// The parts of a job: its outputs by kind, and the pictures that can be cut out of its videos.

interface JobPart {
  readonly part: OutputPart;
  /** The output itself, or the output that the part is cut from. */
  readonly role: string;
  readonly isCut: boolean;
}

/** The part that a flag uses if none is named. */
const defaultPart = (modality: Modality, isVideoJob: boolean): OutputPart => ({
  name: modality === 'image' && isVideoJob ? 'last_frame' : modality,
  at: 1,
});

/** The parts of a finished job; parts without a watermark come first. */
export function partsOf(job: Job, family: Family | undefined, { files, missing }: SavedOutputs): JobPart[] {
  const task = taskOf(job, family);
  const named = [...(task?.outputs.map(({ role }) => role) ?? []), ...(task?.cameAlong ?? [])];
  const known = [...files, ...missing].map(({ role }) => role);
  const roles = [...new Set([...named, ...known])].sort(
    (a, b) => Number(a.endsWith('watermarked')) - Number(b.endsWith('watermarked')),
  );
  const kindOf = (role: string): string | undefined => {
    const type = task?.outputs.find((output) => output.role === role)?.type ?? 'any';
    return type === 'any' ? files.find((file) => file.role === role)?.type.split('/')[0] : type;
  };
  const counts = new Map<string, number>();
  const numbered = (name: OutputPart['name'], role: string, isCut = false): JobPart => {
    const at = (counts.get(name) ?? 0) + 1;
    counts.set(name, at);
    return { part: { name, at }, role, isCut };
  };
  const own = roles.flatMap((role) => {
    if (role === 'last-frame') return [numbered('last_frame', role)];
    const kind = kindOf(role) ?? (job.family === 'image' ? 'image' : undefined);
    return kind === 'video' || kind === 'image' || kind === 'audio' ? [numbered(kind, role)] : [];
  });
  const videos = own.filter(({ part }) => part.name === 'video');
  const hasLast = own.some(({ part }) => part.name === 'last_frame');
  return [
    ...own,
    ...videos.map(({ role }) => numbered('first_frame', role, true)),
    ...videos.slice(hasLast ? 1 : 0).map(({ role }) => numbered('last_frame', role, true)),
  ];
}

/** The requested part. Throws `usage` with the existing parts if the job lacks it or the flag does not accept it. */
export function choosePart(
  parts: readonly JobPart[],
  part: OutputPart | undefined,
  modality: Modality,
  what: { readonly named: string; readonly job: string },
): JobPart {
  const isVideoJob = parts.some((each) => each.part.name === 'video');
  const wanted = part ?? defaultPart(modality, isVideoJob);
  const found = parts.find((each) => each.part.name === wanted.name && each.part.at === wanted.at);
  const there = parts.map((each) => partText(each.part)).join(', ');
  if (!found)
    throw usage(
      `${what.named}: ${what.job} has no ${partText(wanted)}`,
      there === '' ? 'it has made no file' : `its parts are ${there}`,
    );
  refuseKind(found.part, modality, what.named, `its parts are ${there}`);
  return found;
}

/** Throws `usage` if the part is of a kind that the flag does not accept. */
export function refuseKind(part: OutputPart, modality: Modality, named: string, hint: string): void {
  const kind = part.name.endsWith('_frame') ? 'image' : part.name;
  if (kind === modality) return;
  const word = (each: string) => `${/^[aeiou]/.test(each) ? 'an' : 'a'} ${each}`;
  const what = kind === part.name ? 'is' : `${partText(part)} is`;
  throw usage(`${named}: ${what} ${word(kind)}, and ${word(modality)} is taken here`, hint);
}
