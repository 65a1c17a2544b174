import * as z from 'zod';
import type { Note } from '../task.ts';

// What the create bodies of family B have in common.

export type ObjectMaker = typeof z.looseObject | typeof z.strictObject;

// No white space or control characters.
const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/u;
export const isWebUrl = (text: string): boolean => webUrl.test(text);

/** An ID that can be asked for: `GET /tasks` takes several of them with commas between. */
const ExternalTaskId = z
  .string()
  .min(1, 'an external ID is not empty')
  .regex(/^[^,\s\p{Cc}]*$/u, 'an external ID has no comma and no white space, or it could not be asked for');

/** `options`, the same on every documented endpoint. */
export const betaOptions = (object: ObjectMaker) =>
  object({
    callback_url: z
      .string()
      .refine(isWebUrl, { error: 'not a URL (https://host/path)' })
      .optional()
      .describe('where the gateway reports changes of status'),
    external_task_id: ExternalTaskId.optional().describe(
      "your own ID of the task, unique in the account (default: the job's, gw-…)",
    ),
    watermark_info: object({
      enabled: z.boolean().optional().describe('a watermarked result beside the clean one'),
    }).optional(),
  });

/** A refinement that reports notes as issues of a schema. */
export const reportNotes =
  <B>(notesOf: (body: B) => Iterable<Note>) =>
  (body: unknown, ctx: z.RefinementCtx): void => {
    for (const { path, message, known } of notesOf(body as B)) {
      ctx.addIssue({ code: 'custom', path: [...path], message, ...(known && { params: { known } }) });
    }
  };

/** A whole number of seconds within a range, as the message says it. */
export const secondsWithin = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z.int().refine((value) => value >= min && value <= max, { error: `${min}-${max} seconds are taken` });

export interface BetaOptions {
  callback_url?: string;
  external_task_id?: string;
  watermark_info?: { enabled?: boolean };
}
