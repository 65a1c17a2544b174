import { GwError } from '../errors.ts';
import { readGatewayError } from '../gateway/gateway-error.ts';
import type { Client, Reply } from '../http/client.ts';
import { eventStream } from '../http/event-stream.ts';
import { cutAnswerHint } from '../http/failures.ts';
import { WHOLE_LIMIT_BYTES } from '../http/stream-once.ts';
import type { ChatAnswer, ChatEvent, ChatRequest } from './chat.ts';
import { EventReader } from './event-reader.ts';
import { type Heard, loadSurface, type ReplyReader, StreamedError } from './surface.ts';

export interface ConverseDeps {
  readonly client: Pick<Client, 'send' | 'stream'>;
  /** Takes what came of an answer that broke off, as the reply so far; told after its last event, where all is kept. */
  readonly onBroken?: (reply: unknown) => void;
}

/** Takes what comes of an answer. A promise holds the stream back: the server waits, and nothing piles up here. */
export type OnChatEvent = (event: ChatEvent) => void | Promise<void>;

/**
 * Puts a conversation to the gateway and tells of the answer as it comes. Text of one piece off the wire is told as one
 * event. Resolves with the answer, whatever its reason to finish: whether it is usable is the verdict's to say.
 * Throws GwError as Client's `send` and `stream` do, `unavailable` where a stream breaks off or ends before the answer does
 * (what came has been told) or what is kept of it grows beyond 64 MiB, what `onEvent` throws, or the signal's reason.
 */
export async function converse(
  request: ChatRequest,
  deps: ConverseDeps,
  onEvent: OnChatEvent,
): Promise<ChatAnswer> {
  const surface = await loadSurface(request.api);
  const { model, stream, signal, silenceMs } = request;
  const body = request.body ?? surface.body(request);
  const keepsWhole = request.keep !== 'calls' || !stream;
  const reader = surface.reader(keepsWhole);
  const queue = new EventQueue(onEvent, { text: keepsWhole && request.keep !== 'reply', events: keepsWhole });
  const endpoint = surface.endpoint(stream);
  const input = surface.input(model, body, stream);
  const options = { signal, silenceMs };
  if (!stream) {
    const reply = await deps.client.send(endpoint, input, options);
    return await readWhole(reply, reader, queue);
  }

  const eventReader = new EventReader(reader, keepsWhole);
  let said = 0;
  let isDone = false;
  const events = eventStream({
    onEvent(data) {
      isDone ||= data === '[DONE]';
      // One without data keeps the connection open, and says nothing.
      if (data === '' || data === '[DONE]') return;
      said += 1;
      if (queue.isFull) return;
      if (request.raw) queue.raw(data);
      readEvent(data, eventReader, queue);
      if (keepsWhole) queue.keepEvent(data);
    },
    onPause: () => queue.flush(),
  });
  try {
    const end = await deps.client.stream(endpoint, input, events.takeChunk, options).catch(async (error) => {
      // What came before the break is told first; a failure to tell it says more than the break.
      await events.finish(false);
      throw error;
    });
    if (!end.streamed) return await readWhole(end.reply, reader, queue);
    await events.finish(true);
    if (said === 0) throw notAStream(end.requestId);
    // The mark ends a stream of completions, with or without a reason to finish.
    const isOver = reader.isFinished() || (isDone && request.api === 'completions');
    if (!isOver) throw cutShort(end.requestId);
  } catch (error) {
    if (said > 0 && request.keep !== 'calls') deps.onBroken?.(reader.reply());
    const isCut = error instanceof GwError && error.facts.hint === cutAnswerHint;
    throw isCut && queue.hasText ? error.told({ hint: `what came is kept; ${cutAnswerHint}` }) : error;
  }
  return answerOf(reader, queue, reader.reply());
}

/** What goes wrong in an event is told after what came before it. */
function readEvent(data: string, reader: EventReader, queue: EventQueue): void {
  try {
    reader.read(data, queue);
  } catch (error) {
    if (error instanceof StreamedError) queue.fail(toldError(error.body));
    else if (error instanceof SyntaxError) queue.fail(badEvent(data));
    else throw error;
  }
}

async function readWhole(
  { json, text, bytes, requestId }: Pick<Reply, 'json' | 'text' | 'bytes' | 'requestId'>,
  reader: ReplyReader,
  queue: EventQueue,
): Promise<ChatAnswer> {
  try {
    reader.whole(json, queue, text);
  } catch (error) {
    if (!(error instanceof StreamedError)) throw error;
    queue.fail(errorReply(error.body, requestId));
  }
  await queue.flush();
  return { ...answerOf(reader, queue, json), replyBytes: bytes };
}

