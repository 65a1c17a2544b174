import type * as z from 'zod';
import type { Endpoint } from '../endpoint.ts';
import { type BetaVariant, betaVariants } from './modes.ts';
import { BetaO1Body } from './o1.ts';
import { BetaOpenBody } from './open.ts';
import { betaRefusal } from './reply.ts';
import { BetaCreateReply } from './task.ts';
import { BetaTextBody, BetaTurboBody } from './text.ts';

// The seven create endpoints of family B as rows ("Family B endpoints").

/** A create endpoint and the variant that it is the endpoint of. */
export interface BetaCreate extends Endpoint {
  readonly variant: BetaVariant;
  readonly body: z.ZodType;
}

const row = (name: string, variant: BetaVariant, body: z.ZodType): BetaCreate => ({
  name: `beta.create.${name}`,
  method: 'POST',
  path: variant.path,
  credential: 'bearer',
  resend: 'paid',
  body,
  reply: BetaCreateReply,
  refusal: betaRefusal,
  variant,
});

export const betaCreateText = row('text', betaVariants.text, BetaTextBody);
export const betaCreateTextTurbo = row('text-turbo', betaVariants.textTurbo, BetaTurboBody);
export const betaCreateImage = row('image', betaVariants.image, BetaOpenBody);
export const betaCreateImageTurbo = row('image-turbo', betaVariants.imageTurbo, BetaOpenBody);
export const betaCreateOmni = row('omni', betaVariants.omni, BetaOpenBody);
export const betaCreateMotion = row('motion', betaVariants.motion, BetaOpenBody);
export const betaCreateO1 = row('o1', betaVariants.o1, BetaO1Body);

export const betaCreates: readonly BetaCreate[] = [
  betaCreateText,
  betaCreateTextTurbo,
  betaCreateImage,
  betaCreateImageTurbo,
  betaCreateOmni,
  betaCreateMotion,
  betaCreateO1,
];

/** The create endpoint of a mode; undefined where there is none. */
export const betaCreateOf = (mode: string, turbo: boolean): BetaCreate | undefined =>
  betaCreates.find(({ variant }) => variant.mode === mode && variant.turbo === turbo);
