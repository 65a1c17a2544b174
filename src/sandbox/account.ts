import type { IncomingHttpHeaders } from 'node:http';
import type { Credential } from '../gateway/endpoint.ts';
import { type AccountType, accountLimits, fourKLimits } from '../gateway/limits.ts';
import { Refusal } from './reply.ts';
import type { World } from './route.ts';
import { requestRow, type SandboxStore } from './store.ts';
import type { Pool, SandboxTask } from './task.ts';

const MINUTE_MS = 60_000;
const sweepRow = 'sweeps';

export const limitsOf = (pool: Pool, account: AccountType) =>
  pool === '4k' ? fourKLimits : accountLimits[account];

/**
 * Counts a request against the rate of its pool over 60 s of the sandbox's faster time. Throws Refusal (429,
 * `Retry-After`) if the window is full; a refused request does not count.
 */
export function countRequest(
  { store, account, speed }: Pick<World, 'store' | 'account' | 'speed'>,
  pool: Pool,
  nowMs: number,
): void {
  const most = limitsOf(pool, account).requestsPerMinute;
  // An infinite speed has no shorter minute, because no client could keep to one.
  const minuteMs = Number.isFinite(speed) ? MINUTE_MS / Math.max(1, speed) : MINUTE_MS;
  const minute = Math.floor(nowMs / MINUTE_MS);
  /** The requests of the last 60 s of sandbox time; of the current minute only the first `upTo`. */
  const windowBefore = (upTo?: number) =>
    [
      ...store.marks(requestRow(pool, minute - 1)),
      ...store.marks(requestRow(pool, minute)).slice(0, upTo),
    ].filter((atMs) => atMs > nowMs - minuteMs);
  const refuseWhenFull = (window: number[]) => {
    const freedBy = window[window.length - most];
    if (freedBy === undefined) return;
    const waitS = Math.max(1, Math.ceil((freedBy + minuteMs - nowMs) / 1000));
    const what = `${most} ${pool === '4k' ? '4k requests' : 'requests'} a minute`;
    throw new Refusal(429, `This account takes ${what}: wait ${waitS} s.`, 'RateLimitExceeded', {
      'retry-after': String(waitS),
    });
  };
  refuseWhenFull(windowBefore());
  // Another process may have taken the last place; the order of the marks decides who was first.
  refuseWhenFull(windowBefore(store.append(requestRow(pool, minute), nowMs)));
}

/**
 * Adds a task if the account has a free place; otherwise throws Refusal (429). Two processes that compete for the last
 * place may both be refused, but are never both admitted.
 */
export function admitTask(store: SandboxStore, task: SandboxTask, account: AccountType): void {
  store.add(task);
  if (task.pool === undefined) return;
  const most = limitsOf(task.pool, account).concurrentTasks;
  const others = store.unfinished(task.pool, task.createdAtMs).filter((id) => id !== task.id);
  if (others.length < most) return;
  store.remove(task);
  throw new Refusal(
    429,
    `${others.length} ${task.pool === '4k' ? '4k ' : ''}tasks are queued or running; this account runs ${most} at once.`,
    'ConcurrencyLimitExceeded',
  );
}

/** Deletes expired data, at most once an hour. */
export function sweepWhenDue(store: SandboxStore, nowMs: number): void {
  const last = store.marks(sweepRow).at(-1) ?? 0;
  if (Math.abs(nowMs - last) < 60 * MINUTE_MS) return;
  store.append(sweepRow, nowMs);
  store.sweep(nowMs);
}

const header = (headers: IncomingHttpHeaders, name: string) => headers[name]?.toString();

const bearer = (headers: IncomingHttpHeaders) =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]?.trim();

/** The ways to send each credential ("Authentication"); `checkRest` throws Refusal for what must accompany the key. */
const credentials: Readonly<
  Record<
    Credential,
    { form: string; read: typeof bearer; checkRest?: (headers: IncomingHttpHeaders) => void }
  >
> = {
  bearer: { form: 'Authorization: Bearer <API_KEY>', read: bearer },
  messages: {
    form: 'x-api-key: <API_KEY>',
    read: (headers) => header(headers, 'x-api-key') ?? bearer(headers),
    checkRest: checkProviderVersion,
  },
  geo: { form: 'x-geo-api-key: <API_KEY>', read: (headers) => header(headers, 'x-geo-api-key') },
};

/** `x-api-key` requires `provider-version: <date string>`; `Authorization: Bearer` does not. */
function checkProviderVersion(headers: IncomingHttpHeaders): void {
  const version = header(headers, 'provider-version');
  if (version === undefined) {
    if (header(headers, 'x-api-key') === undefined) return;
    const said = 'The header provider-version is missing: send a date such as 2023-06-01.';
    throw new Refusal(400, said, 'MissingParameter');
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(version) || Number.isNaN(Date.parse(version))) {
    const said = 'The header provider-version is not a date string such as 2023-06-01.';
    throw new Refusal(400, said, 'InvalidParameter');
  }
}

/** A key with this ending gets 403 for everything, so that clients can test that reply. */
const RESTRICTED_KEY_END = '-restricted';

/**
 * Checks a request's credential. Throws Refusal: 401 for a missing or wrong key, 403 for a restricted one, 400 for a
 * missing header that must accompany the key.
 */
export function checkCredential(credential: Credential, headers: IncomingHttpHeaders, key: string): void {
  const { form, read, checkRest } = credentials[credential];
  const given = read(headers);
  if (given === undefined)
    throw new Refusal(401, `No API key was sent: send the header ${form}.`, 'MissingApiKey');
  if (given.endsWith(RESTRICTED_KEY_END)) {
    throw new Refusal(403, 'The API key has no permission for this model or endpoint.', 'AccessDenied');
  }
  if (given !== key) throw new Refusal(401, 'The API key is not valid.', 'InvalidApiKey');
  checkRest?.(headers);
}
