import { type ErrorFacts, GwError } from '../errors.ts';
import { readGatewayError } from '../gateway/gateway-error.ts';
import type { Client, Reply } from '../http/client.ts';
import { eventStream } from '../http/event-stream.ts';
import type { WireHead } from '../http/exchange.ts';
import { cutAnswerHint } from '../http/failures.ts';
import { requestIdOf } from '../http/read-reply.ts';
import { WHOLE_LIMIT_BYTES } from '../http/stream-once.ts';
import type { ChatAnswer, ChatEvent, ChatRequest } from './chat.ts';
import { EventReader } from './event-reader.ts';
import type { Heard, ReplyReader } from './surface.ts';
import { loadSurface, parseReply, StreamedError, spelled } from './surface.ts';

interface ConverseDeps {
  readonly client: Pick<Client, 'send' | 'stream'>;
  /** Receives the partial reply of an answer that broke off, after its last event, if the whole answer is kept. */
  readonly onBroken?: (reply: unknown) => void;
}

/** Receives the events of an answer. While a returned promise is pending, reading stops, so that nothing piles up here. */
type OnChatEvent = (event: ChatEvent) => void | Promise<void>;

/**
 * Sends a conversation to the gateway and reports the answer as it arrives; the text in one network read becomes one
 * event. Resolves with the answer, whatever its finish reason; `judgeAnswer` decides if it is usable. Throws GwError as
 * Client's `send` and `stream` do, `unavailable` if a stream ends before the answer does (its events have been reported)
 * or if the kept data exceed 64 MiB, an error of `onEvent`, or the signal's reason.
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
  const input = spelled(surface.input(model, body, stream));
  const options = { signal, silenceMs };
  if (!stream) return readWhole(await deps.client.send(endpoint, input, options), reader, queue);

  const eventReader = new EventReader(reader, keepsWhole);
  let said = 0;
  let isDone = false;
  const events = eventStream({
    onEvent(data) {
      isDone ||= data === '[DONE]';
      // An event without data only keeps the connection open.
      if (data === '' || data === '[DONE]') return;
      said += 1;
      if (queue.isFull) return;
      if (request.raw) queue.raw(data);
      readEvent(data, eventReader, queue);
      if (keepsWhole) queue.keepEvent(data);
    },
    onPause: () => queue.flush(),
  });
  let requestId: string | undefined;
  const onHead = ({ headers }: WireHead) => {
    requestId = requestIdOf(headers);
  };
  try {
    const taker = { onHead, takeChunk: events.takeChunk };
    const whole = await deps.client.stream(endpoint, input, taker, options).catch(async (error) => {
      // Events before the break are reported first; an error in reporting them is more important than the break.
      await events.finish(false);
      throw error;
    });
    if (whole) return await readWhole(whole, reader, queue);
    await events.finish(true);
    if (said === 0)
      throw new GwError('unavailable', 'the gateway answered with an event stream that holds no event', {
        hint: 'ask for the answer in one piece with --no-stream, or look at what comes with --verbose',
      });
    // `[DONE]` ends a stream of completions, with or without a finish reason.
    const isOver = reader.isFinished() || (isDone && request.api === 'completions');
    if (!isOver)
      throw new GwError('unavailable', 'the stream ended before the answer did', { hint: cutAnswerHint });
  } catch (error) {
    if (said > 0 && request.keep !== 'calls') deps.onBroken?.(reader.reply());
    if (!(error instanceof GwError)) throw error;
    const { hint, requestId: own = requestId } = error.facts;
    const isCut = hint === cutAnswerHint && queue.hasText;
    const came = request.keep === 'whole' ? 'kept' : 'printed';
    throw error.told({ requestId: own, hint: isCut ? `what came is ${came}; ${hint}` : hint });
  }
  return answerOf(reader, queue, reader.reply());
}

/** An error in an event is reported after the events before it. */
function readEvent(data: string, reader: EventReader, queue: EventQueue): void {
  try {
    reader.read(data, queue);
  } catch (error) {
    if (error instanceof StreamedError)
      queue.fail(toldError('broke off the answer with', error.body, { hint: cutAnswerHint }));
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
    reader.whole(parseReply(text, json), queue);
  } catch (error) {
    if (!(error instanceof StreamedError)) throw error;
    queue.fail(toldError('answered with', error.body, requestId ? { requestId } : {}));
  }
  await queue.flush();
  return { ...answerOf(reader, queue, json), replyBytes: bytes };
}

function answerOf(reader: ReplyReader, queue: EventQueue, reply: unknown): ChatAnswer {
  const { toolCalls, finishReason, usage, further } = reader;
  const native = reader.native?.() as ChatAnswer['turn']['native'];
  return {
    text: queue.text,
    hasText: queue.hasText,
    toolCalls,
    further: further?.inOrder(),
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

/** An error that came with status 200. */
function toldError(did: string, body: unknown, more: ErrorFacts): GwError {
  const { message, type, code, requestId } = readGatewayError(body);
  const said = (message ?? type ?? code ?? 'without a message').slice(0, 500);
  const facts = { type, code, requestId, ...more };
  return new GwError('unavailable', `the gateway ${did} an error: ${said}`, facts);
}

const badEvent = (data: string): GwError =>
  new GwError('unavailable', `the stream brought an event that is not JSON: ${data.slice(0, 120)}`, {
    hint: cutAnswerHint,
  });

/** The minimum memory of an event, however short its data is. */
const LEAST_EVENT_BYTES = 64;

/** Collects the events of one network read, joins neighbours of the same kind, and reports them together. */
class EventQueue implements Heard {
  /** All text so far, if it is kept. */
  text = '';
  hasText = false;
  #waiting: ChatEvent[] = [];
  #kind: 'text' | 'thinking' | undefined;
  #words = '';
  /** Bytes of text heard, the part of them already counted as kept, and all bytes that count as kept. */
  #heard = 0;
  #counted = 0;
  #kept = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly tell: (event: ChatEvent) => void | Promise<void>,
    private readonly keeps: { readonly text: boolean; readonly events: boolean },
  ) {}

  /** True once the limit is exceeded; further events are not read. */
  get isFull(): boolean {
    return this.#kept > WHOLE_LIMIT_BYTES;
  }

  /** Counts kept bytes; beyond the limit the answer fails (promises, section 5). */
  keep(bytes: number): void {
    this.#kept += bytes;
    if (this.isFull) this.fail(tooLong());
  }

  /**
   * Counts an event of an answer that is kept whole: its text, and a quarter of the rest, because most of the rest is an
   * envelope that is not kept.
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

  /** Ignores later events; `flush` throws the error after reporting the earlier ones. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Reports the collected events. Throws an error of the listener, or the failure that followed the events. */
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
