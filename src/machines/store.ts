import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { formatOf, refuseNewer } from '../formats.ts';
import { decode, decodeEntry, MAX_ROUND, type RowReader } from './decode.ts';
import { type Door, isForeignKey } from './door.ts';
import {
  type Changes,
  encode,
  fenceOf,
  type LogEntry,
  type RowRecord,
  type RowState,
  rowStates,
  type Step,
  steps,
} from './row.ts';

// Rows in Redis: each is a hash that one script changes. The script checks who may do which step, and reports the step in
// the row's log and the batch's event stream. Times come from Redis, so hosts' clocks need not agree.

/** The number of events kept for followers; a follower that was away longer reads the rows instead. */
const MAX_EVENTS = 10_000;
const READ_AT_ONCE = 500;

/**
 * KEYS: row, log, events, counts, the batch's rows. ARGV: new|take|own|free|sender, fence (for a sender its
 * announcement), allowed states (`,a,b,`), next state ('' to keep it), fields as JSON, log entry as JSON without its
 * time, key, the step's unique number, its position among the worker's steps. Returns ok, fenced, over (not in an
 * allowed state), gone or newer, and after `take` the row. A retried step gets the same reply while the row is
 * unchanged. A step that arrives after a later step of its worker does nothing. Log, events and counts are written with
 * `pcall`: if another program has put something else under their keys, the step is done all the same.
 */
const stepScript = `
local state = redis.call('HGET', KEYS[1], 'state')
if ARGV[1] == 'new' then redis.call('SADD', KEYS[5], ARGV[7]) elseif not state then return {'gone'} end
if ARGV[1] == 'new' and redis.call('EXISTS', KEYS[1]) == 1 then return {'over'} end
local format = redis.call('HGET', KEYS[1], 'v')
if tonumber(string.match(format or '1', '^%d+$') or '1') > ${formatOf('rows')} then return {'newer'} end
if redis.call('HGET', KEYS[1], 'step') == ARGV[8] then return {'ok', redis.call('HGETALL', KEYS[1])} end
local held = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') or 0
if held > ${fenceOf(MAX_ROUND + 1, 'save', 0)} then held = 0 end
local fence = tonumber(ARGV[2])
if ARGV[1] == 'take' and fence <= held then return {'fenced'} end
if ARGV[1] == 'own' and fence ~= held then return {'fenced'} end
if ARGV[1] == 'sender' and redis.call('HGET', KEYS[1], 'announced') ~= ARGV[2] then return {'fenced'} end
local place = tonumber(redis.call('HGET', KEYS[1], 'place') or '0') or 0
if ARGV[1] == 'own' and tonumber(ARGV[9]) < place then return {'fenced'} end
if ARGV[1] ~= 'new' and not string.find(ARGV[3], ',' .. state .. ',', 1, true) then return {'over', redis.call('HGETALL', KEYS[1])} end
if ARGV[1] == 'take' then redis.call('HSET', KEYS[1], 'fence', ARGV[2]) end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'state', ARGV[4]) end
if ARGV[4] ~= '' and ARGV[4] ~= state then
  if state then redis.pcall('HINCRBY', KEYS[4], state, -1) end
  redis.pcall('HINCRBY', KEYS[4], ARGV[4], 1)
end
redis.call('HSET', KEYS[1], 'step', ARGV[8])
if ARGV[1] == 'take' or ARGV[1] == 'own' then redis.call('HSET', KEYS[1], 'place', ARGV[9]) end
for name, value in pairs(cjson.decode(ARGV[5])) do redis.call('HSET', KEYS[1], name, value) end
if ARGV[1] == 'free' and ARGV[4] == 'waiting' then redis.call('HDEL', KEYS[1], 'error', 'sender', 'status') end
local now = redis.call('TIME')
local t = string.format('%d%03d', now[1], math.floor(now[2] / 1000))
redis.pcall('RPUSH', KEYS[2], '{"t":' .. t .. ',' .. string.sub(ARGV[6], 2))
if ARGV[1] == 'new' then return {'ok'} end
redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', ${MAX_EVENTS}, '*', 'key', ARGV[7], 'entry', ARGV[6])
if ARGV[1] == 'take' then return {'ok', redis.call('HGETALL', KEYS[1])} end
return {'ok'}
`;

