import * as path from 'node:path';
import { shellQuote } from '../errors.ts';
import type { Related } from '../gallery/page.ts';
import type { Family } from '../gateway/task.ts';
import type { Job, SavedFile } from '../ledger/event.ts';
import { EMBEDDED } from '../ledger/job-key.ts';
import { type OutputPart, parseReference, partText } from '../media/reference.ts';
import { namesOutput } from './outputs.ts';
import { partsOf } from './parts.ts';

// The relations between outputs, for the page of outputs: sources and results, direct and indirect.

interface Output {
  readonly job: Job;
  readonly file: SavedFile;
}

/** For each output, the outputs that it was made from and those made from it. */
export function relatedOutputs(outputs: readonly Output[]) {
  const byJob = new Map<string, Output[]>();
  for (const output of outputs)
    for (const id of new Set([output.job.id, output.job.key]))
      if (id !== undefined) byJob.set(id, [...(byJob.get(id) ?? []), output]);
  const into = new Map<SavedFile, Output[]>();
  const sources = new Map<Job, { readonly name: string; readonly of: Output | undefined }[]>();
  for (const { job } of outputs) {
    if (sources.has(job)) continue;
    const found = (job.references ?? []).flatMap(({ name }) =>
      namesOutput(name) ? [sourceOf(name, byJob)] : [],
    );
    sources.set(job, found);
    const [first] = (byJob.get(job.key) ?? []).filter((each) => each.job === job);
    for (const { of } of found) if (of && first) into.set(of.file, [...(into.get(of.file) ?? []), first]);
  }
  return (job: Job, file: SavedFile, hrefOf: (file: string) => string) => {
    const linkTo = (of: SavedFile): Related => ({ name: path.basename(of.path), href: hrefOf(of.path) });
    return {
      from: (sources.get(job) ?? []).map(({ name, of }) => (of ? linkTo(of.file) : { name, href: null })),
      into: (into.get(file) ?? []).map(({ file: made }) => linkTo(made)),
    };
  };
}

/** The output that `job:ID#PART` names, if it is among the given ones. */
function sourceOf(name: string, byJob: ReadonlyMap<string, readonly Output[]>) {
  const reference = parseReference(name, 'a reference');
  const { which, part } = reference.kind === 'job' ? reference : { which: '', part: undefined };
  const outputs = byJob.get(which) ?? [];
  const kind = part?.name === 'image' || part?.name === 'audio' ? part.name : 'video';
  const own =
    part?.name === 'last_frame' ? outputs.find(({ file }) => file.role === 'last-frame') : undefined;
  const alike = outputs.filter(({ file }) => file.type.startsWith(kind));
  return { name, of: own ?? alike[(part?.at ?? 1) - 1] ?? outputs[0] };
}

/** The command line for a shot that begins at this output's end; null if it is neither picture nor video. */
export function nextShot(job: Job, made: Family | undefined, id: string, role: string): string | null {
  const { family, settings, gateway, profile } = job;
  const parts = partsOf(job, made, { files: job.files, missing: [] });
  const own = parts.find((each) => each.role === role && !each.isCut)?.part;
  if (!own || own.name === 'audio') return null;
  const frame: OutputPart = own.name === 'video' ? { name: 'last_frame', at: own.at } : own;
  const isMeant = frame.at === 1 && (family === 'image' || frame.name === 'last_frame');
  const shot = `job:${id}${isMeant ? '' : `#${partText(frame)}`}`;
  const flagOf = (name: string, usual: string) => [`--${name}`, `${settings[name] ?? usual}`];
  const flags: Readonly<Record<string, readonly string[]>> = {
    beta: ['--mode', 'o1'],
    // The other model of gamma may not take this resolution.
    gamma: [...flagOf('model', 'gamma-H3'), ...flagOf('resolution', '768P'), ...flagOf('duration', '5')],
  };
  const name = family === 'image' ? 'alpha' : family;
  const where = gateway === EMBEDDED ? ['--sandbox'] : ['--profile', profile];
  const words = ['video', name, 'create', 'what happens next', ...(flags[name] ?? [])];
  return ['gw', ...words, '--first-frame', shot, '--wait', ...where].map(shellQuote).join(' ');
}
