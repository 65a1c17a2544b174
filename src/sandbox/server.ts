import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { alphaModels } from '../gateway/alpha/models.ts';
import { gammaModels } from '../gateway/gamma/models.ts';
import { billingQuery, modelsList } from '../gateway/models.ts';
import { urlHost } from '../loopback.ts';
import { alphaRoutes } from './alpha/routes.ts';
import { apiListener } from './api-listener.ts';
import { assetRoutes } from './asset/routes.ts';
import { betaRoutes } from './beta/routes.ts';
import { type CallbackPorts, Callbacks } from './callbacks.ts';
import type { ServerCertificate } from './certificate.ts';
import { TOKENS_PER_S } from './chat/answer.ts';
import { chatModels } from './chat/input.ts';
import { chatRoutes } from './chat/routes.ts';
import { CONTROL_PATH, Control } from './control.ts';
import { diskStore } from './disk-store.ts';
import { type Fault, FaultDraw } from './faults.ts';
import { gammaRoutes } from './gamma/routes.ts';
import { sandboxImageModels } from './image/order.ts';
import { imageRoutes } from './image/routes.ts';
import type { SandboxRequest } from './listener.ts';
import { outputListener } from './output-listener.ts';
import { jsonReply } from './reply.ts';
import type { Route, SandboxSettings, World } from './route.ts';
import { memoryStore } from './store.ts';
import { type SandboxStatus, type SandboxTask, statusAt } from './task.ts';

type Needed = 'key' | 'account' | 'speed' | 'clipsDir' | 'wasmDir';
type Open = { readonly [K in Exclude<keyof SandboxSettings, Needed>]?: SandboxSettings[K] | undefined };

export interface SandboxOptions extends Pick<SandboxSettings, Needed>, Open {
  readonly faults: readonly Fault[];
  /** Where tasks are stored between runs, shared by any number of servers; without it they are lost at the end. */
  readonly stateDir?: string | undefined;
  /** Ports of the API and of the outputs; 0 or absent means any free port. */
  readonly port?: number | undefined;
  readonly outputPort?: number | undefined;
  readonly tls?: ServerCertificate | undefined;
  /** Loopback ports that status callbacks may use; none by default. */
  readonly callbackPorts?: CallbackPorts | undefined;
  /** Enables `/_sandbox/…`, for tests of other programs. */
  readonly control?: boolean | undefined;
  /** Receives facts that no reply can contain, each once. */
  readonly tell?: ((what: string) => void) | undefined;
  /** Unix milliseconds; the system's clock if absent. */
  readonly now?: (() => number) | undefined;
  /** Called when a request is over, with or without a reply. */
  readonly log?: ((request: SandboxRequest) => void) | undefined;
  /** True if `requests` keeps all requests with their bodies; by default only without a `stateDir`. */
  readonly keepRequests?: boolean | undefined;
  /** Decides which requests a `P%` fault strikes (default 1). */
  readonly faultSeed?: number | undefined;
}

export interface Sandbox {
  /** `http://HOST:PORT` (https with `tls`) of the API, and of the outputs, which are another origin. */
  readonly baseUrl: string;
  readonly outputUrl: string;
  /** Every request so far, without those to the sandbox itself; oldest first, and empty if they are not kept. */
  readonly requests: readonly SandboxRequest[];
  tasks(): (SandboxTask & { readonly status: SandboxStatus })[];
  /** Drops all connections and callbacks, and stops. */
  close(): Promise<void>;
}

