import type { Clock } from '../host.ts';
import type { Transport } from './exchange.ts';
import { traceReply, traceRequest } from './trace.ts';

/** A transport whose streamed exchanges (outputs) are told line by line, as the client tells its own. */
export function tracedTransport(
  transport: Transport,
  clock: Pick<Clock, 'steady'>,
  trace: (line: string) => void,
): Transport {
  return {
    ...transport,
    async stream(request, handler) {
      for (const line of traceRequest(request)) trace(line);
      const beganMs = clock.steady();
      return transport.stream(request, {
        ...handler,
        onHead(head) {
          for (const line of traceReply(head, clock.steady() - beganMs)) trace(line);
          return handler.onHead(head);
        },
        onData: (chunk) => handler.onData(chunk),
      });
    },
  };
}
