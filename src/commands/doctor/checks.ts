import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { readConfig } from '../../config/config-file.ts';
import { cacheDir, configDir, stateDir, trustedStateDir } from '../../config/dirs.ts';
import { keyOrigin } from '../../config/keys.ts';
import { defaultProfile } from '../../config/profile-name.ts';
import type { Settings } from '../../config/settings.ts';
import { type Context, commandFor } from '../../context.ts';
import { diskFault, freeBytes } from '../../disk/disk-fault.ts';
import { type ErrorKind, GwError, usage } from '../../errors.ts';
import { MB } from '../../gateway/limits.ts';
import { modelsList } from '../../gateway/models.ts';
import { quietly } from '../../host.ts';
import type { WireReply } from '../../http/exchange.ts';
import { proxiesFromEnv, proxyFor } from '../../http/proxy.ts';
import { readDateMs } from '../../http/reply-dates.ts';
import { bytesText, counted, durationText } from '../../io/quantity-text.ts';
import { isUnsaved } from '../../jobs/job-view.ts';
import type { UnreadableLine } from '../../ledger/ledger.ts';
import { isLoopback } from '../../loopback.ts';
import { fetchModels } from '../../models/model-cache.ts';
import { kept } from '../help/topics.ts';
import { dyingSoon, readOwnJobs } from '../jobs/find-jobs.ts';

export type FindingState = 'ok' | 'warning' | 'error' | 'skipped';

/** The result of one check of `gw doctor`. */
export interface Finding {
  readonly check: string;
  readonly state: FindingState;
  readonly message: string;
  /** One sentence on what to do. */
  readonly hint?: string | undefined;
  /** For an error: the kind that decides the exit code. */
  readonly kind?: ErrorKind;
}

export const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message });
export const skipped = (check: string, message: string): Finding => ({ check, state: 'skipped', message });
export const warning = (check: string, message: string, hint: string): Finding => ({
  check,
  state: 'warning',
  message,
  hint,
});

/** Turns the error of a check into a finding; `what` precedes its message. An error of another class is rethrown. */
export function failed(check: string, error: unknown, what?: string): Finding {
  if (!(error instanceof GwError)) throw error;
  const message = what === undefined ? error.message : `${what}: ${error.message}`;
  return { check, state: 'error', message, hint: error.hint, kind: error.kind };
}

/** The error that decides the exit code: the first, because later checks depend on earlier ones. */
export function worstOf(findings: readonly Finding[]): GwError | undefined {
  const found = findings.find(({ state }) => state === 'error');
  return (
    found && new GwError(found.kind ?? 'internal', `${found.check}: ${found.message}`, { hint: found.hint })
  );
}

/** Enough time for a working gateway. */
const SILENCE_MS = 10_000;
/** A larger clock offset makes expiry times noticeably wrong. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Checks the API key, the connection and the gateway's reply with one request for its models, without retries. */
export async function checkGateway(settings: Settings, ctx: Context): Promise<Finding[]> {
  const unknown = (...checks: string[]) => checks.map((check) => skipped(check, 'not looked at'));
  try {
    if (!settings.sandbox) settings.gatewayUrl();
  } catch (error) {
    return [failed('gateway', error), ...unknown('key', 'proxy', 'clock')];
  }
  const proxy = checkProxy(settings, ctx);
  try {
    await settings.key();
  } catch (error) {
    return [failed('key', error), proxy, ...unknown('gateway', 'clock')];
  }
  if (proxy.state === 'error') return [proxy, ...unknown('key', 'gateway', 'clock')];
  return [proxy, ...(await askGateway(settings, ctx))];
}

async function askGateway(settings: Settings, ctx: Context): Promise<Finding[]> {
  const from = `present (${settings.keySource() ?? 'default'})`;
  const beganMs = ctx.clock.steady();
  let refused: WireReply | undefined;
  try {
    const reply = await fetchModels(ctx, {
      retries: 0,
      onRefused: (reply) => {
        refused = reply;
      },
      ...(settings.timeoutMs.source === 'default' && { silenceMs: SILENCE_MS }),
    });
    const tookMs = Math.round(ctx.clock.steady() - beganMs);
    return [
      ok('gateway', `answers in ${tookMs} ms`),
      ok('key', `${from}, accepted, may call ${reply.value.data.length} models`),
      checkClock(reply.serverDateMs, ctx),
    ];
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    // An error reply also carries the server's time.
    const clock = checkClock(readDateMs(refused?.headers.date), ctx);
    if (error.kind === 'auth' && error.facts.status !== undefined)
      return [ok('gateway', 'answers'), failed('key', error, from), clock];
    return [failed('gateway', inWordsOfAddress(error)), skipped('key', `${from}, not tried`), clock];
  }
}

/** Rewords a 404 of the model list: no ID was asked for, so the address must be wrong. */
function inWordsOfAddress(error: GwError): GwError {
  if (error.kind !== 'not_found') return error;
  const hint = `what answers there has no ${modelsList.path}: check the base URL and its path (gw config list)`;
  return error.told({ hint });
}

