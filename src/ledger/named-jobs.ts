import type { Job } from './event.ts';
import type { Ledger } from './ledger.ts';

/**
 * Of jobs that were found by `ids`, tells the one that a word names: by gw's own key, else the newest of that task ID; with
 * `gateway` only of that gateway.
 */
export function jobsByName(
  jobs: readonly Job[],
  gateway?: string | undefined,
): (idOrKey: string) => Job | undefined {
  const byKey = new Map(jobs.map((job) => [job.key, job]));
  const byId = new Map<string, Job>();
  for (const job of jobs) {
    if (job.id === undefined || byId.has(job.id)) continue;
    if (gateway === undefined || job.gateway === gateway) byId.set(job.id, job);
  }
  return (idOrKey) => byKey.get(idOrKey) ?? byId.get(idOrKey);
}

/**
 * The first job that was given a task's ID, where that is another one: a task is one set of files, however many creates were
 * answered with it.
 */
export async function firstOfTask(
  { key, id, gateway }: Pick<Job, 'key' | 'gateway'> & { readonly id: string },
  ledger: Pick<Ledger, 'find'>,
): Promise<Job | undefined> {
  const jobs = await ledger.find({ ids: [id], gateway });
  const first = jobs.filter((job) => job.id === id).at(-1);
  return first?.key === key ? undefined : first;
}
