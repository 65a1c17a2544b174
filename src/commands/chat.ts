import type { ChatAnswer, ChatTurn } from '../chat/chat.ts';
import { judgeAnswer, usageLine } from '../chat/verdict.ts';
import { defineCommand, type Outcome } from '../command.ts';
import type { Context } from '../context.ts';
import { ClosedPipe, usage } from '../errors.ts';
import { refuseSharedStdin } from '../flags/prompt.ts';
import { geoModels } from '../gateway/chat/models.ts';
import { chatFlags } from './chat/flags.ts';
import { answerPrinter } from './chat/print-answer.ts';
import { checkResults, readImages, readQuestion } from './chat/read-question.ts';
import type { ChatFlags } from './chat/read-settings.ts';
import { readStart, type Start } from './chat/read-start.ts';
import { readyRequest } from './chat/ready-request.ts';
import { showInstead } from './show-instead.ts';

// gw chat: argv -> one question to one surface -> its answer on stdout as it comes. Without a prompt on a terminal: a
// conversation.

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
    refuseSharedStdin({
      '--api-key-file': globals.apiKeyFile,
      '--body': globals.body,
      '--messages': typed.messages,
      '--system': typed.system,
      '--prompt': typed.prompt,
      ...(typed.image?.includes('-') && { '--image': '-' }),
    });
    const start = await readStart(typed, ctx);
    const turns = await readQuestion(args, typed, start, ctx);
    if (turns === undefined) return converseOnTerminal(typed, start, ctx);
    return askOnce(typed, start, turns, ctx);
  },
});

async function askOnce(
  flags: ChatFlags,
  start: Start,
  added: readonly ChatTurn[],
  ctx: Context,
): Promise<Outcome<never>> {
  const { io } = ctx;
  const { surface, session, model } = start;
  if (model === undefined) throw noModel();
  const before = [...(session?.turns ?? []), ...(start.history.turns ?? [])];
  checkResults(added, before, start);
  const asked = { model, system: start.system, turns: [...before, ...added], signal: ctx.signal };
  const request = readyRequest(flags, start, asked, ctx);
  const input = { ...surface.input(request.model, request.body, request.stream), stream: request.stream };
  const shown = await showInstead(surface.endpoint(request.stream), input, ctx);
  if (shown) return { value: shown };

  const printer = answerPrinter(io, {
    form: !io.mode.json ? 'text' : request.raw ? 'events' : 'reply',
    showThoughts: flags.showThoughts === true,
    draw: isDrawn(flags, ctx) ? () => draw(ctx) : undefined,
  });
  // In a pipe chat says nothing.
  const stopWaiting = io.stdoutIsTerminal ? io.awaiting(`waiting for ${request.model}`) : () => {};
  let answer: ChatAnswer;
  let came: unknown;
  const onBroken = (reply: unknown) => {
    came = reply;
  };
  try {
    const { client } = await ctx.gateway();
    const { converse } = await import('../chat/converse.ts');
    answer = await converse(request, { client, onBroken }, (event) => {
      if (event.type !== 'thinking' || flags.showThoughts) stopWaiting();
      return printer.onEvent(event);
    });
    stopWaiting();
  } catch (error) {
    stopWaiting();
    if (!(error instanceof ClosedPipe)) await printer.breakOff(came);
    throw error;
  }
  await printer.finish(answer);
  const error = judge(answer, flags, ctx);
  if (error) return { error };
  await session?.append([...added, answer.turn], {
    api: surface.api,
    model: request.model,
    ...(start.system !== undefined && { system: start.system }),
  });
  return {};
}

/** A terminal shows an answer's Markdown drawn; JSON that was asked for is none. */
const isDrawn = ({ raw, responseFormat }: ChatFlags, { io }: Context): boolean =>
  io.stdoutIsTerminal && raw !== true && responseFormat === undefined;

async function draw(ctx: Context) {
  const { showOneAnswer } = await import('../chat/repl/show-answer.ts');
  return showOneAnswer(ctx);
}

/** Figures and warnings on stderr; what makes the answer unusable is returned. */
function judge(answer: ChatAnswer, flags: ChatFlags, { io }: Context) {
  const { error, warning } = judgeAnswer(answer);
  if (flags.usage) io.note(usageLine(answer.usage) ?? 'the gateway sent no token figures');
  if (warning) io.warn(warning);
  return error;
}

const noModel = () =>
  usage(
    'native messages have no default model',
    'name one with --model, or store it: gw config set models.chat MODEL',
  );

async function converseOnTerminal(flags: ChatFlags, start: Start, ctx: Context): Promise<Outcome<never>> {
  const { startConversation } = await import('../chat/repl/start-conversation.ts');
  const { surface, session, system, model } = start;
  return startConversation(
    {
      api: surface.api,
      model,
      system,
      session,
      turns: start.history.turns,
      images: await readImages(flags.image ?? [], ctx),
      showThoughts: flags.showThoughts,
      raw: flags.raw,
      models: await knownModels(ctx),
      ask: async (question, onEvent) => {
        const request = { ...readyRequest(flags, start, question, ctx), keep: 'whole' as const, raw: false };
        const { client } = await ctx.gateway();
        const { converse } = await import('../chat/converse.ts');
        return converse(request, { client }, onEvent);
      },
      judge: (answer) => {
        const error = judge(answer, flags, ctx);
        if (error) throw error;
      },
    },
    ctx,
  );
}

/** The chat models of gw's tables and of the list that the gateway gave last; no request is made. */
async function knownModels(ctx: Context): Promise<readonly string[]> {
  const { kindOf } = await import('../gateway/model-facts/sheets.ts');
  const { readModelCache } = await import('../models/model-cache.ts');
  // That no gateway is configured is said where it is needed.
  const access = await ctx.gateway().catch(() => undefined);
  const listed = (access && readModelCache(ctx.host, access.name)?.ids) ?? [];
  const ids = listed.filter((id) => /^[\w.:/-]+$/.test(id) && (kindOf({ id }) ?? 'chat') === 'chat');
  return [...new Set([...Object.keys(geoModels), ...ids])];
}
