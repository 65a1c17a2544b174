import { hostname } from 'node:os';
import { digestOf } from '../../batch/rows.ts';
import { readCertificates } from '../../config/certificates.ts';
import { readVariable } from '../../config/environment.ts';
import type { Context } from '../../context.ts';
import { readSmallFile } from '../../disk/typed-input.ts';
import { shellQuote, usage, withoutPasswords } from '../../errors.ts';
import { type PooledTask, poolOf } from '../../gateway/limits.ts';
import { readTyped } from '../../io/ask.ts';
import { isLoopback } from '../../loopback.ts';
import { Board } from '../../machines/board.ts';
import type { RowReader } from '../../machines/decode.ts';
import { Door, dangerOf } from '../../machines/door.ts';
import { Engine } from '../../machines/engine.ts';
import { RowStore } from '../../machines/store.ts';
import { canAsk } from '../ask-first.ts';
import { familyOf, type Place, placeOf } from '../batch/places.ts';
import { creates } from '../batch/row-command.ts';
import { currentOrigin } from '../once.ts';

// Opens the queue on Redis for every command that uses it.

export type OpenQueue = Awaited<ReturnType<typeof openQueue>>;

export interface RedisWords {
  readonly redis?: string | undefined;
  readonly insecureRedis?: boolean | undefined;
}

/** The words as typed, without a password, for commands that are printed. */
export const redisTyped = ({ redis, insecureRedis }: RedisWords): string =>
  ['--redis', redis && shellQuote(withoutPasswords(redis)), insecureRedis && '--insecure-redis']
    .filter(Boolean)
    .join(' ');

/** A text from the queue, in which commands name the queue as it was typed here. */
export const withRedis = (text: string, words: RedisWords): string =>
  text.replace(/--redis(?=;|$)/g, () => redisTyped(words));

/**
 * The URL of --redis, or GW_REDIS_URL; asks for a password that gw has printed as `***`. Throws `usage` if the URL is
 * missing, or unencrypted to another machine.
 */
async function redisUrl(typed: string, insecureRedis: boolean | undefined, ctx: Context): Promise<string> {
  const { host, io } = ctx;
  const named = typed === '' ? readVariable(host.env, 'GW_REDIS_URL') : typed;
  const file = /^file:(?:\/\/)?(.+)$/s.exec(named ?? '')?.[1];
  // A password in a file does not show in the environment.
  const how = { named: `GW_REDIS_URL file:${file}`, maxBytes: 4_096 };
  const written = file === undefined ? named : readSmallFile(file, how).toString('utf8').trim();
  if (written === undefined)
    throw usage('--redis: GW_REDIS_URL is not set', 'write --redis redis://HOST:6379, or set GW_REDIS_URL');
  const name = typed === '' ? 'GW_REDIS_URL' : '--redis';
  const [, before, behind] = /^(rediss?:\/\/[^:@/]*:)\*\*\*(@.*)$/s.exec(written) ?? [];
  if (before !== undefined && !canAsk(ctx))
    throw usage(
      `${name}: *** stands in the place of the password`,
      'type the password there, or set GW_REDIS_URL',
    );
  const password = before && (await readTyped(host, 'Password of Redis: ', { echo: false }));
  const said = password === undefined ? written : `${before}${encodeURIComponent(password)}${behind}`;
  const url = URL.canParse(said) ? new URL(said) : undefined;
  if (url?.password) io.hideSecret(decodeURIComponent(url.password));
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
    throw usage(
      `${name}: not the URL of a Redis server`,
      'write it as redis://HOST:6379 or rediss://:PASSWORD@HOST:6379; without a value, --redis stands last',
    );
  if (url.protocol === 'redis:' && !isLoopback(url.hostname) && !insecureRedis)
    throw usage(
      `${name}: redis:// to ${url.hostname} is not encrypted: anyone on the way can read and change the rows`,
      'use rediss://, or allow it with --insecure-redis',
    );
  return said;
}

/**
 * Opens the queue of the current gateway. A run that hands rows over sets the account type whose limits apply; a command
 * that only reads changes nothing. Throws as `Door.open`; warns once of server settings that endanger rows.
 */
export async function openQueue(
  { redis = '', insecureRedis }: RedisWords,
  as: 'follower' | 'worker' | 'reader',
  ctx: Context,
  name: string = hostname(),
) {
  const settings = await ctx.settings();
  const url = await redisUrl(redis, insecureRedis, ctx);
  const { ca } = await readCertificates(settings, ctx.host);
  const timeoutMs = settings.timeoutMs.value;
  const patienceMs = { follower: timeoutMs, worker: Number.POSITIVE_INFINITY, reader: 0 }[as];
  const door = await Door.open(url, {
    ca,
    answerMs: timeoutMs,
    // After a signal a worker still has to report, so its connection ignores the signal.
    ...(as !== 'worker' && { signal: ctx.signal }),
  });
  try {
    const store = new RowStore(door, digestOf(await currentOrigin(ctx), 12), rowReader);
    const engine = new Engine(store);
    const danger = await dangerOf(door);
    if (danger !== undefined) ctx.io.warn(danger);
    const mine = settings.account.value;
    const account = await engine.agree(mine, as);
    if (account !== mine)
      ctx.io.warn(`the account of the queue is ${account}, and its limits hold; here it is set to ${mine}`);
    const pools: readonly Place[] = tasks.map((task) => placeOf(task, account));
    engine.pools = pools;
    if (as !== 'reader') await engine.limit();
    // The first connection fails at once; only later calls wait for Redis.
    door.patienceMs = patienceMs;
    return {
      store,
      engine,
      board: new Board(store),
      account,
      pools,
      /** The name of this machine. */
      host: name,
      async close(): Promise<void> {
        door.end();
        await engine.close();
      },
    };
  } catch (error) {
    door.end();
    throw error;
  }
}

const tasks: readonly PooledTask[] = [
  { family: 'alpha', settings: {} },
  { family: 'alpha', settings: { resolution: '4k' } },
  ...['beta', 'gamma', 'image'].map((family) => ({ family, settings: {} })),
];

export const rowReader: RowReader = {
  creates,
  poolsOf(command) {
    const family = familyOf(command);
    const own = tasks.filter((task) => task.family === family);
    return { family, pools: own.map((task) => poolOf(task, 'personal').name) };
  },
};
