import * as z from 'zod/mini';
import { field, isDataUri, isWebUrl, type ObjectMaker, requiredField, withRules } from '../body.ts';
import { modelId } from '../checks.ts';
import { contentFlags, contentItem } from '../content.ts';
import { type Endpoint, replyThat } from '../endpoint.ts';
import type { Modality } from '../limits.ts';
import {
  GAMMA_MAX_BODY_BYTES,
  type GammaModel,
  gammaDataTypes,
  gammaMedia,
  gammaModels,
  gammaRatios,
  gammaResolutions,
} from './models.ts';
import { gammaRules } from './rules.ts';
import { readGammaCreate } from './task.ts';

// The create body of family C ("Family C endpoints").

const gammaFile = /^gammafile:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The schema of `url`: a public URL, `gammafile://{file_id}` or a Base64 data URI of a supported format. */
const mediaUrl = (modality: Modality) =>
  z.string().check(
    z.refine(
      (url) => isWebUrl(url) || gammaFile.test(url) || isDataUri(url, modality, gammaDataTypes[modality]),
      {
        error: ({ input }) =>
          /^[\w.-]{1,128}$/.test(String(input))
            ? `a bare file ID is not enough: write gammafile://${input}`
            : `not a URL, gammafile://ID or a Base64 data URI of one of the ${modality} formats ${gammaMedia[modality].formats.join(', ')}`,
      },
    ),
  );

const textItem = (object: ObjectMaker) =>
  object({
    type: z.literal('text'),
    text: z.string(),
    role: z.optional(z.undefined({ error: 'a text item has no role' })),
  });

const reference = 'file, URL, data URI or gammafile://ID';

/** Rules make `resolution` and `duration` required, so that the message can list the values that the model takes. */
const gammaFields = (object: ObjectMaker) =>
  object({
    model: requiredField(modelId(), 'model ID', {
      short: 'm',
      value: 'MODEL',
      choices: Object.keys(gammaModels),
      completes: 'model:gamma',
    }),
    content: requiredField(
      z.array(contentItem(object, textItem(object), mediaUrl)),
      'the prompt and its media',
      { items: contentFlags({ image: reference, video: reference, audio: reference }) },
    ),
    resolution: field(z.enum(gammaResolutions), 'output resolution, required', {
      takes: (model: GammaModel) => model.resolutions,
      row: 'resolutions',
      says: 'H3: 768P, 2K; H3-Max: 480P, 768P',
    }),
    duration: field(z.int(), 'length in seconds, required', {
      value: 'SECONDS',
      takes: (model: GammaModel) => model.durationS,
      row: 'duration',
      says: 'H3: 4-15; H3-Max: 5-15',
    }),
    ratio: field(z.enum(gammaRatios), 'output aspect ratio; text alone needs one other than adaptive', {
      value: 'RATIO',
      row: 'ratios',
      says: 'adaptive, 21:9, 16:9, 4:3, 1:1, 3:4, 9:16',
    }),
    callback_url: field(
      z.string().check(z.refine(isWebUrl, { error: 'not a URL: write it out, https://host/path' })),
      'address that is told of each change of status; auto: your running gw listen',
      { value: 'URL|auto', typed: true },
    ),
    aigc_watermark: field(z.boolean(), 'add an AI-generated mark (default: no)', {
      flag: 'watermark',
      negatable: true,
    }),
  });

/** The body of `POST /v2/video_generation`. */
export const GammaCreateBody = withRules(gammaFields, gammaRules);
export type GammaCreateBody = z.infer<ReturnType<typeof gammaFields>>;
export type GammaContentItem = GammaCreateBody['content'][number];

export const gammaCreate: Endpoint = {
  name: 'gamma.create',
  method: 'POST',
  path: '/v2/video_generation',
  resend: 'paid',
  body: GammaCreateBody,
  reply: replyThat(readGammaCreate),
  maxBodyBytes: GAMMA_MAX_BODY_BYTES,
};
