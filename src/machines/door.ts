import { EventEmitter, once, setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { errorCode, GwError, usage } from '../errors.ts';
import { steadyMs } from '../host.ts';
import { cureOf } from '../http/exchange.ts';

// The connection to Redis. Every request has a timeout, a silent server counts as away, and a refusal becomes a sentence.
// Requests are retried after a growing pause, on every connection.

/** Longest wait for a reply; a connection that is silent for this long is closed and opened again. */
export const ANSWER_MS = 4_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** How long BullMQ's commands wait after one of them was refused. */
const REFUSED_PAUSE_MS = 1_000;

const unavailable = (says: string, hint: string) => ({ kind: 'unavailable' as const, says, hint });
const noAccess = (says: string) => ({
  kind: 'auth' as const,
  says,
  hint: 'put the password into the URL, redis://:PASSWORD@HOST, and the URL into GW_REDIS_URL',
});
/** Redis's refusals, by the first word of the error. */
const refusals: Readonly<Record<string, ReturnType<typeof unavailable | typeof noAccess>>> = {
  READONLY: unavailable('it is a replica and takes no changes', 'name the primary server'),
  OOM: unavailable('its memory is full', 'raise its maxmemory, or delete what it need not hold'),
  LOADING: unavailable('it is still loading its data', 'wait until it has started'),
  BUSY: unavailable('a script keeps it busy', 'SCRIPT KILL on that server ends the script'),
  CLUSTERDOWN: unavailable('its cluster is down', 'gw needs a single server, or a cluster that is up'),
  MOVED: unavailable('it is one node of a cluster', 'gw needs a single server'),
  MASTERDOWN: unavailable('it has lost its primary server', 'name the primary server'),
  NOREPLICAS: unavailable('it has too few replicas to take changes', 'start its replicas'),
  MISCONF: unavailable('it cannot save to its disk', 'its log says why'),
  NOSCRIPT: unavailable('it does not keep scripts', 'gw needs EVAL and SCRIPT LOAD'),
  NOAUTH: noAccess('it wants a password'),
  WRONGPASS: noAccess('it refuses the password'),
  NOPERM: noAccess('the user may not do that there'),
  WRONGTYPE: unavailable(
    "one of gw's keys holds something else there",
    'delete that key, or name another database, as in redis://HOST:PORT/1',
  ),
};

const replyCode = (error: unknown): string | undefined => {
  const { name, message = '' } = (error ?? {}) as Partial<Error>;
  const [, code] = /(?:^|\s|-)([A-Z]{3,})\b/.exec(message.slice(0, 200)) ?? [];
  return name === 'ReplyError' || (code !== undefined && Object.hasOwn(refusals, code)) ? code : undefined;
};

/** True if an error concerns one key only, which holds data of another program. */
export const isForeignKey = (error: unknown): boolean => replyCode(error) === 'WRONGTYPE';

/** True for errors of ioredis or the system that mean a failed connection. */
const isAwayError = (error: unknown): boolean =>
  errorCode(error) !== undefined ||
  /Connection is closed|isn't writeable|Socket timeout|max retries per request|Command timed out|aborted due to connection|Protocol error/i.test(
    (error as Partial<Error> | undefined)?.message ?? '',
  );

/** No reply came in time. */
export class Silent extends Error {
  constructor() {
    super('Redis does not answer');
  }
}

interface Trouble {
  readonly sinceMs: number;
  /** True if only a successful change ends the trouble; false if any reply does. */
  readonly untilChange: boolean;
  readonly error: GwError;
}

interface DoorOptions {
  /** A further root certificate for rediss://, in PEM. */
  readonly ca?: readonly string[] | undefined;
  /** Longest wait for the first connection and for a reply, in milliseconds. */
  readonly answerMs?: number;
  /** Aborts every request with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export class Door {
  /** The connection for gw's own requests; it keeps no offline queue that could send a request long after its timeout. */
  readonly redis: Redis;
  /** The connection for BullMQ, which queues its commands while Redis is away. */
  readonly line: Redis;
  readonly #lines = new Set<Redis>();
  readonly where: string;
  readonly #answerMs: number;
  /** How long a request is retried while Redis is away or refuses, in milliseconds. */
  patienceMs = 0;
  readonly #signal: AbortSignal;
  readonly #over = new AbortController();
  #trouble: Trouble | undefined;
  /** Emits an event each time Redis goes away or refuses. */
  readonly #troubles = new EventEmitter().setMaxListeners(0);
  /** The last connection error. */
  #last: unknown;

