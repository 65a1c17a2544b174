import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import type { IntentEvent } from '../../src/ledger/event.ts';
import type { World } from '../helpers/gw.ts';
import { leftLedger } from '../ledger/fixtures.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Opens the ledger of a world, so that a test can add jobs that no command made. */
export const ledgerOf = (world: World) =>
  leftLedger({ dir: path.join(world.dir, '.local/state/gw'), clock: world.clock });

export function intentIn(world: World, changes: Partial<IntentEvent> = {}): IntentEvent {
  return {
    event: 'intent',
    family: 'alpha',
    endpoint: 'alpha.create',
    model: 'alpha-video-2-5-260628',
    prompt: 'a fox in the snow',
    settings: { resolution: '720p', duration: 5 },
    media: [],
    bodySha256: '0'.repeat(64),
    profile: 'default',
    gateway: world.sandbox.baseUrl,
    save: { target: `${world.cwd}/{id}.{ext}`, force: false, download: true },
    ...changes,
  };
}

/** Adds a job to the ledger that was accepted some time ago. */
export function acceptedJob(
  world: World,
  id: string,
  agoMs: number,
  changes: Partial<IntentEvent> = {},
): string {
  const ledger = ledgerOf(world);
  const nowMs = world.clock.ms;
  world.clock.ms = nowMs - agoMs;
  const key = ledger.begin(intentIn(world, changes));
  ledger.append(key, { event: 'sent' });
  ledger.append(key, { event: 'accepted', id, status: 'queued' });
  world.clock.ms = nowMs;
  return key;
}

/** Like `acceptedJob`, but the job has succeeded at once with this record. */
export function succeededJob(
  world: World,
  id: string,
  agoMs: number,
  changes: Partial<IntentEvent> = {},
  record: unknown = alphaRecord(id),
): string {
  const key = acceptedJob(world, id, agoMs, changes);
  const nowMs = world.clock.ms;
  world.clock.ms = nowMs - agoMs;
  ledgerOf(world).append(key, {
    event: 'final',
    state: 'succeeded',
    status: 'succeeded',
    record,
    serverDateMs: world.clock.ms,
  });
  world.clock.ms = nowMs;
  return key;
}

/** Like `succeededJob`, but its video is saved too. */
export function savedJob(
  world: World,
  id: string,
  agoMs: number,
  changes: Partial<IntentEvent> = {},
): string {
  const key = succeededJob(world, id, agoMs, changes);
  const file = { role: 'video', path: `${world.cwd}/${id}.mp4`, bytes: 3, sha256: '', type: 'video/mp4' };
  writeFileSync(file.path, id.slice(0, 3).padEnd(3));
  file.sha256 = createHash('sha256').update(readFileSync(file.path)).digest('hex');
  ledgerOf(world).append(key, { event: 'saved', ...file });
  return key;
}

export const alphaRecord = (id: string) => ({
  id,
  status: 'succeeded',
  duration: 5,
  usage: { total_tokens: 1000 },
  content: { video_url: `https://outputs.example/${id}` },
});
