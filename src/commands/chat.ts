import type { ChatAnswer, ChatRequest, ChatTurn } from '../chat/chat.ts';
import { flagOf, spelled } from '../chat/surface.ts';
import { judgeAnswer, usageLine, wordsSoFar } from '../chat/verdict.ts';
import { defineCommand, type Outcome } from '../command.ts';
import type { Context } from '../context.ts';
import { ClosedPipe, usage } from '../errors.ts';
import { givenIn, lookAtBody, refuseLook, setOver, typedFlagAt } from '../flags/breaches.ts';
import { applySets, type JsonObject } from '../flags/json-body.ts';
import { refuseSharedStdin } from '../flags/prompt.ts';
import { geoModels, thinkingLevels } from '../gateway/chat/models.ts';
import { itemsOf, withOddModel } from '../gateway/json-value.ts';
import { withShown } from '../shots/outputs.ts';
import { answerPrinter } from './chat/print-answer.ts';
import { readStart, type Start, type ToolUse, toolUses } from './chat/read-history.ts';
import { checkResults, readImages, readQuestion } from './chat/read-question.ts';
import { type ChatFlags, chatFlags } from './chat/read-settings.ts';
import { refuseKeyIn, showInstead } from './show-instead.ts';

// gw chat: argv -> one question to one surface -> its answer on stdout as it arrives, or on a terminal a conversation.

export const chat = defineCommand<typeof chatFlags, never>({
  args: { name: 'PROMPT', summary: 'the prompt, as words', many: true },
  flags: chatFlags,
  examples: [
    'gw chat --sandbox "why is the sky blue?"',
    'gw chat --sandbox --api geo "why is the sky blue?" --max-tokens 500 --usage',
    'gw chat --sandbox --api messages -m sandbox-chat-1 "why is the sky blue?"',
    'gw chat --sandbox "what is in this picture?" --image https://example.com/fox.png --dry-run',
  ],
  notes: [
    'With a prompt, piped stdin is the text that the prompt is about: cat notes.md | gw chat "sum up". Without one it is ' +
      'the prompt. On a terminal without a prompt a conversation begins.',
    'When the model calls tools, stdout is one JSON line a call; answer with --tool-result ID=VALUE.',
    "The gateway's document does not show how messages and geo take images and tool results, nor the events of a streamed " +
      'completion: gw writes and reads them as the public APIs of these names do.',
  ],
  sends: 'body',
  human: () => '',
  async run({ args, flags, globals }, ctx) {
    const typed = flags as ChatFlags;
    const isStdinFree = refuseSharedStdin(args, { ...globals, ...typed });
    const start = await readStart(typed, ctx);
    const turns = await readQuestion(args, typed, start, isStdinFree, ctx);
    return turns === undefined ? converseOnTerminal(typed, start, ctx) : askOnce(typed, start, turns, ctx);
  },
});

async function askOnce(
  flags: ChatFlags,
  start: Start,
  added: readonly ChatTurn[],
  ctx: Context,
): Promise<Outcome<never>> {
  const { io } = ctx;
  const { surface, session, model, heldSystem: system } = start;
  if (model === undefined) {
    const cure = 'name one with --model, or store it: gw config set models.chat MODEL';
    throw usage('native messages have no default model', cure);
  }
  const before = [...(session?.turns ?? []), ...(start.history.turns ?? [])];
  checkResults(added, before, start);
  const asked = { model, system: start.system, turns: [...before, ...added], signal: ctx.signal };
  const request = readyRequest(flags, start, asked, ctx);
  const input = { ...surface.input(request.model, request.body, request.stream), stream: request.stream };
  const shown = await showInstead(surface.endpoint(input.stream), spelled(withShown(input, added, ctx)), ctx);
  if (shown) request.warn();
  if (shown) return { value: shown };

  const printer = answerPrinter(io, {
    form: !io.mode.json ? 'text' : request.raw ? 'events' : 'reply',
    showThoughts: flags.showThoughts === true,
    draw: isDrawn(flags, ctx)
      ? async () => (await import('../chat/repl/show-answer.ts')).showOneAnswer(ctx)
      : undefined,
  });
  // In a pipe, chat prints no waiting message.
  const stopWaiting = io.stderrIsTerminal ? io.awaiting(`waiting for ${request.model}`) : () => {};
  const held = { api: surface.api, model: request.model, system, tools: start.settings.tools };
  const keep = async (turn: ChatTurn | undefined) => turn && session?.append([...added, turn], held);
  let answer: ChatAnswer;
  let came: unknown;
  let text = '';
  const onBroken = (reply: unknown) => {
    came = reply;
  };
  try {
    const { client } = await ctx.gateway();
    await checkListed(request.model, ctx);
    request.warn();
    const { converse } = await import('../chat/converse.ts');
    answer = await converse(request, { client, onBroken }, (event) => {
      if (event.type !== 'thinking' || flags.showThoughts) stopWaiting();
      if (session && event.type === 'text') text += event.text;
      return printer.onEvent(event);
    });
    stopWaiting();
  } catch (error) {
    stopWaiting();
    try {
      if (!(error instanceof ClosedPipe)) await printer.breakOff(came);
    } finally {
      await keep(wordsSoFar(text));
    }
    throw error;
  }
  const verdict = judgeAnswer(answer);
  try {
    await printer.finish(answer);
    judge(answer, flags, ctx, verdict);
  } finally {
    await keep(verdict.error ? wordsSoFar(answer.text) : answer.turn);
  }
  return { error: verdict.error };
}