interface Scripted {
  gwStep(...args: string[]): Promise<[StepResult, string[]?]>;
}

/** The result of a step: done, held by another worker, not allowed now, unknown row, or written by a newer gw. */
export type StepResult = 'ok' | 'fenced' | 'over' | 'gone' | 'newer';

export interface Actor {
  readonly host: string;
  readonly fence?: number;
  readonly attempt?: number;
  /** Identifies a sending: whoever announced it may report that it never left. */
  readonly announced?: string | undefined;
}

export class RowStore {
  readonly prefix: string;
  #steps = 0;

  /** `of` is a digest of the gateway's origin. */
  constructor(
    readonly door: Door,
    of: string,
    private readonly reader: RowReader,
  ) {
    this.prefix = `gw:${of}`;
    door.redis.defineCommand('gwStep', { numberOfKeys: 5, lua: stepScript });
  }

  rowKey = (key: string): string => `${this.prefix}:row:${key}`;
  #batchKey = (batch: string): string => `${this.prefix}:batch:${batch}`;
  #countsKey = (): string => `${this.prefix}:counts`;
  #logKey = (key: string): string => `${this.prefix}:log:${key}`;
  #nextKey = (key: string): string => `${this.prefix}:next:${key}`;
  #eventsKey = (batch: string): string => `${this.prefix}:events:${batch}`;

