import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Redis } from 'ioredis';
import { World } from '../helpers/gw.ts';

// Puts what earlier versions left behind (made by leave.js) into the home and the Redis of a test.

type Rows = readonly (readonly [string, readonly string[]])[];
type RedisValue = string | Readonly<Record<string, string>> | readonly string[] | Rows;

export interface Left {
  /** The commit of the version that left it. */
  readonly version: string;
  /** The time when that version ended, in Unix milliseconds. */
  readonly atMs: number;
  /** gw's key of the job with a half-downloaded output. */
  readonly half: string;
  /** The output of that version about its own jobs. */
  readonly answers: readonly { readonly argv: readonly string[]; readonly answer: unknown }[];
  /** Lines or bytes by their path below the home. */
  readonly files: Readonly<Record<string, readonly string[] | { readonly base64: string }>>;
  readonly redis: readonly { readonly key: string; readonly type: string; readonly value: RedisValue }[];
}

/** The remains of each version that has a fixture. A change of a format adds a fixture. */
export const lefts: readonly Left[] = fs
  .readdirSync(import.meta.dirname)
  .filter((name) => /^left-by-.*\.json$/.test(name))
  .map((name) => JSON.parse(fs.readFileSync(path.join(import.meta.dirname, name), 'utf8')) as Left);

/** Replaces the former names of some job states by today's, in JSON or in JSON inside a string. */
export const asReadNow = (json: string): string =>
  json
    .replace(
      /(?<="status\\?":\\?")(lost|intent|sent)(?=\\?")/g,
      (word) => readsNow[word as keyof typeof readsNow],
    )
    .replace(/(?<="states":)\{[^{}]*\}/g, (states) => JSON.stringify(countedNow(JSON.parse(states))));
const readsNow = { lost: 'failed', intent: 'not_sent', sent: 'unknown' } as const;

/** Counts of states in which those of dead processes are counted as they are listed now. */
const countedNow = ({ intent = 0, sent = 0, ...rest }: Record<string, number>): Record<string, number> => ({
  ...rest,
  ...(intent && { not_sent: (rest.not_sent ?? 0) + intent }),
  ...(sent && { unknown: (rest.unknown ?? 0) + sent }),
});

/** Puts the path of the home in place of {HOME}. */
export const withHome = <T>(value: T, home: string): T =>
  JSON.parse(JSON.stringify(value).replaceAll('{HOME}', home)) as T;

/** Writes the files of a version into a home. */
function plantHome({ files }: Left, home: string): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const bytes =
      'base64' in content
        ? Buffer.from(content.base64, 'base64')
        : withHome(content as readonly string[], home).join('\n');
    fs.writeFileSync(file, bytes, { mode: 0o600 });
  }
}

/** The home that a version left, a minute later. With `ticks`, time runs ten times as fast, as tests with a real Redis need. */
export async function openHome(left: Left, { ticks = false } = {}): Promise<World> {
  const world = await World.open();
  plantHome(left, world.dir);
  const startMs = left.atMs + 60_000;
  world.clock.ms = startMs;
  if (ticks) tickingClock(world, startMs, 10);
  return world;
}

/** Lets the world's time run by itself from `startMs` on, `speed` times as fast, as tests with a real Redis need. */
export function tickingClock(world: World, startMs: number, speed: number): void {
  const startedAt = performance.now();
  const now = () => startMs + Math.round((performance.now() - startedAt) * speed);
  const sleep = async (ms: number, signal?: AbortSignal) => {
    const endMs = now() + ms;
    do {
      signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 5));
    } while (now() < endMs);
    signal?.throwIfAborted();
  };
  Object.assign(world.clock, { now, steady: () => now() - startMs, sleep });
}

/** Writes the keys of a version into an empty Redis. */
export async function plantRows({ redis: keys }: Left, redis: Redis): Promise<void> {
  for (const { key, type, value } of keys) {
    if (type === 'string') await redis.set(key, value as string);
    if (type === 'hash') await redis.hset(key, value as Record<string, string>);
    if (type === 'list') await redis.rpush(key, ...(value as string[]));
    if (type === 'set') await redis.sadd(key, ...(value as string[]));
    if (type === 'stream') for (const [id, fields] of value as Rows) await redis.xadd(key, id, ...fields);
    if (type === 'zset') {
      const pairs = value as string[];
      for (let at = 0; at < pairs.length; at += 2)
        await redis.zadd(key, pairs[at + 1] ?? '', pairs[at] ?? '');
    }
  }
}
