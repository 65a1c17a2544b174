import * as z from 'zod';
import {
  type BetaOptions,
  betaOptions,
  isWebUrl,
  type ObjectMaker,
  reportNotes,
  secondsWithin,
} from './fields.ts';
import { betaO1Settings } from './modes.ts';
import { betaO1Breaches } from './o1-rules.ts';

// The body of O1 video ("Family B endpoints").

const dataUri = /^data:image\/(?:jpeg|jpg|png);base64,[A-Za-z0-9+/]+={0,2}$/;
// Shorter than any picture is more likely an ID or a file name.
const bareBase64 = /^[A-Za-z0-9+/]{64,}={0,2}$/;

const imageUrl = z.string().refine((url) => isWebUrl(url) || dataUri.test(url) || bareBase64.test(url), {
  error: 'not a URL, or a JPG or PNG in Base64',
});
const videoUrl = z.string().refine(isWebUrl, { error: 'not a URL (videos are sent by address only)' });
const Id = z.string().regex(/^[^\s@]+$/, 'an ID is not empty, without white space and @');

function o1Body(object: ObjectMaker) {
  const image = <T extends string>(type: T) =>
    object({ type: z.literal(type), url: imageUrl, id: Id.optional() });
  const video = <T extends string>(type: T) =>
    object({ type: z.literal(type), url: videoUrl, id: Id.optional() });
  const item = z.discriminatedUnion('type', [
    object({
      type: z.literal('prompt'),
      text: z.string().refine((text) => text.trim() !== '', { error: 'the prompt is empty' }),
    }),
    image('first_frame'),
    image('last_frame'),
    image('refer_image'),
    video('feature_video'),
    video('base_video'),
    object({
      type: z.literal('element'),
      id: Id,
      element_id: z.string().min(1, 'is empty'),
    }),
  ]);
  return object({
    contents: z.array(item).min(1, 'a prompt or at least one image, video or element is needed'),
    settings: object({
      audio: z.enum(betaO1Settings.audio).optional(),
      resolution: z.enum(betaO1Settings.resolutions).optional(),
      aspect_ratio: z.enum(betaO1Settings.aspectRatios).optional(),
      duration: secondsWithin(betaO1Settings.durationS).optional(),
    }).optional(),
    options: betaOptions(object).optional(),
  }).superRefine(reportNotes(betaO1Breaches));
}

/** The body of `POST /omni-video/beta-o1`, with every documented rule. */
export const BetaO1Body = o1Body(z.looseObject);
export interface BetaO1Body {
  contents: BetaO1Item[];
  settings?: { audio?: string; resolution?: string; aspect_ratio?: string; duration?: number };
  options?: BetaOptions;
}
export type BetaO1Item =
  | { type: 'prompt'; text: string }
  | { type: 'first_frame' | 'last_frame' | 'refer_image'; url: string; id?: string }
  | { type: 'feature_video' | 'base_video'; url: string; id?: string }
  | { type: 'element'; id: string; element_id: string };

/** As {@link BetaO1Body}, refusing fields that the document does not list. */
export const BetaStrictO1Body = o1Body(z.strictObject);
