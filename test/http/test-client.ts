import * as z from 'zod/mini';
import type { Endpoint } from '../../src/gateway/endpoint.ts';
import { createClient, createRetryBudget } from '../../src/http/http-client.ts';
import { HttpTransport } from '../../src/http/transport.ts';
import type { Made } from '../../src/jobs/create/make.ts';
import { closing } from '../helpers/closing.ts';
import { scriptedClock } from './scripted-clock.ts';

export const KEY = 'sk-canary-0123456789';

/** A read with a path parameter, and a paid create; both answer an object with an ID. */
export const readEndpoint: Endpoint<{ id: string }> = {
  name: 'test.read',
  method: 'GET',
  path: '/v1/tasks/{task_id}',
  resend: 'read',
  reply: z.looseObject({ id: z.string() }),
};

export const paidEndpoint: Endpoint<{ id: string }> = {
  name: 'test.create',
  method: 'POST',
  path: '/v1/tasks',
  resend: 'paid',
  body: z.looseObject({}),
  reply: z.looseObject({ id: z.string() }),
  maxBodyBytes: 1000,
};

interface Settings {
  readonly retries?: number;
  readonly silenceMs?: number;
  readonly key?: string | undefined;
  readonly providerVersion?: string;
  readonly trace?: (line: string) => void;
  readonly random?: () => number;
  readonly awaiting?: (what: string) => () => void;
}

/** A client of a gateway on loopback, with scripted time and a fixed jitter of one half. */
export function testClient(baseUrl: string, settings: Settings = {}) {
  const clock = scriptedClock();
  const transport = closing(new HttpTransport({ proxies: undefined }));
  const key = 'key' in settings ? settings.key : KEY;
  const client = createClient({
    transport,
    gateway: { baseUrl, key, providerVersion: settings.providerVersion },
    retries: settings.retries ?? 4,
    silenceMs: settings.silenceMs ?? 5_000,
    connectMs: 5_000,
    clock,
    random: settings.random ?? (() => 0.5),
    budget: createRetryBudget(clock),
    trace: settings.trace,
    awaiting: settings.awaiting,
    userAgent: 'gw/test',
  });
  return { client, transport, clock };
}

export const read = { params: { task_id: 'task-1' } };
export const create = { body: { prompt: 'a fox' } };

/** The error with which a promise rejects; fails if the promise resolves. */
export async function errorOf<E = Error & { kind?: string; hint?: string; facts?: Record<string, unknown> }>(
  promise: Promise<unknown>,
): Promise<E> {
  const value = await promise.then(
    (done) => ({ done }),
    (error: E) => ({ error }),
  );
  if ('error' in value) return value.error;
  throw new Error(`expected a failure, got ${JSON.stringify(value.done)}`);
}

/** A job that was accepted, with its key. Throws the error of any other outcome. */
export function acceptedOr(made: Made) {
  if (made.kind !== 'accepted') throw made.error;
  return { ...made, key: made.job.key };
}