/** Throws `usage` for a model that neither the document nor the gateway lists; no request is needed for a known one. */
async function checkListed(model: string, ctx: Context): Promise<void> {
  if (model in geoModels) return;
  const { checkModel } = await import('../models/check-model.ts');
  await checkModel(model, Object.keys(geoModels), ctx);
}

/** On a terminal Markdown is rendered; requested JSON is not Markdown. */
const isDrawn = ({ raw, responseFormat }: ChatFlags, { io }: Context): boolean =>
  io.stdoutIsTerminal && raw !== true && responseFormat === undefined;

/** Prints usage and warnings to stderr; returns an error if the answer is unusable. */
function judge(answer: ChatAnswer, flags: ChatFlags, { io }: Context, verdict = judgeAnswer(answer)) {
  const { error, warning } = verdict;
  if (flags.usage) io.note(usageLine(answer.usage) ?? noFigures(answer), 'urgent');
  if (warning) io.warn(warning);
  return error;
}

/** Some servers send no usage for a stream, even if it was requested. */
const noFigures = ({ replyBytes }: ChatAnswer): string =>
  replyBytes === undefined
    ? 'the gateway sent no token figures in its stream; --no-stream may bring them'
    : 'the gateway sent no token figures';

async function converseOnTerminal(flags: ChatFlags, start: Start, ctx: Context): Promise<Outcome<never>> {
  const { startConversation } = await import('../chat/repl/start-conversation.ts');
  const { surface, session, system, model } = start;
  await startConversation(
    {
      api: surface.api,
      model,
      system,
      session,
      held: { system: start.heldSystem, tools: start.settings.tools },
      images: await readImages(flags.image ?? [], ctx),
      showThoughts: flags.showThoughts,
      raw: flags.raw,
      models: await knownModels(ctx),
      readImages: (references) => readImages(references, ctx, '/image'),
      ask: async (question, onEvent) => {
        const request = { ...readyRequest(flags, start, question, ctx), keep: 'whole' as const, raw: false };
        await refuseKeyIn({ body: request.body }, ctx);
        const { client } = await ctx.gateway();
        const { converse } = await import('../chat/converse.ts');
        await checkListed(request.model, ctx);
        request.warn();
        return converse(request, { client }, onEvent);
      },
      judge: (answer) => judge(answer, flags, ctx),
    },
    ctx,
  );
  return {};
}

/** The chat models of gw's tables and of the cached list of the gateway; no request is sent. */
async function knownModels(ctx: Context): Promise<readonly string[]> {
  const { kindOf } = await import('../gateway/models.ts');
  const { readModelCache } = await import('../models/model-cache.ts');
  // A missing gateway is reported later, when it is needed.
  const access = await ctx.gateway().catch(() => undefined);
  const listed = (access && readModelCache(ctx.host, access.name)?.ids) ?? [];
  const ids = listed.filter((id) => /^[\w.:/-]+$/.test(id) && (kindOf({ id }) ?? 'chat') === 'chat');
  return [...new Set([...Object.keys(geoModels), ...ids])];
}

