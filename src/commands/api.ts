import { defineCommand, type Outcome } from '../command.ts';
import { SLOW_ANSWER_SILENCE_MS } from '../config/table.ts';
import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { applySets, type JsonObject, readJsonAsWritten, readJsonFile } from '../flags/json-body.ts';
import { refuseSharedStdin } from '../flags/prompt.ts';
import { type Endpoint, type HttpMethod, httpMethods } from '../gateway/endpoint.ts';
import type { RequestInput } from '../http/client.ts';
import type { WireReply } from '../http/exchange.ts';
import { type PassedOn, passOn } from './api/pass-on.ts';
import { readApiPath } from './api/read-path.ts';
import { refusalIn, withoutLedger } from './api/reply-errors.ts';
import { showInstead } from './show-instead.ts';

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
    'The body is what --body and --set make; without them none is sent, and without --set it is sent as it was written. ' +
      'It is not checked against any rule.',
    'Every reply goes to stdout, byte for byte in a pipe. A status other than 2xx ends with its exit code. What may have ' +
      'been done is never sent twice (exit 14 where it is paid for, else 8), and no job is written to the ledger: gw jobs ' +
      'knows nothing of what is created here.',
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
    const input = {
      ...(body !== undefined && { body: body.value }),
      ...(body?.text !== undefined && { bodyText: body.text }),
      stream: asksForStream(body?.value, path),
    };
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

/** What --body and --set make, and how --body was written where nothing is laid over it; none where neither is given. */
async function readBody({ globals, host, signal }: Context): Promise<TypedBody | undefined> {
  const { body: file, set, apiKeyFile } = globals;
  refuseSharedStdin({ '--api-key-file': apiKeyFile, '--body': file });
  const deps = { cwd: host.cwd, stdin: host.stdin, signal };
  if (set === undefined) return file === undefined ? undefined : readJsonAsWritten(file, deps, '--body');
  const base = file === undefined ? {} : await readJsonFile(file, deps, '--body');
  if (!isObject(base)) {
    throw usage('--set: the body of --body is no JSON object', 'leave --set out, or give an object');
  }
  return { value: applySets(base, set) };
}

interface TypedBody {
  readonly value: unknown;
  readonly text?: string;
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
  let refused: WireReply | undefined;
  try {
    await client.receive(endpoint, input, passed, {
      signal,
      onRefused: (reply) => {
        refused = reply;
      },
      ...(isSlow && settings.timeoutMs.source === 'default' && { silenceMs: SLOW_ANSWER_SILENCE_MS }),
    });
  } catch (error) {
    if (refused) await passBody(refused, passed);
    else await passed.end().catch(() => {});
    throw withoutLedger(error, endpoint);
  } finally {
    signal.removeEventListener('abort', tell);
  }
  const error = refusalIn(await passed.end(), endpoint);
  return error === undefined ? {} : { error };
}

/** What a refusal says goes where an answer goes; that a terminal cannot show it is no news beside the refusal. */
async function passBody(reply: WireReply, passed: PassedOn): Promise<void> {
  passed.onHead(reply);
  try {
    await passed.takeChunk(reply.bytes);
    await passed.end();
  } catch (error) {
    if (!(error instanceof GwError) || error.kind !== 'download') throw error;
  }
}
