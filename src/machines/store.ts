import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { GwError, usage } from '../errors.ts';
import {
  type Changes,
  decode,
  encode,
  fenceOf,
  type LogEntry,
  type RowRecord,
  type RowState,
  type Step,
  steps,
} from './row.ts';

// Rows in Redis: each a hash, changed by one script that looks at who may and what may follow, and tells it in the row's
// log and in the batch's stream of events. Times are those of Redis, so that hosts need not agree on theirs.

/** Events that are kept for who follows; who was away longer reads the rows. */
const MAX_EVENTS = 10_000;
/** Rows that are read in one go. */
const READ_AT_ONCE = 500;

/**
 * KEYS: row, log, events. ARGV: take|own|free, fence, states it may follow (`,a,b,`), state after ('' as it was), fields as
 * JSON, log entry as JSON without its time, key, the step's own number. Returns ok, fenced, over (another state) or gone, and
 * after `take` the row. A step whose answer was lost with its connection is sent again: as long as the row stands where it
 * left it, it is answered as before.
 */
const stepScript = `
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return {'gone'} end
if redis.call('HGET', KEYS[1], 'step') == ARGV[8] then return {'ok', redis.call('HGETALL', KEYS[1])} end
local held = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
local fence = tonumber(ARGV[2])
if ARGV[1] == 'take' and fence <= held then return {'fenced'} end
if ARGV[1] == 'own' and fence ~= held then return {'fenced'} end
if not string.find(ARGV[3], ',' .. state .. ',', 1, true) then return {'over'} end
if ARGV[1] == 'take' then redis.call('HSET', KEYS[1], 'fence', ARGV[2]) end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'state', ARGV[4]) end
redis.call('HSET', KEYS[1], 'step', ARGV[8])
for name, value in pairs(cjson.decode(ARGV[5])) do redis.call('HSET', KEYS[1], name, value) end
local now = redis.call('TIME')
local t = string.format('%d%03d', now[1], math.floor(now[2] / 1000))
redis.call('RPUSH', KEYS[2], '{"t":' .. t .. ',' .. string.sub(ARGV[6], 2))
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ${MAX_EVENTS}, '*', 'key', ARGV[7], 'entry', ARGV[6])
if ARGV[1] == 'take' then return {'ok', redis.call('HGETALL', KEYS[1])} end
return {'ok'}
`;

