import type { Followers } from './commands/video/followers.ts';
import { readSwitch } from './config/environment.ts';
import type { Settings, SettingsFlags } from './config/settings.ts';
import type { Amount } from './config/table.ts';
import { Ended } from './errors.ts';
import type { GlobalFlags } from './flags/flag.ts';
import { type Clock, type Host, once } from './host.ts';
import type { Client, Gateway } from './http/client.ts';
import type { Transport } from './http/exchange.ts';
import type { Io } from './io/io.ts';
import type { Pricing } from './jobs/cost.ts';
import type { Begun } from './jobs/create/budget.ts';
import type { JobEvents } from './jobs/job-events.ts';
import type { Job } from './ledger/event.ts';
import { EMBEDDED } from './ledger/job-key.ts';
import type { Ledger, UnreadableLine } from './ledger/ledger.ts';
import type { OutputDoor } from './shots/outputs.ts';

/** Everything a command may use. Costly parts are made at first use. */
export interface Context {
  readonly host: Host;
  readonly io: Io;
  readonly clock: Clock;
  readonly globals: GlobalFlags;
  /** The words typed after `gw`, for messages that name the next command. */
  readonly argv: readonly string[];
  /** Aborted once, by the first interrupt; its reason is an Interrupted. */
  readonly signal: AbortSignal;
  settings(): Promise<Settings>;
  /** As `settings`, but the named profile may not exist yet. */
  settingsOfNewProfile(): Promise<Settings>;
  /** The current gateway. Throws GwError `auth` if none is configured or its API key cannot be read. */
  gateway(): Promise<Access>;
  gatewayWith(gateway: { readonly baseUrl: string; readonly key: string }): Promise<Access>;
  /** True if a job belongs to the profile or gateway that the flags name, or if they name none. */
  ownsJob(job: Job): Promise<boolean>;
  /**
   * The gateway of a job in the ledger, with its API key; without the key if requests are only shown. Throws GwError
   * `auth`, naming the job, if that gateway cannot be reached from here.
   */
  gatewayOf(job: Job): Promise<Access>;
  /** As `gatewayOf`, for work without API requests: showing a request, or a download that needs no key. */
  gatewayWithoutKey(job: Job): Promise<Access>;
  ledger(): Promise<Ledger>;
  /** The cost of jobs by the profile's price file. Throws GwError `usage` for a faulty file. */
  pricing(): Promise<Pricing>;
  /** Runs the user's command for each saved file (`--exec`, `after_save`), one at a time. */
  readonly afterSave: AfterSave;
  /** The paid jobs that this run has begun, for its limits. */
  readonly begun: Begun;
  /** With `--events`: receives every event of every job. */
  readonly events?: JobEvents | undefined;
  /** Set by `batch check --online`: the gateway for checks of requests that are only shown. */
  readonly online?: (() => Promise<Access>) | undefined;
  /** In a batch: the followers that all rows share. */
  readonly followers?: Followers | undefined;
  /** Restricts the job outputs that an untrusted file may name; undefined if there is no restriction. */
  readonly outputs?: OutputDoor | undefined;
  /** In `gw mcp`: the most jobs and cost that its tools may create per hour. */
  readonly agentLimits?: { readonly maxJobs: number; readonly maxCost?: Amount | undefined } | undefined;
}

type AfterSave = ReturnType<typeof newAfterSave>;

/** Commands run one at a time, so that a thousand saved files do not start a thousand processes. */
export function newAfterSave() {
  const failures: unknown[] = [];
  let last = Promise.resolve();
  return {
    /** The command from `--exec`; if undefined, the setting `after_save` applies. */
    command: undefined as string | undefined,
    add(work: () => Promise<void>): void {
      last = last.then(work).catch((error: unknown) => void failures.push(error));
    },
    /** Waits for all commands and returns their errors. */
    async ended(): Promise<readonly unknown[]> {
      await last;
      return failures;
    },
  };
}

/** True if the flags name a profile or a gateway: then the command concerns only the jobs of that one. */
export const namesGateway = ({ globals: { profile, baseUrl, sandbox } }: Pick<Context, 'globals'>): boolean =>
  profile !== undefined || baseUrl !== undefined || sandbox === true;

