import type { ReceivedHead } from './client.ts';
import type { WireHead } from './exchange.ts';
import { readDateMs } from './retry-after.ts';
import { requestIdOf } from './status-error.ts';

/** What the head of a reply says whose body is handed over as it comes. */
export const receivedHead = ({ status, headers }: WireHead): ReceivedHead => ({
  status,
  headers,
  requestId: requestIdOf(headers),
  serverDateMs: readDateMs(headers.date),
});
