import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { readCertificates } from '../../config/certificates.ts';
import { readVariable } from '../../config/environment.ts';
import { type Context, gatewayName, originOfGateway } from '../../context.ts';
import { usage } from '../../errors.ts';
import { type AccountType, poolOf } from '../../gateway/limits.ts';
import { Engine, type Pool } from '../../machines/engine.ts';
import { digestOf } from '../../machines/row.ts';
import { connect, dangerOf, RowStore, withoutPassword } from '../../machines/store.ts';
import { placesOf } from '../batch/places.ts';

// What every command that works with a queue on Redis begins with.

/** An open queue: the rows, what gives them out, and the pools of the account. */
export interface OpenQueue {
  readonly store: RowStore;
  readonly engine: Engine;
  readonly account: AccountType;
  readonly pools: readonly Pool[];
  /** What this machine is called. */
  readonly host: string;
  /** The server, for messages. */
  readonly where: string;
  /** One more connection, for what blocks. */
  duplicate(): Redis;
  close(): Promise<void>;
}

/** The URL that --redis names, or GW_REDIS_URL where it has no value. Throws `usage`. */
export function redisUrl(typed: string, { host, io }: Pick<Context, 'host' | 'io'>): string {
  const said = typed === '' ? readVariable(host.env, 'GW_REDIS_URL') : typed;
  if (said === undefined) {
    throw usage('--redis: GW_REDIS_URL is not set', 'write --redis redis://HOST:6379, or set GW_REDIS_URL');
  }
  const name = typed === '' ? 'GW_REDIS_URL' : '--redis';
  const url = URL.canParse(said) ? new URL(said) : undefined;
  if (url?.password) io.hideSecret(decodeURIComponent(url.password));
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === '') {
    throw usage(
      `${name}: not the URL of a Redis server`,
      'write it as redis://HOST:6379 or rediss://:PASSWORD@HOST:6379; without a value, --redis stands last',
    );
  }
  return said;
}

/** Opens the queue of the gateway in force. Throws what `connect` throws; says once what endangers rows on this server. */
export async function openQueue(typed: string, ctx: Context, name?: string): Promise<OpenQueue> {
  const settings = await ctx.settings();
  const url = redisUrl(typed, ctx);
  const { ca } = await readCertificates({ cacert: settings.cacert.value }, ctx.host);
  const redis = await connect(url, { ca, timeoutMs: Math.min(settings.timeoutMs.value, FIRST_WAIT_MS) });
  const store = new RowStore(redis, digestOf(originOfGateway(gatewayName(settings)), 12));
  const engine = new Engine(store);
  const danger = await dangerOf(redis);
  if (danger !== undefined) ctx.io.warn(danger);
  const account = await engine.account(settings.account.value);
  if (account !== settings.account.value) {
    ctx.io.warn(
      `the queue was opened for a ${account} account, whose limits hold; here it is ${settings.account.value}`,
    );
  }
  const pools = poolsOf(account);
  await engine.limit(pools);
  return {
    ...{ store, engine, account, pools, host: name ?? hostname(), where: withoutPassword(url) },
    duplicate: () => {
      const copy = redis.duplicate();
      copy.on('error', () => {});
      return copy;
    },
    async close() {
      await engine.close();
      redis.disconnect();
    },
  };
}

/** Longest wait for the first connection. */
const FIRST_WAIT_MS = 10_000;

/** Every pool that a row can count in. */
function poolsOf(account: AccountType): Pool[] {
  const tasks = [
    { family: 'alpha', settings: {} },
    { family: 'alpha', settings: { resolution: '4k' } },
    ...['beta', 'gamma', 'image'].map((family) => ({ family, settings: {} })),
  ];
  return tasks.map((task) => {
    const { pool, atOnce } = placesOf(task, account);
    return { name: pool, atOnce };
  });
}

/** The rate of a pool, by its name. */
export const ratePoolOf = (pool: string, account: AccountType) =>
  poolOf(
    pool === 'alpha-4k'
      ? { family: 'alpha', settings: { resolution: '4k' } }
      : { family: pool, settings: {} },
    account,
  );
