import { readSwitch } from './config/environment.ts';
import type { Settings, SettingsFlags } from './config/settings.ts';
import { GwError } from './errors.ts';
import type { GlobalFlags } from './flags/global.ts';
import type { Clock, Host } from './host.ts';
import type { Client, Gateway } from './http/client.ts';
import type { Transport } from './http/exchange.ts';
import type { Io } from './io/io.ts';
import type { Job } from './ledger/event.ts';
import type { Ledger } from './ledger/ledger.ts';
import { once } from './once.ts';

/** Everything a command may use. The costly parts are made when they are first asked for. */
export interface Context {
  readonly host: Host;
  readonly io: Io;
  readonly clock: Clock;
  readonly globals: GlobalFlags;
  /** Aborted once, by the first interrupt; its reason is an Interrupted. */
  readonly signal: AbortSignal;
  /** The settings in force, each with where it comes from. */
  settings(): Promise<Settings>;
  /** As `settings`, where the profile that is named need not be there yet. */
  settingsOfNewProfile(): Promise<Settings>;
  /** The gateway in force. Throws GwError `auth` where none is configured or its key cannot be read. */
  gateway(): Promise<Access>;
  /** A gateway with a key that is not stored yet. */
  gatewayWith(gateway: { readonly baseUrl: string; readonly key: string }): Promise<Access>;
  /** Whether a job belongs to the gateway that the flags name; true where they name none. */
  ownsJob(job: Job): Promise<boolean>;
  /** The gateway that a job of the ledger belongs to. Throws GwError `auth` where it cannot be reached from here. */
  gatewayOf(job: Job): Promise<Access>;
  ledger(): Promise<Ledger>;
}

/** A command line that goes on from here: the words, with the gateway that this run was given. */
export function commandFor(words: string, { globals }: Pick<Context, 'globals'>): string {
  if (globals.sandbox) return `${words} --sandbox`;
  const { profile, baseUrl } = globals;
  return [
    words,
    ...(profile ? ['--profile', profile] : []),
    ...(baseUrl ? ['--base-url', baseUrl] : []),
  ].join(' ');
}

/** A gateway, ready to be used. */
export interface Access {
  /** How it stands in the ledger: its address; the embedded one has a new address in every run. */
  readonly name: string;
  readonly client: Client;
  /** For outputs; knows no key. */
  readonly transport: Transport;
}

/** How the embedded gateway stands in the ledger. */
const EMBEDDED = 'sandbox:';

/** Longest wait for a connection, apart from the silence that --timeout bounds. */
const CONNECT_MS = 10_000;

interface Parts {
  readonly host: Host;
  readonly io: Io;
  readonly globals: GlobalFlags;
  readonly signal: AbortSignal;
}