  private constructor(url: string, { ca, answerMs = ANSWER_MS, signal }: DoorOptions) {
    this.where = withoutPassword(url);
    this.#answerMs = Math.min(answerMs, ANSWER_MS);
    const over = this.#over.signal;
    this.#signal = signal ? AbortSignal.any([signal, over]) : over;
    // As many requests may wait at once as there are rows and metrics.
    setMaxListeners(0, this.#signal);
    const common = {
      lazyConnect: true,
      connectTimeout: this.#answerMs,
      socketTimeout: this.#answerMs,
      // ioredis keeps the process alive this long when it ends a connection that was closed before.
      disconnectTimeout: 100,
      retryStrategy: (times) => Math.min(FIRST_PAUSE_MS * times, 1_000),
      reconnectOnError: (error) => replyCode(error) === 'READONLY',
      ...(url.startsWith('rediss:') && { tls: { ...(ca && { ca: [...ca] }) } }),
    } satisfies RedisOptions;
    this.redis = new Redis(url, { ...common, enableOfflineQueue: false, maxRetriesPerRequest: 0 });
    const line = new Redis(url, { ...common, maxRetriesPerRequest: null });
    this.line = tended(line, { refusedMs: Number.NEGATIVE_INFINITY }, this.#lines);
    this.redis.on('error', (error) => {
      this.#last = error;
    });
    this.redis.on('close', () => {
      if (!this.#over.signal.aborted) this.#fails(this.#away(), steadyMs(), false);
    });
    this.redis.on('ready', () => this.#answers(false));
  }

  /**
   * Connects to Redis; a connection that is lost later is reopened, however long that takes. Throws GwError `unavailable`
   * if Redis is not reached in time or refuses, `auth` if it refuses the password, and `usage` for a server that is too
   * old.
   */
  static async open(url: string, options: DoorOptions = {}): Promise<Door> {
    const door = new Door(url, options);
    const { redis } = door;
    const timer = setTimeout(() => redis.disconnect(), door.#answerMs);
    try {
      await unlessAborted(redis.connect(), door.#signal);
      await door.ask(() => checkVersion(redis, door.where));
      return door;
    } catch (error) {
      door.end();
      options.signal?.throwIfAborted();
      if (error instanceof GwError) throw error;
      throw door.#refused(door.#last) ?? door.#refused(error) ?? door.#unreached(door.#last ?? error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** How long Redis has been away or refusing; 0 if all is well. */
  awayMs(): number {
    return this.#trouble === undefined ? 0 : steadyMs() - this.#trouble.sinceMs;
  }

  /** The error that ends a command which can do nothing more without Redis. */
  gone(facts?: GwError['facts']): GwError {
    const { kind, message, facts: known } = this.#trouble?.error ?? this.#away();
    const seconds = Math.round(this.awayMs() / 1000);
    return new GwError(kind, `Redis has been away for ${seconds} s: ${message}`, facts ?? known);
  }

  /** Resolves with the promise's settlement; true if Redis went away before it. */
  async isAwayBefore(settled: Promise<unknown>): Promise<boolean> {
    const over = new AbortController();
    const done = settled.then(
      () => false,
      () => false,
    );
    if (this.#trouble) return true;
    const away = once(this.#troubles, 'trouble', over).then(() => true);
    return Promise.race([done, away]).finally(() => over.abort());
  }

  /** As `tell`, for a request that changes nothing: its reply does not show whether Redis accepts changes. */
  readonly ask = <T>(question: (redis: Redis) => Promise<T>, ifForeign?: T): Promise<T> =>
    this.#ask(question, false, ifForeign);

  /**
   * Sends a request and retries it within the door's patience, so it must be idempotent. `ifForeign` is the result for a
   * key that holds another program's data. Throws GwError `unavailable` or `auth`, or the request's own error.
   */
  readonly tell = <T>(question: (redis: Redis) => Promise<T>, ifForeign?: T): Promise<T> =>
    this.#ask(question, true, ifForeign);

  async #ask<T>(question: (redis: Redis) => Promise<T>, isChange: boolean, ifForeign?: T): Promise<T> {
    const begunMs = steadyMs();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      this.#signal.throwIfAborted();
      const askedMs = steadyMs();
      let failed: GwError;
      try {
        const answer = await unlessAborted(within(this.#answerMs, question(this.redis)), this.#signal);
        this.#answers(isChange);
        return answer;
      } catch (error) {
        this.#signal.throwIfAborted();
        const refused = this.#refused(error);
        // A retry would get the same error.
        if (isForeignKey(error)) {
          if (ifForeign === undefined) throw refused;
          return ifForeign;
        }
        if (!refused && !(error instanceof Silent) && !isAwayError(error)) throw error;
        failed = refused ?? this.#away();
        this.#fails(failed, askedMs, refused !== undefined && isChange);
      }
      if (steadyMs() + pauseMs - begunMs > this.patienceMs) throw failed;
      await pause(pauseMs, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
    }
  }

  #answers(isChange: boolean): void {
    if (this.#trouble && (isChange || !this.#trouble.untilChange)) this.#trouble = undefined;
  }

  #fails(error: GwError, sinceMs: number, untilChange: boolean): void {
    const known = this.#trouble;
    // Some refusals close the connection; reopening it does not mean that changes work again.
    if (!known?.untilChange || untilChange)
      this.#trouble = { sinceMs: Math.min(known?.sinceMs ?? sinceMs, sinceMs), untilChange, error };
    this.#troubles.emit('trouble');
  }

  #away(): GwError {
    return new GwError('unavailable', `Redis at ${this.where} does not answer`, {
      hint: 'what was created is in the ledger, and its rows go on when Redis is back',
    });
  }

  #unreached(error: unknown): GwError {
    // gw itself closes a connection that stays silent.
    const isSilent =
      !(error instanceof Error) || /^(Connection is closed|Socket timeout)\./.test(error.message);
    const message = isSilent ? 'no answer' : error.message;
    const [reason, hint] = /Please report this\.$/.test(message)
      ? ['what answers there is no Redis', 'check the address and port in --redis or GW_REDIS_URL']
      : [message, cureOf(errorCode(error)) ?? 'is it running? gw queue serve starts one for a first try'];
    return new GwError('unavailable', `Redis at ${this.where} cannot be reached: ${reason}`, { hint });
  }

  #refused(error: unknown): GwError | undefined {
    const code = replyCode(error);
    if (code === undefined) return undefined;
    const { kind, says, hint } = refusals[code] ?? unavailable('it refuses the command', 'its log says why');
    const words = (error as Error).message.slice(0, 200);
    return new GwError(kind, `Redis at ${this.where} cannot be used: ${says} (${words})`, { hint });
  }

  /** Closes every connection; pending requests are given up. */
  end(): void {
    this.#over.abort(this.#away());
    for (const line of this.#lines) line.disconnect();
    this.redis.disconnect();
  }
}

/**
 * Prepares a connection for BullMQ, whose loops retry refused commands at once: after a refusal, further commands on the
 * connection and its copies are delayed, so that a worker does not overload Redis.
 */
function tended(redis: Redis, last: { refusedMs: number }, all: Set<Redis>): Redis {
  all.add(redis);
  redis.on('error', () => {});
  const send: Redis['sendCommand'] = redis.sendCommand.bind(redis);
  const copy: (override?: Partial<RedisOptions>) => Redis = redis.duplicate.bind(redis);
  redis.sendCommand = (command, stream) => {
    // Before it is ready, ioredis sends its own commands; a pipeline is sent as a whole.
    if (redis.status !== 'ready' || stream) return send(command, stream);
    command.promise.catch((error: unknown) => {
      const code = replyCode(error);
      if (code !== undefined && Object.hasOwn(refusals, code)) last.refusedMs = steadyMs();
    });
    const waitMs = last.refusedMs + REFUSED_PAUSE_MS - steadyMs();
    if (waitMs <= 0) return send(command, stream);
    setTimeout(() => send(command, stream), waitMs);
    return command.promise;
  };
  Object.assign(redis, {
    duplicate: (override?: Partial<RedisOptions>) => tended(copy(override), last, all),
  });
  return redis;
}

/** The reply to a request. Throws Silent if none comes within `ms`; the request itself goes on. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = pause(ms, undefined, over).then(() => Promise.reject(new Silent()));
  return Promise.race([answer, late]).finally(() => over.abort());
}

export function unlessAborted<T>(begun: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    begun.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

const withoutPassword = (url: string): string => {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
};

/** The oldest server version with all needed commands. */
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

/** The server settings that keep every acknowledged step. */
const SAFE = 'appendonly yes with appendfsync always';

/** The server's settings that endanger rows, in one sentence; undefined if there are none or they are unknown. */
export async function dangerOf({ redis }: Pick<Door, 'redis'>): Promise<string | undefined> {
  const value = async (name: string): Promise<string | undefined> => {
    // Hosted servers often disable CONFIG.
    const said = await redis.config('GET', name).catch(() => null);
    return (said as string[] | null)?.[1];
  };
  const names = ['maxmemory-policy', 'appendonly', 'appendfsync', 'save'];
  const [policy = 'noeviction', isAppending, fsync = 'always', save] = await Promise.all(names.map(value));
  const when = save === '' ? 'keeps nothing when it stops' : 'forgets the last minutes when it dies';
  const faults = [
    policy !== 'noeviction' &&
      `may drop rows when it is full (maxmemory-policy ${policy}; noeviction is safe)`,
    isAppending === 'no' && `${when} (appendonly no; ${SAFE} is safe)`,
    // With `everysec` a step is acknowledged up to two seconds before it is on a slow disk.
    isAppending === 'yes' &&
      fsync !== 'always' &&
      `may forget the last seconds when it dies (appendfsync ${fsync}; always is safe)`,
  ].filter(Boolean);
  return faults.length === 0 ? undefined : `this Redis ${faults.join(', and ')}`;
}
