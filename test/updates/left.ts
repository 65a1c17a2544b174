import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Redis } from 'ioredis';
import { World } from '../helpers/gw.ts';

// What earlier versions left behind (leave.js makes it), put into a home and a Redis of a test.

type Rows = readonly (readonly [string, readonly string[]])[];
type RedisValue = string | Readonly<Record<string, string>> | readonly string[] | Rows;

export interface Left {
  /** The commit that left it. */
  readonly version: string;
  /** When it did, Unix milliseconds. */
  readonly atMs: number;
  /** gw's key of the job whose output was fetched by half. */
  readonly half: string;
  /** What that version said of it. */
  readonly answers: readonly { readonly argv: readonly string[]; readonly answer: unknown }[];
  /** Lines, or bytes, by their paths below the home. */
  readonly files: Readonly<Record<string, readonly string[] | { readonly base64: string }>>;
  readonly redis: readonly { readonly key: string; readonly type: string; readonly value: RedisValue }[];
}

/** What each version left that has a fixture; a change of a format adds one. */
export const lefts: readonly Left[] = fs
  .readdirSync(import.meta.dirname)
  .filter((name) => /^left-by-.*\.json$/.test(name))
  .map((name) => JSON.parse(fs.readFileSync(path.join(import.meta.dirname, name), 'utf8')) as Left);

/** States of a ledger that were listed in its own words once, as they are listed now, in JSON or in JSON that a text holds. */
export const asReadNow = (json: string): string =>
  json.replace(
    /(?<="status\\?":\\?")(lost|intent|sent)(?=\\?")/g,
    (word) => readsNow[word as keyof typeof readsNow],
  );
const readsNow = { lost: 'failed', intent: 'not_sent', sent: 'unknown' } as const;

/** The same with the home that it was planted in. */
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

/** A world with the home that a version left, a minute later; `ticks`: beside a real Redis time passes by itself, ten times as fast. */
export async function openHome(left: Left, { ticks = false } = {}): Promise<World> {
  const world = await World.open();
  plantHome(left, world.dir);
  const startMs = left.atMs + 60_000;
  world.clock.ms = startMs;
  if (ticks) tickingClock(world, startMs, 10);
  return world;
}

/** Lets the time of a world pass by itself from `startMs` on, so many times as fast: beside a real Redis. */
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
