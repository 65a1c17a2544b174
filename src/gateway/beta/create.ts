import * as z from 'zod/mini';
import {
  addRules,
  field,
  fieldsOf,
  type ItemFlag,
  inOurWords,
  isBareImage,
  isDataUri,
  isWebUrl,
  type ObjectMaker,
  type Rule,
  requiredField,
  shared,
  valueAt,
  withRules,
} from '../body.ts';
import { filled, filledText, stated, unstated, words } from '../checks.ts';
import type { Endpoint } from '../endpoint.ts';
import {
  BETA_DEFAULT_DURATION_S,
  type BetaSettings,
  type BetaVariant,
  betaAspectRatios,
  betaAudio,
  betaCreateName,
  betaDefaults,
  betaResolutions,
  betaVariants,
} from './modes.ts';
import { o1Rules, plainRules, turboRules } from './rules.ts';
import { betaCreateReply, betaRefusal } from './task.ts';

// The create bodies of family B and the rows of its seven endpoints ("Family B endpoints").

/** `settings` with the fields of all documented endpoints; the rules say which endpoint takes which field. */
const settings = shared((object: ObjectMaker) =>
  z.optional(
    object({
      multi_shot: field(z.boolean(), `several shots, up to six (text; the service: yes)`, {
        negatable: true,
        takes: ({ multiShot }: BetaSettings) => (multiShot ? ['true', 'false'] : undefined),
        row: 'several shots',
        says: 'settings.multi_shot boolean no true … there is no settings.multi_shot and no settings.audio',
        fallback: betaDefaults.multiShot,
      }),
      audio: field(z.enum(betaAudio), `sound (the service: ${betaDefaults.audio})`, {
        takes: ({ audio }: BetaSettings) => audio,
        row: 'audio',
        says: '/text-to-video/beta-3.0 … native, off … there is no settings.multi_shot and no settings.audio … /omni-video/beta-o1 … original, off',
        fallback: betaDefaults.audio,
      }),
      resolution: field(z.enum(betaResolutions), 'output resolution', {
        takes: ({ resolutions }: BetaSettings) => resolutions,
        row: 'resolutions',
        says: '/text-to-video/beta-3.0 … 720p, 1080p, 4k … /text-to-video/beta-3.0-turbo … 720p, 1080p … /omni-video/beta-o1 … 720p, 1080p',
        fallback: betaDefaults.resolution,
      }),
      aspect_ratio: field(z.enum(betaAspectRatios), 'output aspect ratio', {
        flag: 'ratio',
        takes: ({ aspectRatios }: BetaSettings) => aspectRatios,
        row: 'ratios',
        says: '16:9, 9:16, 1:1',
        fallback: betaDefaults.aspectRatio,
      }),
      duration: field(z.int(), 'length in seconds', {
        value: 'SECONDS',
        takes: ({ durationS }: BetaSettings) => durationS,
        row: 'duration',
        says: '/text-to-video/beta-3.0 … 3-15 … /omni-video/beta-o1 … 3-10',
        fallback: BETA_DEFAULT_DURATION_S,
      }),
    }),
  ),
);

// A lost create is looked up by its external ID, and `GET /tasks` separates several IDs by commas.
const isAskable = (id: string) => id.trim() !== '' && !id.includes(',');
const notAskable = 'an external ID is not empty and has no comma, or it could not be asked for';
const askedWithCommas = 'strings, comma-separated for batches';

/** `options`, which is the same on every documented endpoint. */
const options = shared((object: ObjectMaker) =>
  z.optional(
    object({
      callback_url: field(
        z.string().check(z.refine(isWebUrl, { error: 'not a URL (https://host/path)' })),
        'where the gateway reports changes of status; auto: your running gw listen',
        { value: 'URL|auto', typed: true },
      ),
      external_task_id: field(
        z.string().check(stated(isAskable, notAskable, askedWithCommas)),
        "your own ID of the task, unique in the account (default: the job's, gw-…)",
        { value: 'ID', flag: 'externalId' },
      ),
      watermark_info: z.optional(
        object({
          enabled: field(z.boolean(), 'a watermarked result beside the clean one', {
            flag: 'watermark',
            negatable: true,
          }),
        }),
      ),
    }),
  ),
);

const textFields = shared((object: ObjectMaker) =>
  object({ prompt: words(), settings: settings(object), options: options(object) }),
);

export const BetaTextBody = withRules(textFields, plainRules);
export const BetaTurboBody = withRules(textFields, turboRules);
export type BetaTextBody = z.infer<ReturnType<typeof textFields>>;

const imageUrl = z.string().check(
  z.refine((url) => isWebUrl(url) || isDataUri(url, 'image', ['jpeg', 'jpg', 'png']) || isBareImage(url), {
    error: 'not a URL, or a JPG or PNG in Base64',
  }),
);
const videoUrl = z
  .string()
  .check(z.refine(isWebUrl, { error: 'not a URL (videos are sent by address only)' }));
