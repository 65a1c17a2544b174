import { fieldsOf, isObject } from './json-value.ts';

/** The facts in an error body of any documented shape. */
export interface GatewayErrorFacts {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;

/**
 * Reads an error body: `{error:{message,type,code}}`, the asset envelope `{ResponseMetadata:{RequestId,Error}}`, family
 * B's `{code,message,request_id}`, or `{error:"…"}`. Any other body gives no facts.
 */
export function readGatewayError(body: unknown): GatewayErrorFacts {
  const { error, message, code, request_id: ownId, ResponseMetadata: envelope } = fieldsOf(body);
  const { RequestId: envelopeId, Error: failure } = fieldsOf(envelope);
  const requestId = text(ownId) ?? text(envelopeId);
  if (isObject(failure))
    return { message: text(failure.Message), code: text(failure.Code), requestId: text(envelopeId) };
  if (isObject(error))
    return { message: text(error.message), type: text(error.type), code: text(error.code), requestId };
  return { message: typeof error === 'string' ? error : text(message), code: text(code), requestId };
}

// An error may also come with status 200, in place of an answer or in the middle of a stream.

/** True if a complete reply of any chat surface is an error. */
export function isErrorReply(reply: unknown): boolean {
  const { error } = fieldsOf(reply);
  return isObject(error) || (typeof error === 'string' && error !== '');
}

/** True if a stream event is a bare error, `{"message":"…"}`, without a type or with a type that ends in "error". */
export function isBareError(event: unknown): boolean {
  const { message, type } = fieldsOf(event);
  if (typeof message !== 'string' || message === '') return false;
  return type === undefined || (typeof type === 'string' && type.endsWith('error'));
}
