import type { Job } from './event.ts';
import type { Ledger } from './ledger.ts';

/**
 * Returns a function that finds the job for a word among `jobs`: by gw's own key, else the newest with that task ID;
 * with `gateway` only jobs of that gateway.
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
 * The first job that got a task's ID, if it is a different job: a task is one set of files, even if several creates
 * were answered with it.
 */
export async function firstOfTask(
  { key, id, gateway }: Pick<Job, 'key' | 'gateway'> & { readonly id: string },
  ledger: Pick<Ledger, 'find'>,
): Promise<Job | undefined> {
  const jobs = await ledger.find({ ids: [id], gateway });
  const first = jobs.filter((job) => job.id === id).at(-1);
  return first?.key === key ? undefined : first;
}
