import { defineCommand, type Outcome } from '../command.ts';
import { SLOW_ANSWER_SILENCE_MS } from '../config/table.ts';
import { type Context, tellIfInterrupted } from '../context.ts';
import { GwError, UnknownOutcome, usage } from '../errors.ts';
import { applySets, readJsonAsWritten, readJsonFile } from '../flags/json-body.ts';
import { refuseSharedStdin } from '../flags/prompt.ts';
import { assetErrorKind } from '../gateway/asset/envelope.ts';
import { type Endpoint, type HttpMethod, httpMethods } from '../gateway/endpoint.ts';
import { isObject } from '../host.ts';
import type { ReplyTaker, RequestInput } from '../http/client.ts';
import type { WireReply } from '../http/exchange.ts';
import { jsonIn, prettyJson } from '../http/parse-json.ts';
import type { Io } from '../io/io.ts';
import { showInstead } from './show-instead.ts';

/** `gw api METHOD PATH` sends any request with the API key that its path needs, and passes the reply on. */
export const api = defineCommand<Record<string, never>, never>({
  args: {
    name: 'METHOD PATH',
    summary: `${httpMethods.join(', ')}, and a path below the gateway with its query`,
    required: true,
    many: true,
    choices: httpMethods,
  },
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
    if (/^(GET|HEAD)$/.test(method) && body !== undefined)
      throw usage(`a ${method} request has no body`, 'put what is asked for into the query of PATH');
    const { apiEndpoint } = await import('../gateway/all-endpoints.ts');
    const { maxBodyBytes, ...row } = apiEndpoint(method, path);
    const endpoint =
      maxBodyBytes === undefined || globals.validate === false ? row : { ...row, maxBodyBytes };
    const input = {
      ...(body !== undefined && { body: body.value }),
      ...(body?.text !== undefined && { bodyText: body.text }),
      stream: asksForStream(body?.value, path),
    };
    const shown = await showInstead(endpoint, input, ctx);
    return shown ? { value: shown } : send(endpoint, input, ctx);
  },
  human: () => '',
});

function readArgs(args: readonly string[]): [HttpMethod, ReturnType<typeof readApiPath>] {
  const [word = '', path, ...rest] = args;
  const method = httpMethods.find((each) => each === word.toUpperCase());
  if (method === undefined) {
    const hint = word.startsWith('/') ? `write gw api GET ${word}` : `give one of ${httpMethods.join(', ')}`;
    throw usage(`${JSON.stringify(word)} is not a METHOD`, hint);
  }
  if (!path) throw usage('PATH is missing', `write gw api ${method} /v1/models`);
  if (rest.length > 0)
    throw usage('more than METHOD and PATH was given', 'quote a PATH that holds blanks or &');
  return [method, readApiPath(path)];
}

/** The body from --body and --set, and its text if --set changes nothing; undefined if neither is given. */
async function readBody({ globals, host, signal }: Context): Promise<TypedBody | undefined> {
  const { body, set } = globals;
  const file = typeof body === 'object' ? undefined : body;
  refuseSharedStdin([], globals);
  const deps = { cwd: host.cwd, stdin: host.stdin, signal };
  if (set === undefined) return file === undefined ? undefined : readJsonAsWritten(file, deps, '--body');
  const base = file === undefined ? {} : await readJsonFile(file, deps, '--body');
  if (!isObject(base))
    throw usage('--set: the body of --body is no JSON object', 'leave --set out, or give an object');
  return { value: applySets(base, set) };
}

interface TypedBody {
  readonly value: unknown;
  readonly text?: string;
}

const asksForStream = (body: unknown, { path }: ReturnType<typeof readApiPath>): boolean =>
  (isObject(body) && body.stream === true) || path.endsWith(':streamGenerateContent');

