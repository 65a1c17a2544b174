import * as z from 'zod';
import { betaOptions } from './fields.ts';

/**
 * The body of an endpoint whose body the document does not show (image-to-video, omni, motion control): any object.
 * What the documented endpoints of the family share is looked at where it is given; the rest is sent as it is.
 */
export const BetaOpenBody = z.looseObject({
  prompt: z.string().optional(),
  settings: z
    .looseObject({
      multi_shot: z.boolean().optional(),
      audio: z.string().optional(),
      resolution: z.string().optional(),
      aspect_ratio: z.string().optional(),
      duration: z.int().optional(),
    })
    .optional(),
  options: betaOptions(z.looseObject).optional(),
});
