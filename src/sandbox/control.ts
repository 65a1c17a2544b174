import type { IncomingMessage } from 'node:http';
import * as z from 'zod/mini';
import { checkCredential } from './account.ts';
import { FaultSpecError, parseFaults } from './faults.ts';
import type { SandboxRequest } from './listener.ts';
import { jsonReply, Refusal, type SandboxReply } from './reply.ts';
import { checkBody, readBody, refuseField } from './request-body.ts';
import type { World } from './route.ts';

// Requests of other programs' tests to the sandbox itself (`--control`), under a path that the service cannot have.

export const CONTROL_PATH = '/_sandbox/';
const KEPT_REQUESTS = 1000;
const MAX_BODY_BYTES = 64 * 1024;

/** The control endpoint in words, a line each, for help and README. */
export const controlHelp: readonly string[] = [
  'GET /_sandbox/ tells speed, time, faults and how many tasks there are',
  `GET /_sandbox/requests lists the last ${KEPT_REQUESTS} requests, each with its verdict and fault`,
  'POST /_sandbox/next {"fault":"task:fail=CODE"} lets one fault strike once, before all others',
  'PUT /_sandbox/faults {"faults":"SPEC"} replaces the faults; "" ends them',
  'POST /_sandbox/time {"forward":SECONDS} moves the clock: tasks run on, links and records die',
  'POST /_sandbox/reset forgets tasks, assets, counts and requests; faults are those of the start again',
];

const bodies = {
  'POST next': z.strictObject({ fault: z.string() }),
  'PUT faults': z.strictObject({ faults: z.string() }),
  'POST time': z.strictObject({
    forward: z.number().check(z.gte(0, 'time does not go back'), z.lte(1e10, 'too far')),
  }),
} as const;

/** Keeps the log of requests, and answers control requests. */
export class Control {
  readonly #requests: SandboxRequest[] = [];

  /** @param forward moves the sandbox's clock by this many milliseconds */
  constructor(private readonly forward: (ms: number) => void) {}

  /** Logs a request; its headers contain keys and are never shown. */
  note(entry: SandboxRequest): void {
    this.#requests.push(entry);
    if (this.#requests.length > KEPT_REQUESTS) this.#requests.shift();
  }

  /** Throws Refusal for a wrong key, path or body. */
  async answer(request: IncomingMessage, url: URL, world: World): Promise<SandboxReply> {
    checkCredential('bearer', request.headers, world.key);
    const asked = `${request.method} ${url.pathname.slice(CONTROL_PATH.length)}`;
    const bodyAs = async <T>(schema: z.ZodMiniType<T>): Promise<T> => {
      const { json } = await readBody(request, { maxBytes: MAX_BODY_BYTES, takesForm: false });
      checkBody(schema, json, world);
      return json as T;
    };
    if (asked === 'GET ') return this.#state(world);
    if (asked === 'GET requests') return jsonReply(200, { requests: this.#requests.map(shown) });
    if (asked === 'POST next') {
      const { fault } = await bodyAs(bodies[asked]);
      const [first, ...others] = faultsOf(fault, 'fault');
      if (!first || others.length > 0) throw refuseField(['fault'], 'one fault');
      world.faults.strikeNext({ ...first, times: 1 });
    } else if (asked === 'PUT faults') {
      const { faults } = await bodyAs(bodies[asked]);
      world.faults.replace(faults === '' ? [] : faultsOf(faults, 'faults'));
    } else if (asked === 'POST time') {
      this.forward((await bodyAs(bodies[asked])).forward * 1000);
    } else if (asked === 'POST reset') {
      world.store.clear();
      world.faults.reset();
      this.#requests.length = 0;
    } else throw new Refusal(404, `The sandbox has no ${asked}: ${controlHelp.join('; ')}.`, 'NotFound');
    return this.#state(world);
  }

  #state({ store, speed, strict, account, faults, now }: World): SandboxReply {
    return jsonReply(200, {
      now: new Date(now()).toISOString(),
      speed: Number.isFinite(speed) ? speed : null,
      strict,
      account,
      faults: faults.specs(),
      tasks: store.tasks().length,
      requests: this.#requests.length,
    });
  }
}

/** A request without its headers, and without the query of an output URL, which gives access to it. */
const shown = ({ headers: _, path, atMs, server, ...entry }: SandboxRequest) => ({
  server,
  at: new Date(atMs).toISOString(),
  path: server === 'output' ? path.replace(/\?.*/, '') : path,
  ...entry,
});

function faultsOf(spec: string, field: string) {
  try {
    return parseFaults(spec);
  } catch (error) {
    if (error instanceof FaultSpecError) throw refuseField([field], error.message);
    throw error;
  }
}
