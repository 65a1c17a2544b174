import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ContentBlock,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { faultsOf } from '../batch/rows.ts';
import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { aborted } from '../host.ts';
import { reportError, safeReport } from '../io/error-lines.ts';
import type { Answer, Caller, Desk } from './desk.ts';
import type { ToolFile } from './tools.ts';

// The protocol of `gw mcp`, by the official SDK. The tools' code is loaded at the first call.

const INSTRUCTIONS =
  'gw makes videos and images through a paid gateway. The make_ tools cost money; all others are free. Every paid call has a ' +
  'key, and the same key never pays twice: after a timeout or a lost answer call again with the same key, or wait_for_job. ' +
  'When an answer says "running", the job goes on by itself: call wait_for_job. When an error is of kind budget, stop and ask ' +
  'the user. Files are read below the root folder and saved below the out folder that the user has chosen.';

/** The maximum message size, checked here: at a limit of its own the SDK ends as if stdin had ended. */
const MAX_MESSAGE_BYTES = 8 << 20;
const NO_MESSAGE = 'a line on stdin is no message of the protocol, and gets no answer';
/** How long a user may take to confirm, so that the call itself stays within its time. */
const CONFIRM_MS = 25_000;

export interface ServeOptions {
  readonly confirm: boolean;
  readonly openDesk: () => Promise<Desk>;
}

