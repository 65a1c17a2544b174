import * as z from 'zod';
import { codePoints } from '../code-points.ts';
import type { Note } from '../task.ts';
import { type BetaOptions, betaOptions, type ObjectMaker, reportNotes, secondsWithin } from './fields.ts';
import {
  BETA_DEFAULT_DURATION_S,
  BETA_MAX_PROMPT,
  BETA_RECOMMENDED_PROMPT,
  betaTextSettings,
  betaTurboSettings,
} from './modes.ts';
import { parseShots, shotBreaches, shotsTotalS } from './shots.ts';

// The bodies of text-to-video, plain and turbo ("Family B endpoints").

export interface BetaTextBody {
  prompt: string;
  settings?: {
    multi_shot?: boolean;
    audio?: string;
    resolution?: string;
    aspect_ratio?: string;
    duration?: number;
  };
  options?: BetaOptions;
}

const Prompt = z.string().refine((prompt) => prompt.trim() !== '', { error: 'the prompt is empty' });

const plainSettings = (object: ObjectMaker) =>
  object({
    multi_shot: z.boolean().optional().describe('several shots, up to six (the service: yes)'),
    audio: z.enum(betaTextSettings.audio).optional().describe('sound of the video (the service: off)'),
    resolution: z.enum(betaTextSettings.resolutions).optional().describe('output resolution'),
    aspect_ratio: z.enum(betaTextSettings.aspectRatios).optional().describe('output aspect ratio'),
    duration: secondsWithin(betaTextSettings.durationS).optional().describe('length in seconds'),
  });

const turboSettings = (object: ObjectMaker) =>
  object({
    resolution: z.enum(betaTurboSettings.resolutions).optional().describe('output resolution'),
    aspect_ratio: z.enum(betaTurboSettings.aspectRatios).optional().describe('output aspect ratio'),
    duration: secondsWithin(betaTurboSettings.durationS).optional().describe('length in seconds'),
  });

const plainBody = (object: ObjectMaker) =>
  object({
    prompt: Prompt,
    settings: plainSettings(object).optional(),
    options: betaOptions(object).optional(),
  }).superRefine(reportNotes(promptBreaches));

const turboBody = (object: ObjectMaker) =>
  object({
    prompt: Prompt,
    settings: turboSettings(object).optional(),
    options: betaOptions(object).optional(),
  }).superRefine(reportNotes(turboBreaches));

/** The body of `POST /text-to-video/beta-3.0`; the strict one refuses fields that the document does not list. */
export const BetaTextBody = plainBody(z.looseObject);
export const BetaStrictTextBody = plainBody(z.strictObject);
/** The body of `POST /text-to-video/beta-3.0-turbo`. */
export const BetaTurboBody = turboBody(z.looseObject);
export const BetaStrictTurboBody = turboBody(z.strictObject);

function* promptBreaches({ prompt }: BetaTextBody): Generator<Note> {
  const length = codePoints(prompt);
  if (length > BETA_MAX_PROMPT) {
    yield { path: ['prompt'], message: `has ${length} characters; at most ${BETA_MAX_PROMPT} are taken` };
  }
}

function* turboBreaches(body: BetaTextBody): Generator<Note> {
  yield* promptBreaches(body);
  const { prompt, settings } = body;
  for (const field of ['multi_shot', 'audio'] as const) {
    if (settings?.[field] === undefined) continue;
    const instead = field === 'multi_shot' ? ': a turbo prompt names its shots ("shot n, m, words;")' : '';
    yield { path: ['settings', field], message: `not a setting of the turbo endpoint${instead}` };
  }
  const broken = [...shotBreaches(prompt)];
  for (const message of broken) yield { path: ['prompt'], message };
  const totalS = broken.length > 0 ? 0 : (shotsTotalS(parseShots(prompt)?.shots ?? []) ?? 0);
  const durationS = settings?.duration ?? BETA_DEFAULT_DURATION_S;
  if (totalS > 0 && !isLength(totalS) && settings?.duration === undefined) {
    const { min, max } = betaTurboSettings.durationS;
    yield {
      path: ['settings', 'duration'],
      message: `the shots are ${totalS} s together: together they must be ${min}-${max} s`,
    };
  } else if (totalS > 0 && totalS !== durationS) {
    yield {
      path: ['settings', 'duration'],
      message: `the shots are ${totalS} s together and the video ${durationS} s: they must be equal`,
    };
  }
}

const isLength = (seconds: number): boolean =>
  seconds >= betaTurboSettings.durationS.min && seconds <= betaTurboSettings.durationS.max;

/**
 * Fills in what the documented rules imply: shots make the duration their sum, where it is left out and is not the
 * service's own. Nothing that was given is changed.
 */
export function fillBetaTurbo(body: Record<string, unknown>): Record<string, unknown> {
  const settings = body.settings ?? {};
  if (typeof body.prompt !== 'string' || typeof settings !== 'object' || Array.isArray(settings)) return body;
  if ((settings as { duration?: unknown }).duration !== undefined) return body;
  if (!shotBreaches(body.prompt).next().done) return body;
  const totalS = shotsTotalS(parseShots(body.prompt)?.shots ?? []);
  if (totalS === undefined || !isLength(totalS) || totalS === BETA_DEFAULT_DURATION_S) return body;
  return { ...body, settings: { ...settings, duration: totalS } };
}

/** What is allowed but not recommended. */
export function* betaTextWarnings({ prompt }: { readonly prompt?: unknown }): Generator<Note> {
  const length = typeof prompt === 'string' ? codePoints(prompt) : 0;
  if (length > BETA_RECOMMENDED_PROMPT && length <= BETA_MAX_PROMPT) {
    yield {
      path: ['prompt'],
      message: `has ${length} characters; at most ${BETA_RECOMMENDED_PROMPT} are recommended`,
    };
  }
}
