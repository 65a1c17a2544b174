import type { StreamFaultKind } from './faults.ts';
import type { ReplyEvent } from './reply.ts';

const LONG_LINE_BYTES = 10 * 1024 * 1024;
const ODD_PIECE_CHARS = 7;

type Bend = (events: readonly ReplyEvent[]) => ReplyEvent[];

/** Puts a text between the halves of a stream, due with the first event of the second. */
const inTheMiddle =
  (text: string): Bend =>
  (events) => {
    const middle = Math.ceil(events.length / 2);
    const atMs = events[middle]?.atMs ?? 0;
    return [...events.slice(0, middle), { text, atMs }, ...events.slice(middle)];
  };

const errorEvent = {
  type: 'error',
  error: { type: 'server_error', code: 'InternalServiceError', message: 'The answer broke off.' },
};

const bends: Readonly<Record<StreamFaultKind, Bend>> = {
  // The reply's JSON takes the place of the stream before it comes here.
  'plain-json': (events) => [...events],
  'odd-form': (events) => events.flatMap(oddly),
  'unknown-event': inTheMiddle('event: surprise\ndata: {"type":"surprise","surprise":true}\n\n'),
  'bad-event': inTheMiddle('data: {"choices":[{"delta"\n\n'),
  'error-event': (events) => [
    ...events.slice(0, Math.ceil(events.length / 2)),
    {
      text: `event: error\ndata: ${JSON.stringify(errorEvent)}\n\n`,
      atMs: events[Math.ceil(events.length / 2)]?.atMs ?? 0,
    },
  ],
  'long-line': inTheMiddle(`: ${'-'.repeat(LONG_LINE_BYTES)}\n\n`),
  stall: (events) => [
    ...events.slice(0, Math.ceil(events.length / 2)),
    { text: '', atMs: Number.POSITIVE_INFINITY },
  ],
  'no-end': (events) => events.slice(0, -1),
  'end-twice': (events) => [...events, ...events.slice(-1)],
};

function oddly({ text, atMs }: ReplyEvent, nth: number): ReplyEvent[] {
  const odd = `${nth === 0 ? '\uFEFF' : ': keep-alive\r\n'}${text.replaceAll('\n', '\r\n')}`;
  const pieces = odd.match(new RegExp(`[^]{1,${ODD_PIECE_CHARS}}`, 'gu')) ?? [];
  return pieces.map((piece) => ({ text: piece, atMs }));
}

export const isStreamFault = (kind: string): kind is StreamFaultKind => Object.hasOwn(bends, kind);

/** What a fault makes of a stream's events. */
export const bendEvents = (kind: StreamFaultKind, events: Iterable<ReplyEvent>): ReplyEvent[] =>
  bends[kind]([...events]);
