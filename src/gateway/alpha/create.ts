import * as z from 'zod';
import type { Endpoint } from '../endpoint.ts';
import type { Modality } from '../media-limits.ts';
import {
  ALPHA_MAX_BODY_BYTES,
  alphaFormats,
  alphaRatios,
  alphaResolutions,
  alphaTaskTypes,
} from './models.ts';
import { alphaBreaches } from './rules.ts';
import { AlphaCreateReply, alphaTasksPath } from './task.ts';

// The create body of family A ("Family A: create task").

const assetUri = /^asset:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
// One test for each form that "Rules for content", 1 allows; none holds white space or control characters.
const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/u;
const dataUri = (modality: string) =>
  new RegExp(`^data:${modality}/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$`);

/** Whether a string is what `content[].<modality>_url.url` takes: rules 1 and 2 for content. */
function mediaUrl(modality: Modality, base64: boolean) {
  const forms = `${base64 ? 'a URL, a Base64 data URI' : 'a URL'} or asset://ID`;
  const data = dataUri(modality);
  return z.string().refine((url) => webUrl.test(url) || assetUri.test(url) || (base64 && data.test(url)), {
    error: (issue) =>
      /^[\w.-]{1,128}$/.test(String(issue.input))
        ? `a bare asset ID is rejected: write asset://${issue.input}`
        : `not ${forms} (${base64 ? `${modality}s` : `${modality}s are sent by address only`})`,
  });
}

type ObjectMaker = typeof z.looseObject | typeof z.strictObject;

/** The create body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list). */
function createBody(object: ObjectMaker) {
  const item = z.discriminatedUnion('type', [
    object({
      type: z.literal('text'),
      text: z.string().refine((text) => text.trim() !== '', { error: 'the prompt is empty' }),
    }),
    object({
      type: z.literal('image_url'),
      image_url: object({ url: mediaUrl('image', true) }),
      role: z.enum(['reference_image', 'first_frame', 'last_frame']),
    }),
    object({
      type: z.literal('video_url'),
      video_url: object({ url: mediaUrl('video', false) }),
      role: z.literal('reference_video'),
    }),
    object({
      type: z.literal('audio_url'),
      audio_url: object({ url: mediaUrl('audio', true) }),
      role: z.literal('reference_audio'),
    }),
  ]);
  return object({
    model: z.string().min(1, 'is empty').describe('model ID, or short'),
    content: z.array(item).min(1, 'a prompt or at least one image, video or audio is needed'),
    generate_audio: z.boolean().optional().describe('generate audio with the video'),
    resolution: z.enum(alphaResolutions).optional().describe('output resolution'),
    ratio: z.enum(alphaRatios).optional().describe('output aspect ratio'),
    duration: z.int().optional().describe('length in seconds'),
    output_format: z.enum(alphaFormats).optional().describe('container of the output (2.5)'),
    watermark: z.boolean().optional().describe('add an AI-generated mark in the lower-right corner'),
    return_last_frame: z.boolean().optional().describe("return the video's last frame too (2.0)"),
    omni_reference_task_type: z
      .enum(alphaTaskTypes)
      .optional()
      .describe('what to do with the references (2.5)'),
    tools: z
      .array(object({ type: z.literal('web_search') }))
      .length(1)
      .optional()
      .describe('let the model search the web (2.0, prompt only)'),
  }).superRefine((body, ctx) => {
    for (const { path, message, known } of alphaBreaches(body as AlphaCreateBody)) {
      ctx.addIssue({ code: 'custom', path: [...path], message, ...(known && { params: { known } }) });
    }
  });
}

/** The body of `POST /api/v3/contents/generations/tasks`, with every documented rule. */
export const AlphaCreateBody = createBody(z.looseObject);
export interface AlphaCreateBody {
  model: string;
  content: AlphaContentItem[];
  generate_audio?: boolean;
  resolution?: (typeof alphaResolutions)[number];
  ratio?: (typeof alphaRatios)[number];
  duration?: number;
  output_format?: (typeof alphaFormats)[number];
  watermark?: boolean;
  return_last_frame?: boolean;
  omni_reference_task_type?: (typeof alphaTaskTypes)[number];
  tools?: { type: 'web_search' }[];
}
export type AlphaContentItem =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string }; role: 'reference_image' | 'first_frame' | 'last_frame' }
  | { type: 'video_url'; video_url: { url: string }; role: 'reference_video' }
  | { type: 'audio_url'; audio_url: { url: string }; role: 'reference_audio' };

/** As {@link AlphaCreateBody}, refusing fields that the document does not list. */
export const AlphaStrictCreateBody = createBody(z.strictObject);

export const alphaCreate: Endpoint = {
  name: 'alpha.create',
  method: 'POST',
  path: alphaTasksPath,
  credential: 'bearer',
  resend: 'paid',
  body: AlphaCreateBody,
  reply: AlphaCreateReply,
  maxBodyBytes: ALPHA_MAX_BODY_BYTES,
};