/** A command line for a hint: the words, with the flags for the gateway of this run. */
export function commandFor(words: string, { globals }: Pick<Context, 'globals'>): string {
  if (globals.sandbox) return `${words} --sandbox`;
  const { profile, baseUrl } = globals;
  const named = profile ? ` --profile ${profile}` : '';
  return `${words}${named}${baseUrl ? ` --base-url ${baseUrl}` : ''}`;
}

/**
 * Prints a note if an interrupt comes while a paid request is under way: gw waits for the reply, because it holds the
 * paid result. The client calls `onExchange`; `stop` removes the listener.
 */
export function tellIfInterrupted({ io, signal }: Pick<Context, 'io' | 'signal'>) {
  let isUnderWay = false;
  const tell = () => {
    if (!isUnderWay || signal.reason instanceof Ended) return;
    io.note('waiting for the answer to a paid request; interrupt again to end at once');
  };
  signal.addEventListener('abort', tell);
  return {
    onExchange: (isNow: boolean) => {
      isUnderWay = isNow;
    },
    stop: () => signal.removeEventListener('abort', tell),
  };
}

/** A gateway that is ready for requests. */
export interface Access {
  /** The gateway's name in the ledger: its address, or a fixed name for the sandbox, whose address changes. */
  readonly name: string;
  readonly client: Client;
  /** Identifies the client's API key; absent if there is none. */
  readonly keyId?: string | undefined;
  /** Downloads outputs; it never sends the API key. */
  readonly transport: Transport;
}

const USER_AGENT = 'gw';

/** Longest wait for a connection; --timeout limits only the silence after it. */
const CONNECT_MS = 10_000;

type Parts = Pick<Context, 'host' | 'io' | 'globals' | 'argv' | 'signal' | 'events' | 'afterSave'>;

