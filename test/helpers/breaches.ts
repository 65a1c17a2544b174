import type * as z from 'zod/mini';
import { lookAtBody } from '../../src/flags/breaches.ts';

/** The messages with which gw refuses a body that somebody has written. */
export const breachesOf = (schema: z.ZodMiniType, body: unknown): string[] =>
  lookAtBody(schema, body, () => undefined, { isGiven: () => true }).breaches.map(({ text }) => text);
