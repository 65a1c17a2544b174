import * as fs from 'node:fs';
import { loadTaskFamily } from '../../src/gateway/families.ts';
import type { Job, SavedFile } from '../../src/ledger/event.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { sha256, sha256Of } from '../cli/place.ts';

// The rows of a batch that the torture tests run, and what the gateway has of each. Row 7 asks for "fox number 7.".

export const kinds = [
  { command: 'video alpha', model: '2.0-fast', resolution: '480p', duration: 4 },
  { command: 'video beta', duration: 3 },
  { command: 'video gamma', model: 'gamma-H3-Max', resolution: '480P', duration: 5, ratio: '1:1' },
  { command: 'image create', model: 'img-2', size: '256x256' },
];

/** The number of creates of a row that the gateway accepted. */
export const takenOf = ({ requests }: Sandbox, row: number): number =>
  requests.filter(
    ({ server, method, path: to, body, status, acceptedTaskId }) =>
      server === 'api' &&
      method === 'POST' &&
      JSON.stringify(body ?? '').includes(`fox number ${row}.`) &&
      (acceptedTaskId !== undefined || (to.startsWith('/v1/images') && status === 200)),
  ).length;

/** True if a file holds what was recorded of it, and for a video also what the gateway serves. */
export async function isWhole(
  { path, sha256: recorded }: Pick<SavedFile, 'path' | 'sha256'>,
  job?: Job,
): Promise<boolean> {
  if (!fs.existsSync(path) || sha256Of(path) !== recorded) return false;
  if (!job || job.family === 'image') return true;
  const [output] = (await loadTaskFamily(job.family)).readTask(job.record, job.id ?? '').outputs;
  const served = await fetch(output?.url ?? '');
  return sha256(Buffer.from(await served.arrayBuffer())) === recorded;
}