/** Opens the gateways of a run, and closes them at its end. */
export class Gateways {
  readonly #showsOnly: boolean;
  readonly #closers: (() => Promise<void>)[] = [];
  readonly #transports = new Map<string | undefined, Promise<Transport>>();
  readonly #budget = once(async () =>
    (await import('./http/http-client.ts')).createRetryBudget(this.parts.host.clock),
  );
  readonly settings = once(() => this.settingsWith(this.parts.globals));
  readonly gateway = once(async () => this.accessTo(await this.settings()));
  readonly sandbox = once(async () => {
    const { host, io } = this.parts;
    const { startEmbedded } = await import('./embedded-sandbox.ts');
    const how = { showsOnly: this.#showsOnly, tell: (what: string) => io.note(what) };
    const running = await startEmbedded(host, (await this.settings()).account.value, how);
    this.#closers.push(() => running.close());
    return running;
  });

  constructor(private readonly parts: Parts) {
    this.#showsOnly = parts.globals.dryRun === true || parts.globals.curl === true;
  }

  async settingsWith(flags: SettingsFlags): Promise<Settings> {
    const { resolveSettings } = await import('./config/settings.ts');
    return resolveSettings({ flags, host: this.parts.host, isVerbose: this.parts.io.mode.verbose });
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close();
  }

  /** One transport for each set of trusted roots. The sandbox shares it, because loopback never uses a proxy. */
  #transportFor(inForce: Settings): Promise<Transport> {
    const cacert = inForce.cacert.value;
    const made = this.#transports.get(cacert) ?? this.#makeTransport(inForce);
    this.#transports.set(cacert, made);
    return made;
  }

  #hasCertificates({ cacert }: Settings): boolean {
    const { clientCert, clientKey } = this.parts.globals;
    return (cacert.value ?? clientCert ?? clientKey) !== undefined;
  }

  async #makeTransport(inForce: Settings): Promise<Transport> {
    const { HttpTransport, proxiesFromEnv } = await import('./http/transport.ts');
    const { host } = this.parts;
    const proxies = proxiesFromEnv(host.env);
    const shared = async () => new HttpTransport({ proxies, tuneFirstReply: false });
    if (host.program && !this.#hasCertificates(inForce))
      return host.program.share(`transport ${JSON.stringify(proxies)}`, shared);
    const made = new HttpTransport({
      proxies,
      tuneFirstReply: host.mayTouchFlags(),
      ...(this.#hasCertificates(inForce) && (await this.#tlsOf(inForce))),
    });
    this.#closers.push(() => made.close());
    return made;
  }

  async #tlsOf({ cacert }: Settings) {
    const { readCertificates } = await import('./config/certificates.ts');
    const { originOf } = await import('./config/base-url.ts');
    const { host, globals } = this.parts;
    const { clientCert, clientKey } = globals;
    const { ca, identity } = await readCertificates({ cacert, clientCert, clientKey }, host);
    const { sandbox, baseUrl } = await this.settings();
    const isShown = identity !== undefined && !sandbox && baseUrl.value !== undefined;
    return { ca, ...(isShown && { identity: { ...identity, origin: originOf(baseUrl.value) } }) };
  }

  async accessTo(inForce: Settings): Promise<Access> {
    const { io } = this.parts;
    if (inForce.note !== undefined) io.note(inForce.note);
    const baseUrl = inForce.sandbox ? (await this.sandbox()).baseUrl : inForce.gatewayUrl();
    const key = this.#showsOnly ? undefined : await inForce.key();
    // A request that is only shown needs no API key, but a known key must be hidden wherever it appears in it.
    const hidden = key ?? (await inForce.keyAtHand());
    if (hidden !== undefined && !inForce.sandbox) io.hideSecret(hidden);
    const { newKey } = inForce;
    const made =
      newKey &&
      (async () => {
        const another = await newKey();
        io.hideSecret(another);
        return another;
      });
    const providerVersion = inForce.providerVersion.value;
    return this.accessWith({ baseUrl, key, newKey: made, providerVersion }, inForce);
  }

  /** Opens the gateway of a job by its address, without an API key. */
  async accessWithoutKey(job: Job, own: Settings): Promise<Access> {
    const baseUrl = own.sandbox ? (await this.sandbox()).baseUrl : job.gateway;
    return this.accessWith({ baseUrl, key: undefined }, own, job.gateway);
  }

  async accessWith(gateway: Gateway, inForce: Settings, name = gatewayName(inForce)): Promise<Access> {
    const { host, io } = this.parts;
    // A shown request needs no transport, but certificate files are still read so that faults are reported.
    const made =
      this.#showsOnly && !this.#hasCertificates(inForce)
        ? lateTransport(() => this.#transportFor(inForce))
        : await this.#transportFor(inForce);
    const transport = inForce.sandbox
      ? (await import('./embedded-sandbox.ts')).throughThisRun(made, await this.sandbox())
      : made;
    const { createClient } = await import('./http/http-client.ts');
    const client = createClient({
      transport,
      gateway,
      retries: inForce.retries.value,
      silenceMs: inForce.timeoutMs.value,
      connectMs: CONNECT_MS,
      clock: host.clock,
      random: host.random,
      budget: await this.#budget(),
      userAgent: USER_AGENT,
      awaiting: (what: string) => io.awaiting(what),
      ...(!io.stderrIsTerminal && { say: (line: string) => io.note(line) }),
      ...(io.mode.verbose && { trace: (line: string) => io.trace(line) }),
    });
    const outputs = once(async () => {
      const { outputTransport } = await import('./http/output-links.ts');
      const made = outputTransport(transport, { baseUrl: gateway.baseUrl, warn: (text) => io.warn(text) });
      if (!io.mode.verbose) return made;
      return (await import('./http/trace.ts')).tracedTransport(made, host.clock, (line) => io.trace(line));
    });
    const { keyIdOf } = await import('./config/api-key.ts');
    const { key } = gateway;
    const keyId = once(() => (inForce.sandbox || key === undefined ? undefined : keyIdOf(key)));
    return {
      name,
      client,
      // Computed at first use, because loading the hash takes 2 ms.
      get keyId() {
        return keyId();
      },
      transport: lateTransport(outputs),
    };
  }
}