function answerOf(reader: ReplyReader, queue: EventQueue, reply: unknown): ChatAnswer {
  const { toolCalls, finishReason, usage, further } = reader;
  const native = reader.native() as ChatAnswer['turn']['native'];
  return {
    text: queue.text,
    hasText: queue.hasText,
    toolCalls,
    furtherTexts: further?.inOrder(),
    finishReason,
    usage,
    reply,
    turn: {
      role: 'assistant',
      text: queue.text,
      ...(toolCalls.length > 0 && { toolCalls }),
      ...(native && { native }),
    },
  };
}

function toldError(body: unknown): GwError {
  const { said, ...facts } = readTold(body);
  const message = `the gateway broke off the answer with an error: ${said}`;
  return new GwError('unavailable', message, { ...facts, hint: cutAnswerHint });
}

/** An error that came with status 200 in place of a whole reply. */
function errorReply(body: unknown, requestId: string | undefined): GwError {
  const { said, ...facts } = readTold(body);
  const message = `the gateway answered with an error: ${said}`;
  return new GwError('unavailable', message, { ...facts, requestId: requestId ?? facts.requestId });
}

function readTold(body: unknown) {
  const { message, type, code, requestId } = readGatewayError(body);
  return { said: (message ?? type ?? code ?? 'without a message').slice(0, 500), type, code, requestId };
}

const badEvent = (data: string): GwError =>
  new GwError('unavailable', `the stream brought an event that is not JSON: ${data.slice(0, 120)}`, {
    hint: cutAnswerHint,
  });

const notAStream = (requestId: string | undefined): GwError =>
  new GwError('unavailable', 'the gateway answered with an event stream that holds no event', {
    requestId,
    hint: 'ask for the answer in one piece with --no-stream, or look at what comes with --verbose',
  });

const cutShort = (requestId: string | undefined): GwError =>
  new GwError('unavailable', 'the stream ended before the answer did', { requestId, hint: cutAnswerHint });

/** A few bytes are an object of their own all the same. */
const LEAST_EVENT_BYTES = 64;

/** Gathers what the events of one piece of a stream say, neighbours of a kind as one, and tells it in one go. */
class EventQueue implements Heard {
  /** All text so far, where it is kept. */
  text = '';
  hasText = false;
  #waiting: ChatEvent[] = [];
  #kind: 'text' | 'thinking' | undefined;
  #words = '';
  /** Bytes heard, of these those counted as kept, and all that count. */
  #heard = 0;
  #counted = 0;
  #kept = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly tell: (event: ChatEvent) => void | Promise<void>,
    private readonly keeps: { readonly text: boolean; readonly events: boolean },
  ) {}

  /** No more is kept: what follows is not read. */
  get isFull(): boolean {
    return this.#kept > WHOLE_LIMIT_BYTES;
  }

  /** Counts what is kept of an answer; beyond the limit the answer has failed (promises, section 5). */
  keep(bytes: number): void {
    this.#kept += bytes;
    if (this.isFull) this.fail(tooLong());
  }

  /**
   * Counts an event of an answer that is kept whole: what it says, and a quarter of the rest, because most of that is its
   * envelope.
   */
  keepEvent(data: string): void {
    const said = this.#heard - this.#counted;
    this.#counted = this.#heard;
    this.keep(said + Math.max(LEAST_EVENT_BYTES, (data.length - said) / 4));
  }

  hear(kind: 'text' | 'thinking', words: string): void {
    if (words === '' || this.#failure) return;
    if (this.keeps.events) this.#heard += Buffer.byteLength(words);
    if (this.#kind !== kind) this.#close();
    this.#kind = kind;
    this.#words += words;
  }

  raw(data: string): void {
    if (this.#failure) return;
    this.#close();
    this.#waiting.push({ type: 'raw', data });
  }

  /** Nothing after this counts; `flush` throws it when what came before has been told. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Tells what has gathered. Throws what the listener throws, or the failure that came after. */
  async flush(): Promise<void> {
    this.#close();
    for (const event of this.#waiting.splice(0)) await this.tell(event);
    if (this.#failure) throw this.#failure.error;
  }

  #close(): void {
    const type = this.#kind;
    if (type === undefined) return;
    const text = this.#words;
    this.#kind = undefined;
    this.#words = '';
    this.#waiting.push({ type, text });
    if (type !== 'text') return;
    this.hasText = true;
    if (this.keeps.text) this.text += text;
  }
}

const tooLong = () =>
  new GwError(
    'unavailable',
    `the answer grew beyond ${WHOLE_LIMIT_BYTES / 2 ** 20} MiB, more than gw keeps of one, and was broken off`,
    { hint: 'what came is shown; text without --session and --json --stream take an answer of any length' },
  );
