import * as path from 'node:path';
import { expect } from 'vitest';
import type { TaskFamily } from '../../src/gateway/task.ts';
import { isOpen } from '../../src/jobs/watch/sync.ts';
import type { Job } from '../../src/ledger/event.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { creates, type Ended, type Place, sha256, sha256Of, syncAll } from './place.ts';

/** A place with a sandbox in this process. */
export type World = Place & { readonly sandbox: Sandbox };

/** True if no task exists. gw queries family B again only when the job is a minute old, and no test waits that long. */
const isAbsentAndYoung = (job: Job, { sandbox }: World): boolean =>
  job.id === undefined && job.externalId !== undefined && sandbox.tasks().length === 0;

/** Checks what must hold after a kill at any moment of one create and the syncs after it; returns the job's state. */
export async function expectMended(
  place: World,
  family: TaskFamily,
  killed: Ended,
  when: string,
): Promise<string | undefined> {
  const isOver = (job: Job) => !isOpen(job, family, Date.now()) || isAbsentAndYoung(job, place);
  const printed = killed.out + killed.err + (await syncAll(place, isOver));
  const jobs = await place.jobs();
  const tasks = place.sandbox.tasks();
  expect(tasks.length, `${when}: paid at most once`).toBeLessThanOrEqual(1);
  expect(creates(place.sandbox).length, `${when}: sent at most once`).toBeLessThanOrEqual(1);
  expect(jobs.length, `${when}: one job at most`).toBeLessThanOrEqual(1);
  const [job] = jobs;
  const [task] = tasks;
  if (creates(place.sandbox).length > 0) expect(job, `${when}: sent without an intent`).toBeDefined();
  if (task && family.externalIds) expect(job?.id, `${when}: paid, and found again`).toBe(task.id);
  if (task && job?.id === undefined) {
    expect(job?.state, `${when}: paid without an answer`).toBe('unknown');
    expect(printed, `${when}: an ID was shown that is not recorded`).not.toContain(task.id);
  }
  for (const [id] of printed.matchAll(/v[tbc]-\d{14}-[0-9a-f]{20}/g))
    expect(job?.id, `${when}: a printed ID`).toBe(id);
  if (job?.id === undefined) return job?.state;
  expect(job.id).toBe(task?.id);
  expect(job, when).toMatchObject({ state: 'succeeded', files: [{ role: 'video' }] });
  const [output] = family.readTask(job.record, job.id).outputs;
  const served = await fetch(output?.url ?? '');
  const file = job.files[0]?.path ?? '';
  expect(sha256Of(file), `${when}: bytes`).toBe(sha256(Buffer.from(await served.arrayBuffer())));
  expect(job.files[0]?.sha256).toBe(sha256Of(file));
  expect(place.files(), `${when}: nothing but the file`).toEqual([path.basename(file)]);
  return job.state;
}