/** Builds the context of one run, and the function that closes what the run opened. */
export function makeContext(parts: Parts): { ctx: Context; close: () => Promise<void> } {
  const { host, io, globals, argv, signal, events, afterSave } = parts;
  const gateways = new Gateways(parts);
  const { settings, gateway } = gateways;
  const settingsOfNewProfile = () => gateways.settingsWith({ ...globals, profileMayBeNew: true });
  const jobGateways = once(async () =>
    (await import('./job-gateways.ts')).createJobGateways(gateways, globals),
  );

  const ctx: Context = {
    host,
    io,
    globals,
    argv,
    signal,
    clock: host.clock,
    events,
    afterSave,
    settings,
    settingsOfNewProfile,
    gateway,
    gatewayWith: async (made) => gateways.accessWith(made, await settingsOfNewProfile()),
    ownsJob: async (job) => !namesGateway(parts) || (await jobGateways()).ownsJob(job),
    gatewayOf: async (job) => (await jobGateways()).gatewayOf(job),
    gatewayWithoutKey: async (job) => (await jobGateways()).gatewayWithoutKey(job),
    ledger: once(async () => {
      const ledger = await openLedgerOf(parts, settings);
      return events ? events.watching(ledger) : ledger;
    }),
    pricing: once(async () => {
      const { Pricing } = await import('./jobs/cost.ts');
      const file = (await settings()).prices.value;
      if (file === undefined) return new Pricing(undefined, ctx.ledger);
      const { readPriceFile } = await import('./jobs/price-file.ts');
      return new Pricing(await readPriceFile(file), ctx.ledger);
    }),
    begun: new Map(),
  };
  return { ctx, close: () => gateways.close() };
}

async function openLedgerOf({ host, io, afterSave }: Parts, settings: Context['settings']): Promise<Ledger> {
  const { openLedger } = await import('./ledger/open-ledger.ts');
  const { trustedStateDir } = await import('./config/dirs.ts');
  const ranFor = new Map<string, string>();
  const ledger: Ledger = openLedger({
    dir: trustedStateDir(host),
    refuseNewPlace: () => trustedStateDir(host),
    clock: host.clock,
    keepPrompts: readSwitch(host.env, 'GW_LEDGER_PROMPTS') ?? true,
    hideSecret: (text) => io.withoutSecrets(text),
    // The warning is printed once per run, however often the ledger is read.
    tellDamage: once(() => warnOfDamage(ledger.unreadable, io)),
    completed: async (job) =>
      (await import('./commands/jobs/find-jobs.ts')).completed(job, await settings(), host.cwd),
    onSaved: (key, file) =>
      afterSave.add(async () => {
        const inForce = await settings();
        const command = afterSave.command ?? inForce.afterSave.value;
        const [job] = command === undefined ? [] : await ledger.find({ ids: [key] });
        // Two creates may have been answered with one task, whose output is one file.
        const output = `${job?.gateway} ${job?.id ?? key} ${file.role}`;
        if (command === undefined || !job || (ranFor.get(output) ?? key) !== key) return;
        ranFor.set(output, key);
        const { runAfterSave } = await import('./commands/after-save.ts');
        await runAfterSave(command, file.path, job, { host, note: io.note.bind(io), settings: inForce });
      }),
  });
  return ledger;
}

const NAMED_LINES = 5;

/** Warns of unreadable ledger lines, under -q too: a line may be the only trace of a paid job. */
function warnOfDamage(unreadable: readonly UnreadableLine[], io: Io): void {
  for (const { path, line } of unreadable.slice(0, NAMED_LINES))
    io.warn(`${path}:${line} cannot be read and was skipped; gw doctor says what to do`, 'urgent');
  const more = unreadable.length - NAMED_LINES;
  if (more > 0) io.warn(`${more} more lines of the ledger cannot be read: see gw doctor`, 'urgent');
}

const lateTransport = (make: () => Promise<Transport>): Transport => ({
  exchange: async (request) => (await make()).exchange(request),
  stream: async (request, handler) => (await make()).stream(request, handler),
  close: async () => {},
});

/** The ledger's name for the gateway of these settings; empty if none is configured. */
export const gatewayName = (settings: Settings): string =>
  settings.sandbox ? EMBEDDED : (settings.baseUrl.value ?? '');