const Id = z
  .string()
  .check(unstated((id) => /^[^\s@]+$/.test(id), 'an ID is not empty, without blanks and @'));

function o1Item(object: ObjectMaker) {
  const image = <T extends string>(type: T) =>
    object({ type: z.literal(type), url: imageUrl, id: z.optional(Id) });
  const video = <T extends string>(type: T) =>
    object({ type: z.literal(type), url: videoUrl, id: z.optional(Id) });
  return z.discriminatedUnion('type', [
    object({ type: z.literal('prompt'), text: words() }),
    image('first_frame'),
    image('last_frame'),
    image('refer_image'),
    video('feature_video'),
    video('base_video'),
    object({ type: z.literal('element'), id: Id, element_id: filledText() }),
  ]);
}

const item = (
  kind: string,
  modality: 'image' | 'video' | undefined,
  help: string,
  many?: true,
): ItemFlag => ({
  kind,
  ...(modality && { modality }),
  ...(many && { many }),
  value: `[ID=]${modality === undefined ? 'ELEMENT_ID' : modality === 'video' ? 'URL' : 'REF'}`,
  help: `${help} (o1)`,
});

const o1Fields = (object: ObjectMaker) =>
  object({
    contents: requiredField(
      z.array(o1Item(object)).check(filled('a prompt or at least one image, video or element is needed')),
      'the prompt and its references',
      {
        items: {
          firstFrame: item('first_frame', 'image', 'image that the video starts from: file, URL or data URI'),
          lastFrame: item('last_frame', 'image', 'image that the video ends with, needs --first-frame'),
          image: item('refer_image', 'image', 'reference image: file, URL or data URI', true),
          featureVideo: item('feature_video', 'video', 'video whose looks or movement are taken up'),
          baseVideo: item('base_video', 'video', 'video to be changed'),
          element: item(
            'element',
            undefined,
            'element of the account, called element1, element2, … without an ID',
            true,
          ),
        },
      },
    ),
    settings: settings(object),
    options: options(object),
  });

/** The body of `POST /omni-video/beta-o1`. */
export const BetaO1Body = withRules(o1Fields, o1Rules);
export type BetaO1Body = z.infer<ReturnType<typeof o1Fields>>;
export type BetaO1Item = BetaO1Body['contents'][number];

const openRules: readonly Rule<Record<string, unknown>>[] = [
  {
    name: 'beta.open-external-id',
    verdict: 'refuse',
    sentence: askedWithCommas,
    *check(body) {
      const path = ['options', 'external_task_id'];
      const id = valueAt(body, path);
      if (typeof id === 'string' && !isAskable(id)) yield { path, message: notAskable };
    },
  },
  {
    name: 'beta.body-not-shown',
    verdict: 'warn',
    sentence:
      'Request bodies of the image-to-video endpoints, the omni endpoint and the motion-control endpoint of family B (other than the O1 endpoint): not shown.',
    *check() {
      yield { path: [], message: 'the body of this endpoint is not documented: it is sent as given' };
    },
  },
  {
    name: 'beta.open-types',
    verdict: 'warn',
    remark: 'the documented endpoints of the family share prompt, settings and options',
    *check(body) {
      for (const { path, schema } of fieldsOf(BetaTextBody)) {
        const value = valueAt(body, path);
        const issue =
          value === undefined ? undefined : schema.safeParse(value, { error: inOurWords }).error?.issues[0];
        if (issue) yield { path, message: `elsewhere in family beta: ${issue.message}` };
      }
    },
  },
];

/** The body of an endpoint whose body the document does not show; any object passes. */
export const BetaOpenBody = addRules(z.looseObject({}), openRules);

export interface BetaCreate extends Endpoint {
  readonly variant: BetaVariant;
  readonly body: z.ZodMiniType;
}

const row = (variant: BetaVariant, body: z.ZodMiniType = BetaOpenBody): BetaCreate => ({
  name: betaCreateName(variant),
  method: 'POST',
  path: variant.path,
  resend: 'paid',
  body,
  reply: betaCreateReply,
  refusal: betaRefusal,
  variant,
});

export const betaCreateText = row(betaVariants.text, BetaTextBody);
export const betaCreateMotion = row(betaVariants.motion);

export const betaCreates: readonly BetaCreate[] = [
  betaCreateText,
  row(betaVariants.textTurbo, BetaTurboBody),
  row(betaVariants.image),
  row(betaVariants.imageTurbo),
  row(betaVariants.omni),
  betaCreateMotion,
  row(betaVariants.o1, BetaO1Body),
];

/** The create endpoint of a mode; undefined if the mode has none. */
export const betaCreateOf = (mode: string, turbo: boolean): BetaCreate | undefined =>
  betaCreates.find(({ variant }) => variant.mode === mode && variant.turbo === turbo);