function checkProxy(settings: Settings, { host }: Context): Finding {
  if (settings.sandbox) return ok('proxy', 'none: the gateway is built in');
  try {
    const proxies = proxiesFromEnv(host.env);
    if (proxies === undefined) return ok('proxy', 'none');
    const gateway = new URL(settings.gatewayUrl());
    // The origin contains no user name and no password.
    const via = (url: URL) => proxyFor(url, proxies)?.url.origin ?? 'none';
    const before = isLoopback(gateway.hostname) ? 'none, as it is this machine' : via(gateway);
    const ofOutputs = (['https', 'http'] as const).map(
      (scheme) => `${scheme} ${via(new URL(`${scheme}://output.invalid`))}`,
    );
    return ok('proxy', `for the gateway: ${before}; for outputs elsewhere: ${ofOutputs.join(', ')}`);
  } catch (error) {
    return failed('proxy', error);
  }
}

function checkClock(serverMs: number | undefined, { clock }: Context): Finding {
  if (serverMs === undefined) return skipped('clock', 'the gateway did not tell the time');
  const aheadMs = clock.now() - serverMs;
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE_MS) return ok('clock', 'agrees with the gateway');
  return warning(
    'clock',
    `this machine is ${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} the gateway`,
    'set the clock: times until links and records expire are shown wrong',
  );
}

/** Checks that the ledger can be read and written, and whether outputs in it are about to expire. */
export async function checkLedger(ctx: Context): Promise<Finding[]> {
  try {
    const ledger = await ctx.ledger();
    // A ledger that cannot be read is told first; this write test must run before the finding that says it can be written.
    await ledger.find({ isOpen: true, limit: 1 });
    const isThere = probe(ledger.dir);
    const links = await checkLinks(ctx).catch((error: unknown) => failed('links', error));
    const count = counted(await ledger.names((names) => [...names].length), 'job');
    return [
      ledger.unreadable.length > 0
        ? warning(
            'ledger',
            `${ledger.dir}: ${unreadableText(ledger.unreadable)}`,
            'keep a copy of the directory and run gw jobs sync: a job whose first line is damaged is found by its ID; the ' +
              'other jobs are not concerned',
          )
        : ok(
            'ledger',
            `${ledger.dir}: ${isThere ? `${count}, readable and writable` : 'not made yet, and can be made'}`,
          ),
      links,
    ];
  } catch (error) {
    return [failed('ledger', error), skipped('links', 'not looked at')];
  }
}