  /** Adds a row; false if it exists already. */
  async handOver(record: RowRecord, host: string): Promise<boolean> {
    return (await this.#step(record.row.key, 'handed_over', { host }, record)).result === 'ok';
  }

  /** Records, before a row is handed over, which rows it waits for. */
  async follows(key: string, needed: readonly string[]): Promise<void> {
    for (const each of needed) await this.door.tell((redis) => redis.sadd(this.#nextKey(each), key), 0);
  }

  /** The rows of its batch that wait for a row. */
  async followers(key: string): Promise<string[]> {
    const keys = await this.door.ask((redis) => redis.smembers(this.#nextKey(key)), []);
    return keys.filter((each) => batchOf(each) === batchOf(key));
  }

  /** Removes the marks of a sending from an unreadable row, because the user found that nothing was created. */
  async absolve(key: string): Promise<void> {
    await this.door.tell((redis) => redis.hdel(this.rowKey(key), 'sender', 'id', 'state'), 0);
  }

  /** Forgets a row, so that it can be handed over again. */
  async forget(key: string): Promise<void> {
    const state = await this.door.ask((redis) => redis.hget(this.rowKey(key), 'state'), null);
    const gone = await this.door.tell((redis) => redis.del(this.rowKey(key), this.#logKey(key)));
    if (gone > 0 && state !== null)
      await this.door.tell((redis) => redis.hincrby(this.#countsKey(), state, -1));
  }

  /** Does one step of a row, durable in Redis when this returns; it is retried within the door's patience. */
  async step(key: string, step: Step, actor: Actor, changes: Changes = {}): Promise<StepResult> {
    return (await this.#step(key, step, actor, changes)).result;
  }

  /** Takes a row; returns its record if it may be worked on or is finished. */
  async take(
    key: string,
    actor: Actor,
  ): Promise<{ readonly result: StepResult; readonly record: RowRecord | undefined }> {
    return this.#step(key, 'taken', actor, { host: actor.host });
  }

  async #step(key: string, step: Step, actor: Actor, changes: Partial<RowRecord>) {
    const { host, fence = 0, attempt, announced = '' } = actor;
    const isNew = step === 'handed_over' && { v: String(formatOf('rows')) };
    const sender = step === 'sending' && { sender: host, announced };
    const rule: { by: string; from: readonly RowState[]; to?: RowState } = steps[step];
    const who = rule.by === 'sender' ? announced : String(fence);
    const fields = JSON.stringify({ ...encode(changes), ...newRound(changes), ...sender, ...isNew });
    const entry = JSON.stringify({ step, host, attempt, id: changes.id, message: changes.error?.message });
    this.#steps += 1;
    const batch = batchOf(key);
    const ofRow = [this.rowKey(key), this.#logKey(key)];
    const keys = [...ofRow, this.#eventsKey(batch), this.#countsKey(), this.#batchKey(batch)];
    const states = [`,${rule.from.join(',')},`, rule.to ?? changes.state ?? ''];
    const args = [rule.by, who, ...states, fields, entry, key, randomUUID(), String(this.#steps)];
    const ask = (redis: Redis) => (redis as Redis & Scripted).gwStep(...keys, ...args);
    // If the row's key holds other data, gw can do nothing about it.
    const [result, flat] = await this.door.tell(ask, ['gone']);
    return { result, record: flat && decode(key, pairsOf(flat), this.reader) };
  }

  /** The records of rows. `refusesNewer` throws NewerFormat for a row of a newer gw, before any work on rows. */
  async read(keys: readonly string[], refusesNewer = false): Promise<(RowRecord | undefined)[]> {
    const records: (RowRecord | undefined)[] = [];
    for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
      const answers = await this.door.ask(async (redis) => {
        const pipeline = redis.pipeline();
        for (const key of keys.slice(at, at + READ_AT_ONCE)) pipeline.hgetall(this.rowKey(key));
        const came = (await pipeline.exec()) ?? [];
        const failed = came.find(([error]) => error && !isForeignKey(error));
        if (failed) throw failed[0];
        return came;
      });
      for (const [place, [error, fields]] of answers.entries()) {
        const hash = error ? { state: 'no hash' } : (fields as Record<string, string>);
        const record = decode(keys[at + place] ?? '', hash, this.reader);
        if (refusesNewer) refuseNewer('rows', record?.fault?.newer, record?.row.key ?? '');
        records.push(record);
      }
    }
    return records;
  }

  async rowsOf(batch: string): Promise<string[]> {
    const keys = await this.door.ask((redis) => redis.smembers(this.#batchKey(batch)));
    return keys.filter((key) => batchOf(key) === batch);
  }

  async counts(): Promise<Readonly<Record<RowState, number>>> {
    const said = await this.door.ask((redis) => redis.hgetall(this.#countsKey()));
    return Object.fromEntries(
      rowStates.map((state) => [state, Math.max(0, Number(said[state] ?? 0) || 0)]),
    ) as Record<RowState, number>;
  }

  async log(key: string): Promise<LogEntry[]> {
    const lines = await this.door.ask((redis) => redis.lrange(this.#logKey(key), 0, -1), []);
    return lines.flatMap((line) => decodeEntry(line) ?? []);
  }

  /** How long a row has been in its state, by Redis's clock. */
  async restedMs(key: string): Promise<number> {
    const [[line = ''], [seconds]] = await this.door.ask((redis) =>
      Promise.all([redis.lrange(this.#logKey(key), -1, -1), redis.time()]),
    );
    return Math.max(0, Number(seconds) * 1000 - (decodeEntry(line)?.t ?? 0));
  }

  /** The ID of the last event in a batch's stream. */
  async lastEvent(batch: string): Promise<string> {
    const [last] = await this.door.ask((redis) =>
      redis.xrevrange(this.#eventsKey(batch), '+', '-', 'COUNT', 1),
    );
    return last?.[0] ?? '0-0';
  }

  /** The steps of a batch's rows after `since`. */
  async events(
    batch: string,
    since: string,
  ): Promise<{ readonly at: string; readonly key: string; readonly entry: LogEntry | undefined }[]> {
    const read = await this.door.ask(
      (redis) => redis.xread('COUNT', 1000, 'STREAMS', this.#eventsKey(batch), since),
      null,
    );
    return (read?.[0]?.[1] ?? []).map(([at, flat]) => {
      const { key = '', entry = '{}' } = pairsOf(flat);
      return { at, key, entry: decodeEntry(entry) };
    });
  }
}

/** A new round invalidates everyone who took the row before. */
const newRound = ({ round }: Changes) => round !== undefined && { fence: String(fenceOf(round, 'task', 0)) };

/** `NAME/id` -> NAME; a name contains no slash. */
export const batchOf = (key: string): string => key.slice(0, key.indexOf('/'));

const pairsOf = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, at) => [flat[at * 2] ?? '', flat[at * 2 + 1] ?? '']),
  );