/** A request that is ready to be sent, checked against every rule. */
function readyRequest(
  flags: ChatFlags,
  { surface, base, history, settings, session, silenceMs }: Start,
  asked: Pick<ChatRequest, 'model' | 'system' | 'turns' | 'signal'>,
  ctx: Context,
): ChatRequest & { readonly body: JsonObject; warn(): void } {
  const { globals, io } = ctx;
  const own = history.own ? { ...base, ...history.ownSystem, [surface.historyField]: history.own } : base;
  const sets = globals.set ?? [];
  // Fields that gw adds by itself depend on these.
  const early = sets.filter((raw) => /^(stream|thinking|reasoning_effort)\b/.test(raw));
  const laid = applySets(own, early);
  const streams = [applySets({}, early).stream, flags.stream, laid.stream];
  const typedStream = streams.find((each) => typeof each === 'boolean');
  const made = surface.body({ ...asked, settings, base: laid, stream: typedStream ?? true });
  const flagsOf = (of: JsonObject) =>
    typedFlagAt({ flagAt: (path) => flagOf(surface, path) }, of, flags, [], 'chat');
  const body = setOver(base, flagsOf, ctx)(withOddModel(made, base.model, flags));
  const model = typeof body.model === 'string' ? body.model : asked.model;
  const stream = surface.api === 'geo' ? (typedStream ?? true) : body.stream === true;
  const uses = toolUses(itemsOf(own[surface.historyField]), asked.turns);
  const flagAt = flagsOf(body);
  const schema = surface.schema(model);
  const { breaches, oddities } = lookAtBody(schema, body, flagAt, { isGiven: givenIn(own, sets) });
  const ofTools = [...unansweredCalls(uses), ...(breaches.length === 0 ? missingTools(uses, body) : [])];
  const { thinkingLevel: level } = settings;
  const isLevel = level === undefined || thinkingLevels.some((each) => each === level);
  const ofLevel = isLevel ? [] : [`--thinking-level ${level}: one of ${thinkingLevels.join(', ')}`];
  // On geo the model is in the path, not in the body.
  const ofModel = model === '' ? [`${flagAt(['model']) ?? 'model'}: is empty`] : [];
  const all = [...breaches, ...[...ofModel, ...ofTools, ...ofLevel].map((text) => ({ text }))];
  const sent = { schema, body: surface.input(model, body, stream).body, messages: flags.messages };
  const warn = refuseLook({ breaches: all, oddities }, ctx, sent);
  const isEvents = io.mode.json && typedStream === true && stream;
  return {
    ...asked,
    api: surface.api,
    model,
    stream,
    body,
    silenceMs,
    keep: session ? 'whole' : io.mode.json && !isEvents ? 'reply' : 'calls',
    raw: isEvents,
    warn,
  };
}

/** The results of all calls of a message come right after it ("Function calling"). */
function unansweredCalls(uses: readonly ToolUse[]): string[] {
  const missing = uses.flatMap(({ calls }, index) => {
    const after = uses.slice(index + 1);
    const end = after.findIndex(({ results }) => results.length === 0);
    const answered = new Set((end < 0 ? after : after.slice(0, end)).flatMap(({ results }) => results));
    return calls.filter(({ id, name }) => !answered.has(id) && !(name !== undefined && answered.has(name)));
  });
  if (missing.length === 0) return [];
  const ids = [...new Set(missing.map(({ id }) => id))];
  const what = ids.length === 1 ? 'a tool call' : 'tool calls';
  return [
    `${ids.join(', ')}: ${what} without a result right after; give each one with --tool-result ID=VALUE`,
  ];
}

/** A turn after a call needs "the same tools" ("Function calling"). */
function missingTools(uses: readonly ToolUse[], { tools }: Readonly<JsonObject>): string[] {
  const usesTools = uses.some(({ calls, results }) => calls.length > 0 || results.length > 0);
  if (!usesTools || itemsOf(tools).length > 0) return [];
  return [
    '--tool: the conversation holds tool calls, and the request has no tools; give the same --tool files again',
  ];
}
