import * as fs from 'node:fs';
import * as path from 'node:path';
import * as z from 'zod/mini';
import type { Endpoint } from '../../../src/gateway/endpoint.ts';
import type { Came } from '../../../src/jobs/create/make.ts';
import { createImages, type ImageRequest } from '../../../src/jobs/image/create-images.ts';
import { Claims } from '../../../src/jobs/save/claims.ts';
import type { JobDeps } from '../../../src/jobs/watch/follow.ts';
import type { Job } from '../../../src/ledger/event.ts';
import { openLedger } from '../../../src/ledger/open-ledger.ts';
import { type FaultServerOptions, type Step, startFaultServer } from '../../helpers/fault-server.ts';
import { newDir } from '../../helpers/new-dir.ts';
import { testClient } from '../../http/test-client.ts';
import { noise } from '../save/tiny-media.ts';

export const generate: Endpoint = {
  name: 'image.generate',
  method: 'POST',
  path: '/v1/images/generations',
  resend: 'paid',
  reply: z.looseObject({}),
};

/** Bytes that begin and end as a PNG does. */
export const fakePng = (length: number, seed = 1): Buffer =>
  Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    noise(Math.max(0, length - 20), seed),
    Buffer.from('0000000049454e44ae426082', 'hex'),
  ]);

export async function serve(steps: readonly Step[], more: Partial<FaultServerOptions> = {}) {
  const server = await startFaultServer({ steps, ...more });
  return server;
}

export interface World {
  readonly dir: string;
  readonly deps: JobDeps;
  readonly shown: string[];
  readonly warnings: string[];
  readonly abort: AbortController;
  request(changes?: Partial<ImageRequest>): ImageRequest;
  /** Resolves with the images that arrived; throws the error if none did. */
  create(changes?: Partial<ImageRequest>): Promise<Came & { readonly id: string; readonly error?: unknown }>;
  /** The one job of the ledger. */
  job(): Promise<Job>;
  /** Lists the working directory, including hidden files. */
  listing(): string[];
}

/** A working directory, a ledger and a client of a gateway on loopback. */
export function world(baseUrl: string, settings: { silenceMs?: number } = {}): World {
  const dir = newDir();
  const work = path.join(dir, 'work');
  fs.mkdirSync(work);
  const silenceMs = settings.silenceMs ?? 5_000;
  const { client, transport, clock } = testClient(baseUrl, { silenceMs });
  const ledger = openLedger({ dir: path.join(dir, 'state'), clock, keepPrompts: true });
  const shown: string[] = [];
  const warnings: string[] = [];
  const abort = new AbortController();
  const deps: JobDeps = {
    client,
    transport,
    ledger,
    clock,
    random: () => 0.5,
    signal: abort.signal,
    silenceMs,
    claims: new Claims(ledger, clock.now()),
    warn: (text) => warnings.push(text),
    note: (text) => shown.push(text),
    progress: {
      task: ({ status }) => shown.push(status),
      download: () => {},
      line: (text) => shown.push(text),
      stop: () => {},
    },
  };
  const request = (changes: Partial<ImageRequest> = {}): ImageRequest => ({
    endpoint: generate,
    input: { body: { model: 'img-2', prompt: 'a fox' } },
    streams: false,
    outputsExpected: 1,
    partialsExpected: 0,
    keepPartials: false,
    intent: {
      event: 'intent',
      family: 'image',
      endpoint: 'image.generate',
      model: 'img-2',
      prompt: 'a fox',
      settings: {},
      media: [],
      bodySha256: '0'.repeat(64),
      profile: 'default',
      gateway: baseUrl,
      save: { target: path.join(work, 'fox.png'), force: false, download: true },
    },
    ...changes,
  });
  return {
    dir: work,
    deps,
    shown,
    warnings,
    abort,
    request,
    async create(changes) {
      const made = await createImages(request(changes), deps);
      if (!('came' in made)) throw made.kind === 'accepted' ? new Error('an image has no task') : made.error;
      const { came, job, error } = made;
      return { ...came, id: job.key, ...(error !== undefined && { error }) };
    },
    async job() {
      const jobs = await ledger.find();
      if (jobs.length !== 1 || !jobs[0]) throw new Error(`expected one job, got ${jobs.length}`);
      return jobs[0];
    },
    listing: () => fs.readdirSync(work).sort(),
  };
}

/** A save plan for this name or directory in the world's working directory. */
export const saveTo = (world: World, name: string): Partial<ImageRequest> => {
  const { intent } = world.request();
  return { intent: { ...intent, save: { ...intent.save, target: path.join(world.dir, name) } } };
};