/**
 * Starts the embedded gateway: two HTTP servers on this machine that answer as the gateway's document says. Throws
 * RangeError unless the speed is above 0, and the system's error if a port or the state directory cannot be used
 * (`EADDRINUSE`, `EACCES`).
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  if (!(options.speed > 0)) throw new RangeError(`the speed must be a number above 0, not ${options.speed}`);
  const { tls, stateDir, keepRequests = stateDir === undefined, host = '127.0.0.1' } = options;
  const requests: SandboxRequest[] = [];
  const note = (entry: SandboxRequest, done: boolean) => {
    if (done) options.log?.(entry);
    else if (!entry.path.startsWith(CONTROL_PATH)) {
      if (keepRequests) requests.push(entry);
      control?.note(entry);
    }
  };
  let aheadMs = 0;
  const now = () => (options.now ?? Date.now)() + aheadMs;
  const told = new Set<string>();
  const tell = (what: string) => {
    if (!told.has(what)) options.tell?.(what);
    told.add(what);
  };
  const callbacks = new Callbacks(now, options.callbackPorts ?? [], tell);
  const control = options.control
    ? new Control((ms) => {
        aheadMs += ms;
        callbacks.clockMoved();
      })
    : undefined;
  let outputUrl = '';
  const world: World = {
    store: stateDir === undefined ? memoryStore() : diskStore(stateDir),
    key: options.key,
    account: options.account,
    speed: options.speed,
    tokensPerS: (options.tokensPerS ?? TOKENS_PER_S) * options.speed,
    minTaskMs: options.minTaskMs ?? 0,
    control,
    strict: options.strict ?? false,
    tell,
    faults: new FaultDraw(options.faults, options.faultSeed ?? 1),
    slowGapMs: options.slowGapMs ?? 250,
    host,
    cors: options.cors ?? [],
    clipsDir: options.clipsDir,
    wasmDir: options.wasmDir,
    callbacks,
    now,
    outputUrl: () => outputUrl,
  };
  const outputs = await open(outputListener(world, note), options.outputPort ?? 0, host, tls);
  outputUrl = outputs.origin;
  const api = await open(apiListener(routes, world, note), options.port ?? 0, host, tls).catch(
    async (error: unknown) => {
      await outputs.close();
      throw error;
    },
  );
  return {
    baseUrl: api.origin,
    outputUrl,
    requests,
    tasks: () => world.store.tasks().map((task) => ({ ...task, status: statusAt(task, world.now()).status })),
    close: async () => {
      callbacks.close();
      await Promise.all([api.close(), outputs.close()]);
    },
  };
}

async function open(listener: RequestListener, port: number, host: string, tls?: ServerCertificate) {
  const server = tls ? (await import('node:https')).createServer(tls, listener) : createServer(listener);
  server.listen(port, host);
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    origin: `${tls ? 'https' : 'http'}://${urlHost(host)}:${taken}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** `GET /v1/models` ("Model list entry"): the models that the sandbox serves. */
const modelsRoute: Route = {
  endpoint: modelsList,
  answer: () =>
    jsonReply(200, {
      object: 'list',
      data: [
        ...Object.entries(chatModels).map(([id, model]) => entry(id, model.ownedBy, model.endpointTypes)),
        ...Object.entries(sandboxImageModels).map(([id, ownedBy]) => entry(id, ownedBy, ['openai'])),
        ...Object.keys(alphaModels).map((id) => entry(id, 'alpha', ['openai'])),
        ...Object.keys(gammaModels).map((id) => entry(id, 'gamma', ['openai'])),
      ],
    }),
};

/** `GET /v1/dashboard/billing/subscription`: in the public form, because the document shows none. */
const billingRoute: Route = {
  endpoint: billingQuery,
  answer: (_, world: World) => {
    const limit = limitUsd[world.account];
    return jsonReply(200, {
      object: 'billing_subscription',
      has_payment_method: true,
      canceled: false,
      canceled_at: null,
      delinquent: null,
      access_until: Math.floor(world.now() / 1000) + YEAR_S,
      soft_limit_usd: limit * SOFT_SHARE,
      hard_limit_usd: limit,
      system_hard_limit_usd: limit,
      plan: {
        title: world.account === 'enterprise' ? 'Enterprise' : 'Personal',
        id: `sandbox-${world.account}`,
      },
      account_name: 'Sandbox',
    });
  },
};

/** All routes of the embedded gateway, family by family. */
export const routes: readonly Route[] = [
  modelsRoute,
  billingRoute,
  ...chatRoutes,
  ...imageRoutes,
  ...alphaRoutes,
  ...betaRoutes,
  ...gammaRoutes,
  ...assetRoutes,
];

/** The creation time of every sandbox model, in Unix seconds. */
const CREATED_S = 1_767_225_600;

const entry = (id: string, ownedBy: string, endpointTypes: readonly string[]) => ({
  id,
  object: 'model',
  created: CREATED_S,
  owned_by: ownedBy,
  supported_endpoint_types: endpointTypes,
});

/** Invented amounts, because the document states none. */
const limitUsd = { enterprise: 10_000, personal: 120 } as const;
const SOFT_SHARE = 0.8;
const YEAR_S = 365 * 86_400;