async function send(endpoint: Endpoint, input: RequestInput, ctx: Context): Promise<Outcome<never>> {
  const { io, signal } = ctx;
  const settings = await ctx.settings();
  const { client } = await ctx.gateway();
  const isSlow = endpoint.resend === 'chat' || endpoint.resend === 'paid';
  if (endpoint.resend === 'paid')
    io.note('what this creates is paid for and not in the ledger: keep its ID, no gw jobs command knows it');
  const telling = tellIfInterrupted(ctx);
  const passed = passOn(io);
  let refused: WireReply | undefined;
  try {
    await client.receive(endpoint, input, passed, {
      signal,
      onExchange: endpoint.resend === 'paid' ? telling.onExchange : undefined,
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
    telling.stop();
  }
  const error = refusalIn(await passed.end(), endpoint);
  return error === undefined ? {} : { error };
}

/** Prints the body of a refusal to stdout like any reply; a display error is ignored, as the refusal is reported. */
async function passBody(reply: WireReply, passed: PassedOn): Promise<void> {
  passed.onHead(reply);
  try {
    await passed.takeChunk(reply.bytes);
    await passed.end();
  } catch (error) {
    if (!(error instanceof GwError) || error.kind !== 'download') throw error;
  }
}

/** A longer reply is neither formatted nor searched. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;

/** Passes the reply of a `gw api` request to stdout. */
interface PassedOn extends ReplyTaker {
  /** Writes the rest; returns the text of the reply if it is JSON and not too large. */
  end(): Promise<string | undefined>;
}

type Form = 'json' | 'text' | 'file';

/**
 * Passes a reply on as it arrives: unchanged into a pipe, as visible text to a terminal, where JSON is formatted unless
 * --json is given. Throws GwError `download` for bytes that a terminal cannot show; `end` may throw as Io's `out`.
 */
export function passOn(io: Pick<Io, 'mode' | 'stdoutIsTerminal' | 'out' | 'outReply'>): PassedOn {
  let form: Form = 'text';
  let type = '';
  // A byte order mark is part of the reply.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** The text of a JSON reply; undefined if the reply is no JSON or too long. */
  let kept: string | undefined;
  let isHeld = false;
  let lastCharacter = '\n';
  let last: Promise<void> | undefined;

  const write = async (text: string) => {
    // Off a terminal the bytes have been written already.
    if (text === '' || !io.stdoutIsTerminal) return;
    lastCharacter = text.slice(-1);
    await io.out(text);
  };
  const take = async (text: string) => {
    if (kept !== undefined && kept.length + text.length <= KEPT_CHARACTERS) {
      kept += text;
      if (isHeld) return;
    } else {
      const waiting = isHeld ? (kept ?? '') : '';
      kept = undefined;
      isHeld = false;
      await write(waiting);
    }
    await write(text);
  };
  const pass = async (chunk: Uint8Array) => {
    if (!io.stdoutIsTerminal) await io.outReply(chunk);
    else if (form === 'file') throw notForTerminals(type);
    if (io.stdoutIsTerminal || kept !== undefined) await take(decoder.decode(chunk, { stream: true }));
  };

  return {
    onHead({ headers }) {
      type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
      form = formOf(type);
      kept = form === 'json' ? '' : undefined;
      isHeld = form === 'json' && io.stdoutIsTerminal && !io.mode.json;
    },
    takeChunk(chunk) {
      last = pass(chunk);
      return last;
    },
    async end() {
      // The reply may end before its last piece is written; this await reports a failed write.
      await last;
      if (form !== 'file') await take(decoder.decode());
      if (isHeld && kept !== undefined) await write(prettyJson(kept) ?? kept);
      if (io.stdoutIsTerminal && lastCharacter !== '\n') await io.out('\n');
      return kept;
    },
  };
}

/** The form of a reply by its content type; without one it is text. */
function formOf(type: string): Form {
  if (/[/+]json$/.test(type)) return 'json';
  return /^(image|video|audio|font)\/|^application\/(octet-stream|pdf|zip|gzip)$/.test(type)
    ? 'file'
    : 'text';
}

/** The request itself has succeeded, so the kind is not `usage`. */
const notForTerminals = (type: string): GwError =>
  new GwError('download', `the reply is ${type}, which a terminal cannot show; the request itself was done`, {
    hint: 'a reply of bytes is kept with > FILE behind the command',
  });

/** A path that the user typed, prepared for sending. */
interface ApiPath {
  /** Begins with one slash and contains no query. */
  readonly path: string;
  /** The query without its question mark; empty if there is none. */
  readonly query: string;
}

/**
 * Parses the PATH of `gw api`: a path below the gateway's address, with its query. Throws GwError `usage` for a path that
 * leads elsewhere (an address, `//host`, `..`) or cannot be sent (a fragment, blanks, control characters).
 */
function readApiPath(typed: string): ApiPath {
  if (/^[a-z][a-z0-9+.-]*:/i.test(typed) || /^[/\\]{2}/.test(typed))
    throw refused(typed, 'names another place: gw sends the key to the gateway in force and nowhere else');
  if (/[\s\\\p{Cc}]/u.test(typed)) throw refused(typed, 'holds a blank, a control character or a backslash');
  if (typed.includes('#')) throw refused(typed, 'has a fragment, which no request can hold');
  const at = typed.indexOf('?');
  const route = at < 0 ? typed : typed.slice(0, at);
  const path = route.startsWith('/') ? route : `/${route}`;
  // In a URL, encoded dots count as dots.
  if (path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment)))
    throw refused(typed, 'goes up or stays with . or ..');
  // Braces are literal here, and the query begins at the first question mark.
  return {
    path: path.replaceAll('{', '%7B').replaceAll('}', '%7D'),
    query: at < 0 ? '' : typed.slice(at + 1).replaceAll('?', '%3F'),
  };
}

const refused = (typed: string, why: string): GwError =>
  usage(
    `PATH ${JSON.stringify(withoutQuery(typed))} ${why}`,
    'give the path below the gateway, such as /v1/models; another gateway is named with --base-url or --profile',
  );

/** Removes the query, which may contain secrets. */
const withoutQuery = (typed: string): string => typed.replace(/[?#].*$/s, '').slice(0, 200);

// These errors differ from those of other commands, because a `gw api` request is not in the ledger.

/** The refusal in the body of a 2xx reply; undefined if there is none. */
function refusalIn(text: string | undefined, { refusal, method, path }: Endpoint): GwError | undefined {
  if (text === undefined || refusal === undefined) return undefined;
  const said = refusal(jsonIn(text));
  if (said === undefined) return undefined;
  const { message, ...facts } = said;
  const reason = [said.code, message].filter(Boolean).join(': ');
  return new GwError(
    assetErrorKind(said.code) ?? 'rejected',
    `the gateway refused the request (${method} ${path.replace(/\?.*$/s, '')}): ${reason}`,
    facts,
  );
}

/** Keeps an unknown outcome only for endpoints that the document says are paid; for others it becomes `unavailable`. */
function withoutLedger(error: unknown, { resend }: Endpoint): unknown {
  if (!(error instanceof UnknownOutcome)) return error;
  const { message, facts } = error;
  if (resend === 'paid') {
    const hint =
      'it was not sent again, because it may have been created: look in the console of the gateway; nothing of it is in the ledger';
    return error.told({ hint });
  }
  const hint = 'it was not sent again: look at what it was to change first, with a GET or in the console';
  return new GwError('unavailable', `${message}; it may have been done`, { ...facts, hint });
}
