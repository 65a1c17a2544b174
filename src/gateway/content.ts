import * as z from 'zod/mini';
import type { ItemFlag, ObjectMaker, Rule } from './body.ts';
import type { Modality } from './limits.ts';

// `content` of families A and C: a list of text and media items, where each medium has a role.

const imageRoles = ['reference_image', 'first_frame', 'last_frame'] as const;

/** One item of `content`; the families differ in the schemas of text and URL. */
export const contentItem = <T extends z.ZodMiniType>(
  object: ObjectMaker,
  text: T,
  url: (modality: Modality) => z.ZodMiniType<string>,
) =>
  z.discriminatedUnion('type', [
    text as T & z.ZodMiniObject<{ type: z.ZodMiniLiteral<'text'>; text: z.ZodMiniString }>,
    object({
      type: z.literal('image_url'),
      image_url: object({ url: url('image') }),
      role: z.optional(z.enum(imageRoles)),
    }),
    object({
      type: z.literal('video_url'),
      video_url: object({ url: url('video') }),
      role: z.optional(z.literal('reference_video')),
    }),
    object({
      type: z.literal('audio_url'),
      audio_url: object({ url: url('audio') }),
      role: z.optional(z.literal('reference_audio')),
    }),
  ]);

export type ContentItem = z.infer<ReturnType<typeof contentItem<z.ZodMiniObject>>>;

/** The flags that add items, in request order; `forms` says which references each kind takes. */
export const contentFlags = (
  forms: { readonly [M in Modality]: string },
  lastFrame = 'image that the video ends with',
) =>
  ({
    firstFrame: {
      kind: 'first_frame',
      modality: 'image',
      value: 'REF',
      help: 'image that the video starts from',
    },
    lastFrame: { kind: 'last_frame', modality: 'image', value: 'REF', help: lastFrame },
    image: {
      kind: 'reference_image',
      modality: 'image',
      many: true,
      value: 'REF',
      help: `reference image: ${forms.image}`,
    },
    video: {
      kind: 'reference_video',
      modality: 'video',
      many: true,
      value: 'REF',
      help: `reference video: ${forms.video}`,
    },
    audio: {
      kind: 'reference_audio',
      modality: 'audio',
      many: true,
      value: 'REF',
      help: `reference audio: ${forms.audio}`,
    },
  }) as const satisfies Readonly<Record<string, ItemFlag>>;

/** The modality, URL and role of a media item; undefined for a text. */
export function mediumOf(
  item: ContentItem,
): { readonly modality: Modality; readonly url: string; readonly role: string } | undefined {
  if (item.type === 'image_url')
    return { modality: 'image', url: item.image_url.url, role: item.role ?? 'reference_image' };
  if (item.type === 'video_url')
    return { modality: 'video', url: item.video_url.url, role: 'reference_video' };
  if (item.type === 'audio_url')
    return { modality: 'audio', url: item.audio_url.url, role: 'reference_audio' };
  return undefined;
}

/** The texts of a request, joined by newlines. */
export const promptOf = ({ content }: { readonly content: readonly ContentItem[] }): string =>
  content.map((item) => (item.type === 'text' ? item.text : '')).join('\n');

/** How many items have a role; a medium without a role counts as a reference. */
export const countRole = (content: readonly ContentItem[], role: string): number =>
  content.filter((item) => mediumOf(item)?.role === role).length;

export const hasRole = (content: readonly ContentItem[], role: string): boolean =>
  countRole(content, role) > 0;

export function countMedia(content: readonly ContentItem[]): { readonly [M in Modality]: number } {
  const count = (of: Modality) => content.filter((item) => mediumOf(item)?.modality === of).length;
  return { image: count('image'), video: count('video'), audio: count('audio') };
}

/** "at most 1 first frame, 1 last frame": a rule that allows each frame once. */
export const oneOfEachFrame = (
  rule: Pick<Rule<never>, 'name' | 'sentence'>,
): Rule<{ readonly content: readonly ContentItem[] }> => ({
  ...rule,
  verdict: 'refuse',
  *check({ content }) {
    for (const role of ['first_frame', 'last_frame']) {
      if (countRole(content, role) > 1) yield { path: ['content', role], message: `at most one ${role}` };
    }
  },
});

/** The document calls the role "conditional" and does not say when it may be left out, so this rule only warns. */
export const mediaWithoutRole = (family: string): Rule<{ readonly content: readonly ContentItem[] }> => ({
  name: `${family}.media-without-a-role`,
  verdict: 'warn',
  remark: 'every medium that the document shows has a role; what one without is taken for is not stated',
  *check({ content }) {
    for (const [index, item] of content.entries()) {
      if (item.type === 'text' || item.role !== undefined) continue;
      yield { path: ['content', index], message: 'a medium has no role, and a reference should have one' };
    }
  },
});
