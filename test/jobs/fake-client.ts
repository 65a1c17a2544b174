import { GwError } from '../../src/errors.ts';
import { alphaQuery } from '../../src/gateway/alpha/task.ts';
import type { Endpoint } from '../../src/gateway/endpoint.ts';
import type { Client, RequestInput, SendOptions } from '../../src/http/client.ts';
import type { VirtualClock } from '../helpers/virtual-clock.ts';

/** One look as the gateway received it. */
export interface Asked {
  readonly atMs: number;
  readonly ids: readonly string[];
}

export interface FakeTasks {
  readonly client: Client;
  readonly asked: Asked[];
}

/** A client without a network that answers looks from a function and records the time of each. */
export function fakeTasks(
  clock: VirtualClock,
  statusOf: (id: string, atMs: number) => string | undefined,
  options: {
    readonly fail?: (asked: Asked, send: SendOptions) => Promise<void> | void;
    latencyMs?: number;
  } = {},
): FakeTasks {
  const asked: Asked[] = [];
  const send = async (endpoint: Endpoint, input: RequestInput, sendOptions: SendOptions = {}) => {
    const ids =
      endpoint.name === alphaQuery.name
        ? [input.params?.task_id ?? '']
        : (input.query?.task_ids ?? '').split(',');
    const one = { atMs: clock.steady(), ids };
    asked.push(one);
    if (options.latencyMs) await clock.sleep(options.latencyMs, sendOptions.signal);
    await options.fail?.(one, sendOptions);
    const records = ids.flatMap((id) => {
      const status = statusOf(id, clock.steady());
      return status === undefined ? [] : [recordOf(id, status)];
    });
    if (endpoint.name === alphaQuery.name && records.length === 0) {
      throw new GwError('not_found', 'HTTP 404', { status: 404 });
    }
    const json = endpoint.name === alphaQuery.name ? records[0] : { code: 0, data: records };
    return {
      status: 200,
      headers: {},
      value: json,
      json,
      text: JSON.stringify(json),
      requestId: undefined,
      serverDateMs: undefined,
    };
  };
  return { client: { send, speed: () => 1 } as unknown as Client, asked };
}

/** A record that is valid in family A and in family B. */
function recordOf(id: string, status: string) {
  const url = `https://out.example/${id}.mp4`;
  const isDone = status === 'succeeded';
  return {
    id,
    status,
    ...(isDone && { content: { video_url: url }, outputs: [{ type: 'video', id: 'v', url, duration: '5' }] }),
  };
}

/** The highest number of requests within any 60 s. */
export function mostInAMinute(asked: readonly Asked[]): number {
  let most = 0;
  let first = 0;
  for (const [at, { atMs }] of asked.entries()) {
    while ((asked[first]?.atMs ?? 0) <= atMs - 60_000) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
}