/** Builds the context of one run, and the function that ends what it started. */
export function makeContext({ host, io, globals, signal }: Parts): {
  ctx: Context;
  close: () => Promise<void>;
} {
  const closers: (() => Promise<void>)[] = [];
  const settingsWith = async (flags: SettingsFlags) => {
    const { resolveSettings } = await import('./config/settings.ts');
    return resolveSettings({ flags, host });
  };
  const settings = once(() => settingsWith(globals));
  const sandbox = once(async () => {
    const { startEmbedded } = await import('./embedded-sandbox.ts');
    const running = await startEmbedded(host, (await settings()).account.value);
    closers.push(() => running.close());
    return running.baseUrl;
  });
  const transportVia = (proxied: boolean) =>
    once(async () => {
      const { createTransport, proxiesFromEnv } = await import('./http/transport.ts');
      const made = createTransport({
        proxies: proxied ? proxiesFromEnv(host.env) : undefined,
        tuneWasm: host.mayTouchFlags(),
      });
      closers.push(() => made.close());
      return made;
    });
  // No proxy stands between gw and its own embedded gateway.
  const direct = transportVia(false);
  const proxied = transportVia(true);
  const budget = once(async () => (await import('./http/retry-budget.ts')).createRetryBudget(host.clock));

  const accessTo = async (inForce: Settings): Promise<Access> => {
    const showsOnly = globals.dryRun === true || globals.curl === true;
    const baseUrl = inForce.sandbox ? await sandbox() : inForce.gatewayUrl();
    const key = showsOnly ? undefined : await inForce.key();
    if (key !== undefined && !inForce.sandbox) io.hideSecret(key);
    return accessWith({ baseUrl, key, providerVersion: inForce.providerVersion.value }, inForce);
  };
  const accessWith = async (gateway: Gateway, inForce: Settings): Promise<Access> => {
    const { createClient } = await import('./http/http-client.ts');
    const transport = await (inForce.sandbox ? direct() : proxied());
    const client = createClient({
      transport,
      gateway,
      retries: inForce.retries.value,
      silenceMs: inForce.timeoutMs.value,
      connectMs: CONNECT_MS,
      clock: host.clock,
      random: host.random,
      budget: await budget(),
      userAgent: 'gw',
      ...(io.mode.verbose && { trace: (line: string) => io.trace(line) }),
    });
    if (!io.mode.verbose) return { name: nameOf(inForce), client, transport };
    const { tracedTransport } = await import('./http/traced-transport.ts');
    const told = tracedTransport(transport, host.clock, (line) => io.trace(line));
    return { name: nameOf(inForce), client, transport: told };
  };
  const gateway = once(async () => accessTo(await settings()));
  const others = new Map<string, Promise<Access>>();

  /** The settings under which a job was made, as far as they can still be had. */
  const settingsOf = async (job: Job): Promise<Settings> => {
    const inForce = await settings();
    if (nameOf(inForce) === job.gateway) return inForce;
    const { insecureHttp, timeout, retries } = globals;
    const made = await settingsWith({
      insecureHttp,
      timeout,
      retries,
      ...(job.gateway === EMBEDDED ? { sandbox: true } : { profile: job.profile, storedOnly: true }),
    });
    if (nameOf(made) === job.gateway) return made;
    throw new GwError(
      'auth',
      `job ${job.id ?? job.key} belongs to ${job.gateway}, and profile ${job.profile} is not stored with that address`,
      {
        hint: `give that gateway with --base-url ${job.gateway} and its key with GW_API_KEY`,
      },
    );
  };

  const ctx: Context = {
    host,
    io,
    globals,
    signal,
    clock: host.clock,
    settings,
    settingsOfNewProfile: () => settingsWith({ ...globals, profileMayBeNew: true }),
    gateway,
    gatewayWith: async (made) => accessWith(made, await settingsWith({ ...globals, profileMayBeNew: true })),
    ownsJob: async (job) => {
      const named =
        globals.profile !== undefined || globals.baseUrl !== undefined || globals.sandbox === true;
      return !named || nameOf(await settings()) === job.gateway;
    },
    gatewayOf: async (job) => {
      if (nameOf(await settings()) === job.gateway) return gateway();
      const id = `${job.profile} ${job.gateway}`;
      const access = others.get(id) ?? settingsOf(job).then(accessTo);
      others.set(id, access);
      return access;
    },
    ledger: once(async () => {
      const { openLedger } = await import('./ledger/open-ledger.ts');
      const { stateDir } = await import('./config/dirs.ts');
      return openLedger({
        dir: stateDir(host),
        clock: host.clock,
        keepPrompts: readSwitch(host.env, 'GW_LEDGER_PROMPTS') ?? true,
        hideSecret: (text) => io.withoutSecrets(text),
      });
    }),
  };
  return {
    ctx,
    close: async () => {
      for (const close of closers.reverse()) await close();
    },
  };
}

const nameOf = (settings: Settings): string => (settings.sandbox ? EMBEDDED : (settings.baseUrl.value ?? ''));
