import { defineCommand, type Outcome } from '../command.ts';
import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { applySets, type JsonObject, readJsonFile } from '../flags/json-body.ts';
import { refuseSharedStdin } from '../flags/prompt.ts';
import { type Endpoint, type HttpMethod, httpMethods } from '../gateway/endpoint.ts';
import type { RequestInput } from '../http/client.ts';
import { passOn } from './api/pass-on.ts';
import { readApiPath } from './api/read-path.ts';
import { showInstead } from './show-instead.ts';

/** Longest silence where nobody set one: a model may think before it answers. */
const SLOW_SILENCE_MS = 300_000;

/** `gw api METHOD PATH`: any request with the right credential for its path; the reply as it comes. */
export const api = defineCommand<Record<string, never>, never>({
  args: {
    name: 'METHOD PATH',
    summary: `${httpMethods.join(', ')}, and a path below the gateway with its query`,
    required: true,
    many: true,
    choices: httpMethods,
  },
  flags: {},
  examples: [
    'gw api GET /v1/models --sandbox',
    'gw api POST /v1/chat/completions --sandbox --set model=geo-3.6-flash --set messages.0.role=user --set messages.0.content=hello',
    `echo '{"limit":5}' | gw api POST /tasks --body - --sandbox`,
    'gw api GET "/tasks?task_ids=a-task" --sandbox --curl',
  ],
  notes: [
    'The key goes as the path asks for it: Authorization: Bearer, x-api-key with provider-version (/v1/messages), or ' +
      'x-geo-api-key (/v1beta/…); it never leaves the gateway in force.',
    'The body is what --body and --set make; without them none is sent. It is not checked against any rule.',
    'A reply with a status other than 2xx ends with its exit code. What may have created something is never sent twice ' +
      '(exit 14), and no job is written to the ledger: gw jobs knows nothing of what is created here.',
  ],
  sends: 'body',
  async run({ args, globals }, ctx) {
    const [method, path] = readArgs(args);
    const body = await readBody(ctx);
    if (method === 'GET' && body !== undefined) {
      throw usage('GET: a GET request has no body', 'put what is asked for into the query of PATH');
    }
    const { apiEndpoint } = await import('./api/api-endpoint.ts');
    const { maxBodyBytes, ...row } = apiEndpoint(method, path);
    const endpoint =
      maxBodyBytes === undefined || globals.validate === false ? row : { ...row, maxBodyBytes };
    const input = { ...(body !== undefined && { body }), stream: asksForStream(body, path) };
    const shown = await showInstead(endpoint, input, ctx);
    if (shown !== undefined) return { value: shown };
    return send(endpoint, input, ctx);
  },
  human: () => '',
});

function readArgs(args: readonly string[]): [HttpMethod, ReturnType<typeof readApiPath>] {
  const [word = '', path, ...rest] = args;
  const method = httpMethods.find((each) => each === word.toUpperCase());
  if (method === undefined) {
    const hint = word.startsWith('/') ? `write gw api GET ${word}` : `give one of ${httpMethods.join(', ')}`;
    throw usage(`${JSON.stringify(word)} is no METHOD`, hint);
  }
  if (path === undefined) throw usage('PATH is missing', `write gw api ${method} /v1/models`);
  if (rest.length > 0)
    throw usage('more than METHOD and PATH was given', 'quote a PATH that holds blanks or &');
  return [method, readApiPath(path)];
}

/** What --body and --set make; undefined where neither is given. */
async function readBody({ globals, host, signal }: Context): Promise<unknown> {
  const { body: file, set, apiKeyFile } = globals;
  refuseSharedStdin({ '--api-key-file': apiKeyFile, '--body': file });
  const base =
    file === undefined
      ? undefined
      : await readJsonFile(file, { cwd: host.cwd, stdin: host.stdin, signal }, '--body');
  if (set === undefined) return base;
  if (base !== undefined && !isObject(base)) {
    throw usage('--set: the body of --body is no JSON object', 'leave --set out, or give an object');
  }
  return applySets(base ?? {}, set);
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asksForStream = (body: unknown, { path }: ReturnType<typeof readApiPath>): boolean =>
  (isObject(body) && body.stream === true) || path.endsWith(':streamGenerateContent');

async function send(endpoint: Endpoint, input: RequestInput, ctx: Context): Promise<Outcome<never>> {
  const { io, signal } = ctx;
  const settings = await ctx.settings();
  const { client } = await ctx.gateway();
  const isSlow = endpoint.resend === 'chat' || endpoint.resend === 'paid';
  if (endpoint.resend === 'paid') {
    io.note('what this creates is paid for and not in the ledger: keep its ID, no gw jobs command knows it');
  }
  const tell = () => io.note('waiting for the answer to a paid request; interrupt again to end at once');
  if (endpoint.resend === 'paid') signal.addEventListener('abort', tell);
  const passed = passOn(io);
  try {
    await client.receive(endpoint, input, passed, {
      signal,
      ...(isSlow && settings.timeoutMs.source === 'default' && { silenceMs: SLOW_SILENCE_MS }),
    });
  } finally {
    signal.removeEventListener('abort', tell);
  }
  return refusalIn(await passed.end(), endpoint);
}

/** A 2xx reply that refuses in its body is passed on like any other, and ends as the refusal it is. */
function refusalIn(text: string | undefined, { refusal, method, path }: Endpoint): Outcome<never> {
  if (text === undefined || refusal === undefined) return {};
  let said: ReturnType<typeof refusal>;
  try {
    said = refusal(JSON.parse(text));
  } catch {
    return {};
  }
  if (said === undefined) return {};
  const { message, ...facts } = said;
  const reason = [said.code, message].filter(Boolean).join(': ');
  return {
    error: new GwError(
      'rejected',
      `the gateway refused the request (${method} ${path.replace(/\?.*$/s, '')}): ${reason}`,
      facts,
    ),
  };
}
