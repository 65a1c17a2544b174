import type { Job } from './event.ts';
import type { Ledger } from './ledger.ts';

/** Finds a job for a word: by gw's own key, else the newest with that task ID; with `gateway` only there. */
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

/** The first job with a task's ID, if it is another: a task is one set of files, whatever creates it answered. */
export async function firstOfTask(
  { key, id, gateway }: Pick<Job, 'key' | 'gateway'> & { readonly id: string },
  ledger: Pick<Ledger, 'find'>,
): Promise<Job | undefined> {
  const jobs = await ledger.find({ ids: [id], gateway });
  const first = jobs.filter((job) => job.id === id).at(-1);
  return first?.key === key ? undefined : first;
}