const unreadableText = (lines: readonly UnreadableLine[]): string => {
  const places = lines.slice(0, 10).map(({ path: file, line }) => `${path.basename(file)}:${line}`);
  const more = lines.length - places.length;
  const those = `${places.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `${counted(lines.length, 'line')} cannot be read: ${those}`;
};

/** Tests a write in the ledger's directory or its parent. True if the directory exists. Throws `usage`. */
function probe(dir: string): boolean {
  const at = nearestDirectory(dir);
  const file = path.join(at, `.gw-doctor-${randomBytes(8).toString('hex')}`);
  try {
    fs.writeFileSync(file, 'probe\n', { flag: 'wx', mode: 0o600 });
    fs.rmSync(file);
  } catch (error) {
    fs.rmSync(file, { force: true });
    const { reason, remedy } = diskFault(error);
    throw usage(
      `${at} cannot be written: ${reason}`,
      `${remedy}, or set GW_STATE_DIR; no paid job is sent before`,
    );
  }
  return at === dir;
}

/** Warns of unsaved or unfinished jobs whose links or records expire soon; only of those that `gw jobs sync` would save. */
async function checkLinks(ctx: Context): Promise<Finding> {
  const nowMs = ctx.clock.now();
  const known = await readOwnJobs({ isOpen: true }, ctx);
  const dying = await dyingSoon(known, nowMs);
  if (dying) {
    const what = `${counted(dying.count, 'job is', 'jobs are')} not saved and about to be lost`;
    return warning('links', `${what}, the first in ${dying.first}`, `run ${commandFor('gw jobs sync', ctx)}`);
  }
  const unsaved = known.filter(({ job, family }) => family && isUnsaved(job, family)).length;
  if (unsaved === 0) return ok('links', 'nothing waits to be saved');
  return ok('links', `${counted(unsaved, 'job waits', 'jobs wait')} to be saved, without hurry`);
}

/** A 4k clip of half a minute has a few hundred megabytes. */
const LITTLE_BYTES = 1024 * MB;
/** The ledger needs this much, and no clip fits into it. */
const NOTHING_BYTES = 50 * MB;

/** Checks the free space for the ledger and for outputs. */
export function checkDisk(settings: Settings | undefined, { host }: Context): Finding[] {
  const out = settings?.out.value ?? '';
  // In a pattern, the text before the first brace is a directory, or begins a directory's name.
  const outDir = path.resolve(host.cwd, out.replace(/\{.*$/s, ''));
  return [
    roomIn('disk for outputs', () => outDir, 'download'),
    roomIn('disk for the ledger', () => stateDir(host), 'usage'),
  ];
}

function roomIn(check: string, dirOf: () => string, kind: 'download' | 'usage'): Finding {
  try {
    const dir = nearestDirectory(dirOf());
    const free = freeBytes(dir);
    if (free === undefined) return skipped(check, `${dir}: the file system does not say`);
    const message = `${bytesText(free)} free in ${dir}`;
    if (free >= LITTLE_BYTES) return ok(check, message);
    if (free >= NOTHING_BYTES) return warning(check, message, 'free some space before long videos are saved');
    return failed(check, new GwError(kind, message, { hint: 'free some space' }));
  } catch (error) {
    return failed(check, error);
  }
}

/** The directory, or its nearest existing parent; a file in the way is returned unchanged. */
function nearestDirectory(dir: string): string {
  const parent = path.dirname(dir);
  return parent === dir || fs.existsSync(dir) ? dir : nearestDirectory(parent);
}

/** One finding per kind of stored data: its size, and the command that deletes it. */
export const checkStorage = ({ host }: Context): Finding[] =>
  Object.entries({ state: stateDir, config: configDir, cache: cacheDir }).flatMap(([place, dirOf]) => {
    try {
      const dir = dirOf(host);
      const names = fs.existsSync(dir) ? fs.readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [];
      const files = names.flatMap((name) => {
        const stat = fs.lstatSync(path.join(dir, name), { throwIfNoEntry: false });
        return stat?.isFile() ? [{ name: name.replaceAll(path.sep, '/'), bytes: stat.size }] : [];
      });
      return kept.flatMap((thing) => {
        const own = files.filter(({ name }) => thing.place === place && thing.names.test(name));
        const size = `${counted(own.length, 'file')}, ${bytesText(own.reduce((sum, { bytes }) => sum + bytes, 0))}`;
        return own.length === 0 ? [] : [ok(`kept: ${thing.name}`, `${size}; ${thing.deletedBy}`)];
      });
    } catch (error) {
      return [skipped(`kept: ${place}`, String(error))];
    }
  });

/** Checks the owners and modes of gw's directories, the TLS root certificates, and the compiled code it loads. */
export const checkTrust = (settings: Settings | undefined, { host }: Context): Finding[] => [
  ...checkOwners(host),
  checkTls(settings, host),
  checkCodeCache(host),
];

type TrustHost = Context['host'];

function checkOwners(host: TrustHost): Finding[] {
  const of = (
    check: string,
    dirOf: (host: TrustHost) => string,
    look: (host: TrustHost) => void,
  ): Finding => {
    try {
      const dir = dirOf(host);
      look(host);
      // The ledger's own check says why a directory cannot be made.
      const stat = quietly(() => fs.statSync(dir));
      if (!stat) return ok(check, `${dir} is not there yet`);
      if (host.platform === 'win32') return ok(check, `${dir} is there; Windows says who may write to it`);
      const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
      return ok(check, `${dir} is this user's, mode ${mode}, and nobody else may write to it`);
    } catch (error) {
      return failed(check, error);
    }
  };
  return [
    of('config owner', configDir, () => {
      readConfig(host);
      keyOrigin(host, defaultProfile);
    }),
    of('state owner', stateDir, trustedStateDir),
  ];
}

/** Variables that select root certificates in other programs and that gw ignores. */
const ignoredRoots = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE'] as const;

function checkTls(settings: Settings | undefined, { env }: TrustHost): Finding {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== undefined)
    return warning(
      'tls',
      `NODE_TLS_REJECT_UNAUTHORIZED=${env.NODE_TLS_REJECT_UNAUTHORIZED} is ignored: certificates are always checked`,
      'trust a root of your own with --cacert FILE, and unset the variable',
    );
  const added = [
    env.NODE_EXTRA_CA_CERTS && `${env.NODE_EXTRA_CA_CERTS} (NODE_EXTRA_CA_CERTS)`,
    settings?.cacert.value,
  ].filter((each) => each);
  const ignored = ignoredRoots.filter((name) => env[name]);
  return ok(
    'tls',
    [
      'certificates are checked',
      ...(added.length > 0 ? [`also trusted: ${added.join(', ')}`] : []),
      ...(ignored.length > 0 ? [`not read by gw: ${ignored.join(', ')} (--cacert FILE adds roots)`] : []),
    ].join('; '),
  );
}

function checkCodeCache({ codeCache }: TrustHost): Finding {
  if (codeCache === undefined) return skipped('code cache', 'not started by the launcher');
  const { dir, problem } = codeCache;
  if (problem !== undefined) {
    const hint = 'each start takes longer; remove it, or set GW_CACHE_DIR';
    return warning('code cache', `not used: ${problem}`, hint);
  }
  const isThere = dir !== undefined && fs.existsSync(dir);
  return ok('code cache', isThere ? dir : `${dir} is not there yet, or cannot be made`);
}
