import type { IncomingMessage, RequestListener } from 'node:http';
import type { Resend } from '../gateway/endpoint.ts';
import { countRequest } from './account.ts';
import { checkCredential } from './credentials.ts';
import { deliver, htmlReply, mangle, vanish } from './deliver.ts';
import type { Struck } from './fault-draw.ts';
import type { FaultPlace } from './faults.ts';
import { listen, type NoteRequest } from './listener.ts';
import { errorReply, Refusal, type SandboxReply } from './reply.ts';
import { checkBody, readJsonBody } from './request-body.ts';
import type { SandboxRequest } from './request-log.ts';
import { findRoute, type Route } from './route.ts';
import type { World } from './world.ts';

/** The gateway's own address: routes, credentials, bodies, rates, then the endpoint. */
export function apiListener(routes: readonly Route[], world: World, note: NoteRequest): RequestListener {
  return listen(
    'api',
    () => world.now(),
    note,
    async (request, response, url, entry) => {
      const found = findRoute(routes, entry.method, url.pathname);
      const struck =
        'route' in found ? world.faults.draw(faultPlaces[found.route.endpoint.resend]) : undefined;
      if (struck) entry.fault = struck.fault.spec;
      if (vanish(struck, request)) return;
      const answer = async () => {
        if (!('route' in found)) throw notRouted(entry.method, url.pathname, found.methods);
        const { route, params } = found;
        const instead = insteadOf(struck, url, world);
        if (instead) {
          if (route.body)
            await readJsonBody(request, route.endpoint.maxBodyBytes).then((body) => noteBody(entry, body));
          return instead;
        }
        const body = await letIn(request, route, world, entry);
        return route.answer({ params, url, body }, world);
      };
      const reply = mangle(struck, await answer().catch(refused));
      await deliver(reply, {
        request,
        response,
        entry,
        struck,
        nowMs: world.now(),
        slowGapMs: world.slowGapMs,
      });
    },
  );
}

const faultPlaces: Readonly<Record<Resend, FaultPlace>> = {
  paid: 'create',
  upload: 'create',
  read: 'query',
  change: 'query',
  chat: 'chat',
};

function notRouted(method: string, path: string, methods: readonly string[]): Refusal {
  if (methods.length === 0) return new Refusal(404, `There is nothing at the path ${path}.`, 'NotFound');
  const allow = methods.join(', ');
  return new Refusal(405, `${path} takes ${allow}, not ${method}.`, 'MethodNotAllowed', { allow });
}

/** Checks credential, body and rate in this order; returns the body. Throws Refusal. */
async function letIn(
  request: IncomingMessage,
  route: Route,
  world: World,
  entry: SandboxRequest,
): Promise<unknown> {
  checkCredential(route.endpoint.credential, request.headers, world.key);
  const body = route.body ? await readJsonBody(request, route.endpoint.maxBodyBytes) : undefined;
  noteBody(entry, body);
  if (route.pool) countRequest(world.store, route.pool(body), world.account, world.now());
  if (route.body) checkBody(route.body, body);
  return body;
}

function noteBody(entry: SandboxRequest, body: unknown): void {
  if (body !== undefined) entry.body = body;
}

/** The reply of the faults that answer in the endpoint's place. */
function insteadOf(struck: Struck | undefined, url: URL, world: World): SandboxReply | undefined {
  const fault = struck?.fault;
  if (fault?.kind === 'html') return htmlReply();
  if (fault?.kind === 'redirect') {
    return { ...errorReply(307), headers: { location: `${world.outputUrl()}${url.pathname}${url.search}` } };
  }
  if (fault?.status === undefined) return undefined;
  return errorReply(fault.status, {}, retryAfter(fault.retryAfterS));
}

const retryAfter = (seconds: number | undefined): { [name: string]: string } =>
  seconds === undefined ? {} : { 'retry-after': String(seconds) };

function refused(error: unknown): SandboxReply {
  if (error instanceof Refusal) return error.toReply();
  return errorReply(500, {
    message: `The sandbox failed: ${error instanceof Error ? error.message : String(error)}`,
  });
}
