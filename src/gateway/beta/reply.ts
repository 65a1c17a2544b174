import * as z from 'zod';
import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';

// The envelope of every reply of family B: `code`, `message`, `request_id`, `data` ("Family B video task", "Errors").

const Coded = z.looseObject({ code: z.union([z.number(), z.string()]) });

const codeOf = (reply: unknown): number | string | undefined => {
  const { data } = Coded.safeParse(reply);
  return data?.code === '' ? undefined : data?.code;
};

/** Whether the reply says success: 0, and for tolerance "0". */
export const isBetaSuccess = (reply: unknown): boolean => {
  const code = codeOf(reply);
  return code === 0 || code === '0';
};

/** A 2xx reply whose `code` is other than 0 is a refusal. One without a code says neither. */
export function betaRefusal(reply: unknown): GatewayErrorFacts | undefined {
  if (codeOf(reply) === undefined || isBetaSuccess(reply)) return undefined;
  const { message, code, requestId } = readGatewayError(reply);
  return { message, code, requestId };
}

/** What is odd about a reply that is taken for a success all the same. */
export function betaReplyWarning(reply: unknown): string | undefined {
  const code = codeOf(reply);
  if (code === '0') return 'the gateway answered with the code "0", a text; it is taken for 0';
  return code === undefined ? 'the gateway answered without a code; it is taken for a success' : undefined;
}