/** KEYS: row, log. ARGV: fields as JSON, log entry. Returns 1 where the row is new. */
const handOverScript = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for name, value in pairs(cjson.decode(ARGV[1])) do redis.call('HSET', KEYS[1], name, value) end
local now = redis.call('TIME')
local t = string.format('%d%03d', now[1], math.floor(now[2] / 1000))
redis.call('RPUSH', KEYS[2], '{"t":' .. t .. ',' .. string.sub(ARGV[2], 2))
return 1
`;

interface Scripted {
  gwStep(...args: string[]): Promise<[string, string[]?]>;
  gwHandOver(...args: string[]): Promise<number>;
}

/** What came of a step: done; another has the row; it stands where the step may not follow; Redis does not know it. */
export type StepResult = 'ok' | 'fenced' | 'over' | 'gone';

/** Who makes a step. */
export interface Actor {
  readonly host: string;
  readonly fence?: number;
  readonly attempt?: number;
}

/** The rows of one account on one Redis. */
export class RowStore {
  readonly redis: Redis;
  /** What every key begins with. */
  readonly prefix: string;
  #awaySinceMs: number | undefined;

  /** `of` is a digest of the gateway's origin. */
  constructor(redis: Redis, of: string) {
    this.redis = redis;
    this.prefix = `gw:${of}`;
    redis.defineCommand('gwStep', { numberOfKeys: 3, lua: stepScript });
    redis.defineCommand('gwHandOver', { numberOfKeys: 2, lua: handOverScript });
    redis.on('ready', () => {
      this.#awaySinceMs = undefined;
    });
    redis.on('close', () => {
      this.#awaySinceMs ??= performance.now();
    });
  }

  /** For how long Redis has not been reached, in milliseconds; 0 while it is there. */
  awayMs(): number {
    return this.#awaySinceMs === undefined ? 0 : performance.now() - this.#awaySinceMs;
  }

  get #scripted(): Scripted {
    return this.redis as unknown as Scripted;
  }

  rowKey = (key: string): string => `${this.prefix}:row:${key}`;
  #logKey = (key: string): string => `${this.prefix}:log:${key}`;
  #eventsKey = (batch: string): string => `${this.prefix}:events:${batch}`;

  /** Puts a row in; false where it is there already. */
  async handOver(record: RowRecord, host: string): Promise<boolean> {
    const { key } = record.row;
    const entry = { step: 'handed_over', host };
    const fields = JSON.stringify({ ...encode(record), fence: '0' });
    return (
      (await this.#scripted.gwHandOver(
        this.rowKey(key),
        this.#logKey(key),
        fields,
        JSON.stringify(entry),
      )) === 1
    );
  }

  /** Forgets a row, so that it can be handed over anew. */
  async forget(key: string): Promise<void> {
    await this.redis.del(this.rowKey(key), this.#logKey(key));
  }

  /** One step of a row, durable in Redis when this returns; waits as long as Redis is away. */
  async step(key: string, step: Step, actor: Actor, changes: Changes = {}): Promise<StepResult> {
    const sender = step === 'sending' && { sender: actor.host };
    return (await this.#step(key, step, actor, { ...changes, ...sender })).result;
  }

  /** Takes a row; its record where it may be worked on. */
  async take(
    key: string,
    actor: Actor,
  ): Promise<{ readonly result: StepResult; readonly record?: RowRecord }> {
    const { result, fields } = await this.#step(key, 'taken', actor, { host: actor.host });
    const record = fields && decode(fields);
    return { result, ...(record && { record }) };
  }

  async #step(key: string, step: Step, { host, fence = 0, attempt }: Actor, changes: Changes) {
    const rule: { by: string; from: readonly RowState[]; to?: RowState } = steps[step];
    const entry = {
      ...{ step, host, attempt },
      ...(changes.id !== undefined && { id: changes.id }),
      ...(changes.error !== undefined && { message: changes.error.message }),
    };
    const [result, flat] = await this.#scripted.gwStep(
      this.rowKey(key),
      this.#logKey(key),
      this.#eventsKey(batchOf(key)),
      ...[rule.by, String(fence), `,${rule.from.join(',')},`, rule.to ?? ''],
      ...[JSON.stringify({ ...encode(changes), ...newRound(changes) }), JSON.stringify(entry), key],
      randomUUID(),
    );
    return { result: result as StepResult, fields: flat && pairsOf(flat) };
  }

  /** The records of rows, in their order. */
  async read(keys: readonly string[]): Promise<(RowRecord | undefined)[]> {
    const records: (RowRecord | undefined)[] = [];
    for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
      const pipeline = this.redis.pipeline();
      for (const key of keys.slice(at, at + READ_AT_ONCE)) pipeline.hgetall(this.rowKey(key));
      for (const [error, fields] of (await pipeline.exec()) ?? []) {
        if (error) throw error;
        records.push(decode(fields as Record<string, string>));
      }
    }
    return records;
  }

  async log(key: string): Promise<LogEntry[]> {
    const lines = await this.redis.lrange(this.#logKey(key), 0, -1);
    return lines.map((line) => JSON.parse(line) as LogEntry);
  }

  /** Where the stream of a batch ends now. */
  async lastEvent(batch: string): Promise<string> {
    const [last] = await this.redis.xrevrange(this.#eventsKey(batch), '+', '-', 'COUNT', 1);
    return last?.[0] ?? '0-0';
  }

  /** Steps of a batch's rows after `since`, waiting up to `blockMs` for one on a connection of its own. */
  async events(
    connection: Redis,
    batch: string,
    since: string,
    blockMs: number,
  ): Promise<{ readonly at: string; readonly key: string; readonly entry: Omit<LogEntry, 't'> }[]> {
    const read = await connection.xread(
      ...(['COUNT', 1000, 'BLOCK', blockMs, 'STREAMS', this.#eventsKey(batch), since] as const),
    );
    return (read?.[0]?.[1] ?? []).map(([at, flat]) => {
      const { key = '', entry = '{}' } = pairsOf(flat);
      return { at, key, entry: JSON.parse(entry) as Omit<LogEntry, 't'> };
    });
  }
}

/** Who took a row in an earlier round has no say in this one. */
const newRound = ({ round }: Changes) => round !== undefined && { fence: String(fenceOf(round, 'task', 0)) };

/** `NAME/id` -> NAME; a name holds no slash. */
export const batchOf = (key: string): string => key.slice(0, key.indexOf('/'));

const pairsOf = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, at) => [flat[at * 2] ?? '', flat[at * 2 + 1] ?? '']),
  );

export interface ConnectOptions {
  /** A further root certificate for rediss://, PEM. */
  readonly ca?: readonly string[] | undefined;
  /** Longest wait for the first connection. */
  readonly timeoutMs: number;
}

/** How soon a connection that was lost is tried again, at most. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Connects to Redis; a connection that is lost later is made again for as long as it takes. Throws GwError `unavailable`
 * where Redis is not reached in time, `auth` where it refuses the password, and `usage` for a server that is too old.
 */
export async function connect(url: string, { ca, timeoutMs }: ConnectOptions): Promise<Redis> {
  const where = withoutPassword(url);
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: null,
    connectTimeout: timeoutMs,
    retryStrategy: (times) => Math.min(100 * times, LONGEST_PAUSE_MS),
    ...(url.startsWith('rediss:') && { tls: { ...(ca && { ca: [...ca] }) } }),
  });
  let last: unknown;
  redis.on('error', (error) => {
    last = error;
  });
  const timer = setTimeout(() => redis.disconnect(), timeoutMs);
  try {
    await redis.connect();
    await checkVersion(redis, where);
    return redis;
  } catch (error) {
    redis.disconnect();
    if (error instanceof GwError) throw error;
    const reason = String((last as Error | undefined)?.message ?? (error as Error).message);
    if (/NOAUTH|WRONGPASS|AUTH/.test(reason)) {
      throw new GwError('auth', `Redis at ${where} refuses the password: ${reason}`, {
        hint: 'put it into the URL, redis://:PASSWORD@HOST, and the URL into GW_REDIS_URL',
      });
    }
    throw new GwError('unavailable', `Redis at ${where} cannot be reached: ${reason || 'no answer'}`, {
      hint: 'is it running? gw queue serve starts one for a first try',
    });
  } finally {
    clearTimeout(timer);
  }
}

/** An address for messages. */
export const withoutPassword = (url: string): string => {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
};

/** Oldest server whose commands are all there. */
const OLDEST = [6, 2] as const;

async function checkVersion(redis: Redis, where: string): Promise<void> {
  const info = await redis.info('server');
  const said = /^(?:valkey_version|redis_version):(\d+)\.(\d+)/m.exec(info);
  const [major, minor] = [Number(said?.[1] ?? 0), Number(said?.[2] ?? 0)];
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return;
  throw usage(
    `Redis at ${where} is version ${major}.${minor}, and ${OLDEST.join('.')} or newer is needed`,
    'use a newer Redis, or Valkey',
  );
}

/** What keeps every step that was acknowledged. */
const SAFE = 'appendonly yes with appendfsync always';

/** What of the server's settings endangers rows, in one sentence; undefined where nothing does or it does not say. */
export async function dangerOf(redis: Redis): Promise<string | undefined> {
  const value = async (name: string): Promise<string | undefined> => {
    try {
      return ((await redis.config('GET', name)) as string[])[1];
    } catch {
      // Hosted servers often keep CONFIG to themselves.
      return undefined;
    }
  };
  const [policy, isAppending, fsync, save] = await Promise.all([
    value('maxmemory-policy'),
    value('appendonly'),
    value('appendfsync'),
    value('save'),
  ]);
  const faults = [
    ...(policy !== undefined && policy !== 'noeviction'
      ? [`may drop rows when it is full (maxmemory-policy ${policy}; noeviction is safe)`]
      : []),
    ...(isAppending === 'no'
      ? [
          save === ''
            ? `keeps nothing when it stops (appendonly no; ${SAFE} is safe)`
            : `forgets the last minutes when it dies (appendonly no; ${SAFE} is safe)`,
        ]
      : []),
    // With `everysec` a step is acknowledged before it is on the disk, up to two seconds before where the disk is slow.
    ...(isAppending === 'yes' && fsync !== undefined && fsync !== 'always'
      ? [`may forget the last seconds when it dies (appendfsync ${fsync}; always is safe)`]
      : []),
  ];
  return faults.length === 0 ? undefined : `this Redis ${faults.join(', and ')}`;
}