/** Serves the protocol until stdin ends or the run is interrupted. Throws `usage` at a message over 8 MB. */
export async function serve({ confirm, openDesk }: ServeOptions, ctx: Context): Promise<void> {
  const { host, io } = ctx;
  let desk = undefined as Promise<Desk> | undefined;
  const { tools } = JSON.parse(readFileSync(path.join(host.assetsDir, 'mcp.json'), 'utf8')) as ToolFile;
  const confirmations = new Confirmations();
  const make = () => {
    const server = new Server(
      { name: 'gw', version: host.version },
      {
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        // Answers here have no fields, so this avoids loading the SDK's own validator.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
      },
    );
    server.setRequestHandler('tools/list', () => ({ tools: [...tools] }));
    server.setRequestHandler('tools/call', async ({ params: { name, arguments: args } }, call) => {
      if (!tools.some((tool) => tool.name === name))
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no tool ${name.slice(0, 60)}`);
      const beganMs = ctx.clock.steady();
      try {
        desk ??= openDesk();
        const tool = JSON.stringify([name, args]);
        const caller: Caller = {
          signal: call.mcpReq.signal,
          beganMs,
          progress: progressOf(call, () => ctx.clock.steady() - beganMs),
          confirm: confirm ? (question) => confirmations.check(question, tool, call, server) : undefined,
        };
        const answer = await (await desk).call(name, args, caller);
        return await toResult(answer, ctx);
      } catch (error) {
        if (error instanceof NotAsked) return error.question;
        if (!(error instanceof GwError)) io.error(error);
        return toResult({ value: {}, error }, ctx);
      }
    });
    return server;
  };
  const transport = new StdioServerTransport(host.stdin, host.stdout, { maxBufferSize: Infinity });
  // The SDK's error for a line of JSON that is no message is a dump of its own schemas.
  const onerror = ({ name, message }: Error) => io.warn(name === 'ZodError' ? NO_MESSAGE : `mcp: ${message}`);
  const handle = serveStdio(make, { transport, onerror });
  let bytes = 0;
  const closed = new Promise<void>((resolve) => {
    host.stdin.once('end', resolve).once('close', resolve).once('error', resolve);
    host.stdout.once('error', resolve).once('close', resolve);
    host.stdin.on('data', (chunk: Buffer) => {
      const end = chunk.lastIndexOf('\n');
      bytes = chunk.length + (end < 0 ? bytes : -end - 1);
      if (bytes > MAX_MESSAGE_BYTES) resolve();
    });
  });
  await Promise.race([closed, aborted(ctx.signal)]);
  await handle.close();
  host.stdin.pause();
  await (await desk)?.close();
  ctx.signal.throwIfAborted();
  if (bytes > MAX_MESSAGE_BYTES)
    throw usage('a message on stdin is longer than 8 MB', 'give an image as the path of a file');
}

class NotAsked extends Error {
  constructor(readonly question: ReturnType<typeof inputRequired>) {
    super('the user is to be asked');
  }
}

/** The questions of --confirm. An answer is valid only for the request that was asked about. */
class Confirmations {
  readonly #secret = randomBytes(32);

  /** Resolves if the user has agreed. Throws NotAsked, or `usage` without a yes or if the client cannot ask. */
  async check(question: string, tool: string, { mcpReq }: ServerContext, server: Server): Promise<void> {
    const envelope = mcpReq.envelope as Record<string, ClientCapabilities | undefined> | undefined;
    const { elicitation } = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {};
    // Without a mode, the client shows forms, which are older than the modes.
    if (elicitation === undefined || (elicitation.url && !elicitation.form)) {
      const hint = 'the user can start gw mcp without --confirm, and with --max-jobs or --max-cost';
      throw usage('each payment is to be confirmed (--confirm), and this client cannot ask its user', hint);
    }
    const params = { message: question, requestedSchema: { type: 'object' as const, properties: {} } };
    const action = envelope ? this.#answer(params, tool, mcpReq) : await askNow(params, mcpReq, server);
    if (action === 'accept') return;
    const said = action === undefined ? 'gave no answer about' : 'did not agree to';
    throw usage(`the user ${said} this payment; nothing was sent`, 'ask the user what to do');
  }

  /** The answer that a repeated call of the 2026 protocol brings. Throws NotAsked if the call brings none. */
  #answer(params: Question, tool: string, { inputResponses, requestState }: ServerContext['mcpReq']): string {
    const state = createHmac('sha256', this.#secret).update(tool).digest('hex');
    const answer = inputResponse(inputResponses, 'confirm');
    if (answer.kind === 'elicit' && requestState() === state) return answer.action;
    const inputRequests = { confirm: inputRequired.elicit(params) };
    throw new NotAsked(inputRequired({ inputRequests, requestState: state }));
  }
}

type Question = Parameters<typeof inputRequired.elicit>[0];

/** Asks within a call, as the 2025 protocol does; undefined without a usable answer in time. */
async function askNow(params: Question, { id, signal }: ServerContext['mcpReq'], server: Server) {
  const options = { timeout: CONFIRM_MS, signal, relatedRequestId: id };
  const asked = server.request({ method: 'elicitation/create', params }, options);
  return (await asked.catch(() => undefined))?.action;
}

/** Sends progress of a call to the client, if it asked for progress. */
function progressOf({ mcpReq }: ServerContext, elapsedMs: () => number): (text: string) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let last = -1;
  return (message) => {
    // The protocol requires that progress increases each time.
    last = Math.max(last + 0.001, elapsedMs() / 1000);
    const params = { progressToken, progress: last, message };
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
}

/** The answer for a client: JSON as text, a link to each file, and a small picture of an image. */
async function toResult(
  { value, files = [], isBrief = false, error }: Answer,
  ctx: Context,
): Promise<CallToolResult> {
  const { io, host } = ctx;
  const report = error === undefined ? undefined : reportError(worded(error));
  const told = report ? { ...value, error: safeReport(report, (text) => io.withoutSecrets(text)) } : value;
  const links = files.map(({ path: file, type, bytes }): ContentBlock => {
    const uri = pathToFileURL(file).href;
    return { type: 'resource_link', uri, name: path.basename(file), mimeType: type, size: bytes };
  });
  const pictures: ContentBlock[] = [];
  for (const { path: file, type } of files) {
    if (isBrief || !type.startsWith('image/') || pictures.length === MOST_PICTURES) continue;
    const { smallPicture } = await import('../preview/show-preview.ts');
    const data = await smallPicture(file, host).catch(() => undefined);
    if (data !== undefined) pictures.push({ type: 'image', data, mimeType: 'image/jpeg' });
  }
  const text = io.withoutSecrets(JSON.stringify(told));
  return { content: [{ type: 'text', text }, ...links, ...pictures], ...(report && { isError: true }) };
}

const MOST_PICTURES = 4;

/** Rewords hints about flags for a tool's arguments. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/--again|--retry-failed|another key/, 'give another key for a new job, which is paid for anew'],
  [/--yes/, 'the user settles it with gw jobs resolve'],
  [/--prompt TEXT/, 'give prompt'],
  [/--unpriced/, 'only the user can say what it costs: gw config set prices FILE'],
  [/gw jobs list/, 'list_jobs tells which jobs there are; make one that was never begun again with its key'],
  [/type -o/, 'only the user can have it saved elsewhere: gw mcp --out DIR'],
  [/--project NAME/, 'give the project of an asset that is in another one than the default'],
];

/** Replaces flag names in an error with argument names. */
function worded(error: unknown): unknown {
  if (!(error instanceof GwError)) return error;
  const hint = error.facts.hint?.replace(/(?:; )?also: .*/, '') || undefined; // The message has the rest.
  const [, better = hint] = hints.find(([form]) => form.test(hint ?? '')) ?? [];
  const faults = error.kind === 'usage' ? faultsOf(error.told({ hint: undefined })) : [error.message];
  const message = faults.join('; ').replace(/^once: [^:]*: /, 'key: ');
  return error.told({ hint: better }, message.replace(/--(?!root|out|max-|confirm)(?=[a-z])/g, ''));
}
