import * as z from 'zod/mini';
import { field, isDataUri, isWebUrl, type ObjectMaker, requiredField, withRules } from '../body.ts';
import { filled, modelId, words } from '../checks.ts';
import { contentFlags, contentItem } from '../content.ts';
import { type Endpoint, replyThat } from '../endpoint.ts';
import type { Modality } from '../limits.ts';
import {
  ALPHA_MAX_BODY_BYTES,
  type AlphaModel,
  AUTO_DURATION,
  alphaFormats,
  alphaModels,
  alphaRatios,
  alphaResolutions,
  alphaTaskTypes,
} from './models.ts';
import { alphaRules } from './rules.ts';
import { alphaTasksPath, readAlphaCreate } from './task.ts';

// The create body of family A ("Family A: create task").

const assetUri = /^asset:\/\/[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The ID in `asset://ID`; undefined for any other address. */
export const assetIdOf = (url: string): string | undefined =>
  url.startsWith('asset://') ? url.slice('asset://'.length) : undefined;

/** `url` ("Rules for content", 1 and 2): a URL or `asset://<asset_id>`; images and audio also as a Base64 data URI. */
function mediaUrl(modality: Modality) {
  const base64 = modality !== 'video';
  const forms = `${base64 ? 'a URL, a Base64 data URI' : 'a URL'} or asset://ID`;
  return z.string().check(
    z.refine((url) => isWebUrl(url) || assetUri.test(url) || (base64 && isDataUri(url, modality)), {
      error: ({ input }) =>
        /^[\w.-]{1,128}$/.test(String(input))
          ? `a bare asset ID is rejected: write asset://${input}`
          : `not ${forms} (${base64 ? `${modality}s` : `${modality}s are sent by address only`})`,
    }),
  );
}

const textItem = (object: ObjectMaker) => object({ type: z.literal('text'), text: words() });

const only25 =
  <T>(takes: T) =>
  (model: AlphaModel) =>
    model.version === '2.5' ? takes : undefined;

const alphaFields = (object: ObjectMaker) =>
  object({
    model: requiredField(modelId(), 'model ID, or short', {
      short: 'm',
      value: 'MODEL',
      choices: Object.values(alphaModels).map((model) => model.short),
      completes: 'model:alpha',
    }),
    content: requiredField(
      z
        .array(contentItem(object, textItem(object), mediaUrl))
        .check(filled('a prompt or at least one image, video or audio is needed')),
      'the prompt and its media',
      {
        items: contentFlags(
          {
            image: 'file, URL, data URI or asset://ID',
            video: 'URL or asset://ID',
            audio: 'file, URL, data URI or asset://ID',
          },
          'image that the video ends with (needs --first-frame)',
        ),
      },
    ),
    generate_audio: field(z.boolean(), 'generate audio with the video', { negatable: true }),
    resolution: field(z.enum(alphaResolutions), 'output resolution', {
      takes: (model: AlphaModel) => model.resolutions,
      row: 'resolutions',
      says: '480p, 720p, 1080p; 4k only on standard 2.0',
    }),
    ratio: field(z.enum(alphaRatios), 'output aspect ratio', {
      value: 'RATIO',
      takes: (model: AlphaModel) => model.ratios,
      row: 'ratios',
      says: '21:9, 16:9, 4:3, 1:1, 3:4, 9:16; 2.5 also adaptive',
    }),
    duration: field(z.int(), 'length in seconds', {
      value: 'SECONDS',
      words: { auto: AUTO_DURATION },
      takes: ({ durationS, version }: AlphaModel) =>
        version === '2.5' ? { ...durationS, also: AUTO_DURATION } : durationS,
      row: 'duration',
      says: 'seconds; 2.0: 4-15 and -1 unsupported; 2.5: 4-30 or -1',
    }),
    output_format: field(z.enum(alphaFormats), 'container of the output (2.5)', {
      flag: 'format',
      takes: only25(alphaFormats),
      says: 'settable only on 2.5: mp4 or mov; 2.0 output is always mp4',
    }),
    watermark: field(z.boolean(), 'add an AI-generated mark in the lower-right corner', { negatable: true }),
    return_last_frame: field(z.boolean(), "return the video's last frame too (2.0)"),
    omni_reference_task_type: field(z.enum(alphaTaskTypes), 'what to do with the references (2.5)', {
      flag: 'taskType',
      takes: only25(alphaTaskTypes),
      row: 'task types',
      says: '2.5 only: auto, reference, edit, extend',
    }),
    tools: field(
      z
        .array(object({ type: z.literal('web_search') }))
        .check(z.length(1, 'one item, {"type":"web_search"}')),
      'let the model search the web (2.0, prompt only)',
      { flag: 'webSearch', sets: [{ type: 'web_search' }] },
    ),
  });

/** The body of `POST /api/v3/contents/generations/tasks`. */
export const AlphaCreateBody = withRules(alphaFields, alphaRules);
export type AlphaCreateBody = z.infer<ReturnType<typeof alphaFields>>;
export type AlphaContentItem = AlphaCreateBody['content'][number];

export const alphaCreate: Endpoint = {
  name: 'alpha.create',
  method: 'POST',
  path: alphaTasksPath,
  resend: 'paid',
  body: AlphaCreateBody,
  reply: replyThat(readAlphaCreate),
  maxBodyBytes: ALPHA_MAX_BODY_BYTES,
};
