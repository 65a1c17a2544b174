import * as z from 'zod';

// An error may come with status 200 too, in place of an answer or in the middle of one.

/** An error in place of a complete reply, on any chat surface. */
export const ChatErrorReply = z.looseObject({ error: z.union([z.string().min(1), z.looseObject({})]) });

/** Whether an event of a stream is an error that stands by itself: `{"message":"…"}`, of no type or of an error's. */
export function isBareError(event: unknown): boolean {
  if (typeof event !== 'object' || event === null) return false;
  const { message, type } = event as { readonly message?: unknown; readonly type?: unknown };
  if (typeof message !== 'string' || message === '') return false;
  return type === undefined || (typeof type === 'string' && type.endsWith('error'));
}
