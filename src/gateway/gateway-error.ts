import * as z from 'zod/mini';

/** `error.message`, `error.type`, `error.code` ("Errors"), read leniently: any of them may be missing or mistyped. */
const ErrorObject = z.looseObject({
  message: z.optional(z.unknown()),
  type: z.optional(z.unknown()),
  code: z.optional(z.unknown()),
});

const ErrorBody = z.looseObject({
  error: z.optional(z.unknown()),
  message: z.optional(z.unknown()),
  code: z.optional(z.unknown()),
  request_id: z.optional(z.unknown()),
  ResponseMetadata: z.catch(
    z.optional(
      z.looseObject({
        RequestId: z.optional(z.unknown()),
        Error: z.optional(z.looseObject({ Code: z.optional(z.unknown()), Message: z.optional(z.unknown()) })),
      }),
    ),
    undefined,
  ),
});

/** What an error body says, whichever of the documented shapes it has. */
export interface GatewayErrorFacts {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;

/**
 * Reads an error body: `{error:{message,type,code}}`, the asset envelope `{ResponseMetadata:{RequestId,Error}}`,
 * family B's `{code,message,request_id}`, or `{error:"…"}`. Anything else gives no facts.
 */
export function readGatewayError(body: unknown): GatewayErrorFacts {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return {};
  const { error, ResponseMetadata: envelope } = parsed.data;
  if (envelope?.Error) {
    return {
      message: text(envelope.Error.Message),
      code: text(envelope.Error.Code),
      requestId: text(envelope.RequestId),
    };
  }
  const requestId = text(parsed.data.request_id) ?? text(envelope?.RequestId);
  if (typeof error === 'string') return { message: error, code: text(parsed.data.code), requestId };
  const inner = ErrorObject.safeParse(error);
  if (inner.success) {
    return {
      message: text(inner.data.message),
      type: text(inner.data.type),
      code: text(inner.data.code),
      requestId,
    };
  }
  return { message: text(parsed.data.message), code: text(parsed.data.code), requestId };
}

// An error may come with status 200 too, in place of an answer or in the middle of one.

/** An error in place of a complete reply, on any chat surface. */
export const ChatErrorReply = z.looseObject({
  error: z.union([z.string().check(z.minLength(1)), z.looseObject({})]),
});

/** Whether an event of a stream is an error that stands by itself: `{"message":"…"}`, of no type or of an error's. */
export function isBareError(event: unknown): boolean {
  if (typeof event !== 'object' || event === null) return false;
  const { message, type } = event as { readonly message?: unknown; readonly type?: unknown };
  if (typeof message !== 'string' || message === '') return false;
  return type === undefined || (typeof type === 'string' && type.endsWith('error'));
}
