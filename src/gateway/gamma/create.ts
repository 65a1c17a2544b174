import * as z from 'zod';
import type { Endpoint } from '../endpoint.ts';
import type { Modality } from '../media-limits.ts';
import {
  GAMMA_MAX_BODY_BYTES,
  gammaDataTypes,
  gammaMedia,
  gammaModels,
  gammaRatios,
  gammaResolutions,
} from './models.ts';
import { gammaBreaches } from './rules.ts';
import { GammaCreateReply } from './task.ts';

// The create body of family C ("Family C endpoints").

const gammaFile = /^gammafile:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
// None of the forms holds white space or control characters.
const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/u;

/** What `url` takes: a public URL, `gammafile://{file_id}` or a Base64 data URI of a supported format. */
function mediaUrl(modality: Modality) {
  const data = new RegExp(
    `^data:${modality}/(?:${gammaDataTypes[modality].join('|')});base64,[A-Za-z0-9+/]+={0,2}$`,
  );
  const formats = gammaMedia[modality].formats.join(', ');
  return z.string().refine((url) => webUrl.test(url) || gammaFile.test(url) || data.test(url), {
    error: (issue) =>
      /^[\w.-]{1,128}$/.test(String(issue.input))
        ? `a bare file ID is not taken: write gammafile://${issue.input}`
        : `not a URL, gammafile://ID or a Base64 data URI of one of the ${modality} formats ${formats}`,
  });
}

const perModel = (words: (name: string) => string): string => Object.keys(gammaModels).map(words).join('; ');
const resolutionHelp = perModel((name) => `${gammaModels[name]?.resolutions.join(', ')} on ${name}`);
const durationHelp = perModel(
  (name) => `${gammaModels[name]?.durationS.min}-${gammaModels[name]?.durationS.max} on ${name}`,
);

type ObjectMaker = typeof z.looseObject | typeof z.strictObject;

/**
 * The create body, loose (fields of `--set` pass) or strict (the sandbox refuses what the document does not list).
 * `resolution` and `duration` are required by the rules per model, so that the message can name that model's values.
 */
function createBody(object: ObjectMaker) {
  const item = z.discriminatedUnion('type', [
    object({
      type: z.literal('text'),
      text: z.string(),
      role: z
        .unknown()
        .refine((role) => role === undefined, { error: 'a text item has no role' })
        .optional(),
    }),
    object({
      type: z.literal('image_url'),
      image_url: object({ url: mediaUrl('image') }),
      role: z.enum(['reference_image', 'first_frame', 'last_frame']),
    }),
    object({
      type: z.literal('video_url'),
      video_url: object({ url: mediaUrl('video') }),
      role: z.literal('reference_video'),
    }),
    object({
      type: z.literal('audio_url'),
      audio_url: object({ url: mediaUrl('audio') }),
      role: z.literal('reference_audio'),
    }),
  ]);
  return object({
    model: z.string().min(1, 'is empty').describe('model ID'),
    content: z.array(item),
    resolution: z
      .enum(gammaResolutions)
      .optional()
      .describe(`output resolution, required: ${resolutionHelp}`),
    duration: z.int().optional().describe(`length in seconds, required: ${durationHelp}`),
    ratio: z
      .enum(gammaRatios)
      .optional()
      .describe('output aspect ratio; text alone needs one other than adaptive'),
    callback_url: z
      .string()
      .regex(webUrl, 'not a URL: write it out, https://host/path')
      .optional()
      .describe('address that is told of each change of status'),
    aigc_watermark: z.boolean().optional().describe('add an AI-generated mark (default: no)'),
  }).superRefine((body, ctx) => {
    for (const { path, message, known } of gammaBreaches(body as GammaCreateBody)) {
      ctx.addIssue({ code: 'custom', path: [...path], message, ...(known && { params: { known } }) });
    }
  });
}

/** The body of `POST /v2/video_generation`, with every documented rule. */
export const GammaCreateBody = createBody(z.looseObject);
export interface GammaCreateBody {
  model: string;
  content: GammaContentItem[];
  resolution?: (typeof gammaResolutions)[number];
  duration?: number;
  ratio?: (typeof gammaRatios)[number];
  callback_url?: string;
  aigc_watermark?: boolean;
}
export type GammaContentItem =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string }; role: 'reference_image' | 'first_frame' | 'last_frame' }
  | { type: 'video_url'; video_url: { url: string }; role: 'reference_video' }
  | { type: 'audio_url'; audio_url: { url: string }; role: 'reference_audio' };

/** As {@link GammaCreateBody}, refusing fields that the document does not list. */
export const GammaStrictCreateBody = createBody(z.strictObject);

export const gammaCreate: Endpoint = {
  name: 'gamma.create',
  method: 'POST',
  path: '/v2/video_generation',
  credential: 'bearer',
  resend: 'paid',
  body: GammaCreateBody,
  reply: GammaCreateReply,
  maxBodyBytes: GAMMA_MAX_BODY_BYTES,
};
