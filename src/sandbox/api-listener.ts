import type { IncomingMessage, RequestListener } from 'node:http';
import type { Resend } from '../gateway/endpoint.ts';
import { checkCredential, countRequest, sweepWhenDue } from './account.ts';
import { CONTROL_PATH } from './control.ts';
import { deliver, mangle, replyInstead, vanish } from './deliver.ts';
import type { FaultPlace } from './faults.ts';
import { listen, type NoteRequest, type SandboxRequest } from './listener.ts';
import { errorReply, Refusal, type SandboxReply } from './reply.ts';
import { checkBody, formNote, type RequestBody, readBody } from './request-body.ts';
import { type Call, findRoute, type Route, type World } from './route.ts';

/** The listener of the API: it checks route, credential, body and rate before the endpoint answers. */
export function apiListener(routes: readonly Route[], world: World, note: NoteRequest): RequestListener {
  return listen('api', world, note, async (request, response, url, entry) => {
    const isControl = world.control !== undefined && url.pathname.startsWith(CONTROL_PATH);
    const found = findRoute(routes, entry.method, url);
    const struck = 'route' in found ? world.faults.draw(faultPlaces[found.route.endpoint.resend]) : undefined;
    if (struck) entry.fault = struck.fault.spec;
    if (vanish(struck, request)) return;
    const answer = async () => {
      if (isControl && world.control) return await world.control.answer(request, url, world);
      if (!('route' in found)) throw notRouted(entry.method, url.pathname, found.methods);
      const { route, params } = found;
      const elsewhere = { status: 307, to: `${world.outputUrl()}${url.pathname}${url.search}` };
      const instead = replyInstead(struck, elsewhere, (status, headers) => errorReply(status, {}, headers));
      if (instead) {
        await readRouteBody(request, route, entry);
        return instead;
      }
      checkCredential(route.endpoint.credential ?? 'bearer', request.headers, world.key);
      const passOver = passingOver(route, world, entry);
      return await letIn(request, route, world, entry, passOver)
        .then((carried) => route.answer({ params, url, passOver, ...carried }, world))
        .catch((error: unknown) => {
          if (!(error instanceof Refusal && route.refuse)) throw error;
          entry.refusal = ruleOf(error);
          return route.refuse(error, { url, codeOnly: struck?.fault.kind === 'code-only' });
        });
    };
    const reply = await answer().catch((error: unknown) => {
      if (error instanceof Refusal) entry.refusal = ruleOf(error);
      return refused(error);
    });
    const mangled = mangle(struck, withVerdict(reply, entry));
    await deliver(mangled, { request, response, entry, struck, world });
  });
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
  // The document's table of statuses has no 405; 404 is "wrong path".
  const allow = methods.join(', ');
  return new Refusal(404, `${path} takes ${allow}, not ${method}.`, 'NotFound', { allow });
}

/** Reads a request's body, counts it against its rate, and checks it, in this order. Throws Refusal. */
async function letIn(
  request: IncomingMessage,
  route: Route,
  world: World,
  entry: SandboxRequest,
  passOver: Call['passOver'],
): Promise<Pick<Call, 'body' | 'form'>> {
  const read = await readRouteBody(request, route, entry);
  const { form } = read;
  const told = new Set<string>();
  const json = route.respell && !world.strict ? route.respell(read.json, told) : read.json;
  if (told.size > 0) entry.respelled = [...told];
  const nowMs = world.now();
  if (route.pool) countRequest(world, route.pool(json), nowMs);
  const { body: schema } = route.endpoint;
  const checked = schema && !form && !route.checksBody && checkBody(schema, json, world);
  if (checked) passOver(checked.unlisted);
  if (faultPlaces[route.endpoint.resend] === 'create') sweepWhenDue(world.store, nowMs);
  return { body: checked ? checked.read : json, ...(form && { form }) };
}

/** Reports ignored fields, once per endpoint and field, and records them in the log. */
function passingOver({ endpoint }: Route, world: World, entry: SandboxRequest): Call['passOver'] {
  return (fields) => {
    if (fields.length > 0) entry.passedOver = fields;
    for (const field of fields)
      world.tell(`passed over: ${field}, which ${endpoint.name} does not document (--strict refuses it)`);
  };
}

/** The header with the verdict on a request, for tests of other programs. */
const VERDICT_HEADER = 'x-sandbox-verdict';
const LONGEST_VERDICT = 200;

const ruleOf = ({ code, status, field }: Refusal): string =>
  [code ?? status, field].filter((part) => part !== undefined).join(' ');

function withVerdict(reply: SandboxReply, entry: SandboxRequest): SandboxReply {
  const read = entry.respelled ? `; read ${entry.respelled.join(', ')}` : '';
  const taken = `${entry.passedOver ? `passed over ${entry.passedOver.join(', ')}` : 'taken'}${read}`;
  const said = entry.refusal ? `refused ${entry.refusal}` : reply.status < 400 ? taken : entry.fault;
  const verdict = (said ?? 'failed').replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_VERDICT);
  entry.verdict = verdict;
  return { ...reply, headers: { ...reply.headers, [VERDICT_HEADER]: verdict } };
}

/** The body of a request whose route takes one; it is also logged. Throws Refusal. */
async function readRouteBody(
  request: IncomingMessage,
  { endpoint, multipart }: Route,
  entry: SandboxRequest,
): Promise<RequestBody> {
  if (!endpoint.body) return {};
  const read = await readBody(request, { maxBytes: endpoint.maxBodyBytes, takesForm: multipart ?? false });
  if (read.json !== undefined) entry.body = read.json;
  else if (read.form) entry.body = formNote(read.form);
  return read;
}

function refused(error: unknown): SandboxReply {
  if (error instanceof Refusal) return error.toReply();
  return errorReply(500, {
    message: `The sandbox failed: ${error instanceof Error ? error.message : String(error)}`,
  });
}
