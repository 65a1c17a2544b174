import type { MediaInput } from '../../media/resolve.ts';

// `content` of an alpha or gamma body: which flag an item comes from, and how items are laid over those of --body.

interface MediaValues {
  readonly image?: readonly string[] | undefined;
  readonly video?: readonly string[] | undefined;
  readonly audio?: readonly string[] | undefined;
  readonly firstFrame?: string | undefined;
  readonly lastFrame?: string | undefined;
}

type Make = (raw: string, flag: string, modality: MediaInput['modality']) => MediaInput;

const roleOfFlag: Readonly<Record<string, string>> = {
  '--first-frame': 'first_frame',
  '--last-frame': 'last_frame',
  '--image': 'reference_image',
  '--video': 'reference_video',
  '--audio': 'reference_audio',
};
const flagOfRole = Object.fromEntries(Object.entries(roleOfFlag).map(([flag, role]) => [role, flag]));

/** The media of the flags, in request order: frames first, then references by kind. */
export function mediaInOrder(flags: MediaValues, make: Make): MediaInput[] {
  const frames = [
    [flags.firstFrame, '--first-frame'],
    [flags.lastFrame, '--last-frame'],
  ] as const;
  const references = (['image', 'video', 'audio'] as const).flatMap((modality) =>
    (flags[modality] ?? []).map((raw) => make(raw, `--${modality}`, modality)),
  );
  return [
    ...frames.flatMap(([raw, flag]) => (raw === undefined ? [] : [make(raw, flag, 'image')])),
    ...references,
  ];
}

/**
 * `content` with the prompt and the media laid over that of --body: a prompt replaces the text items, media of a role
 * replace the items of that role. A content that is no list is left as it is: the schema says what is wrong with it.
 */
export function layContent(
  base: unknown,
  prompt: string | undefined,
  media: readonly { readonly input: MediaInput; readonly url: string }[],
): unknown {
  if (base !== undefined && !Array.isArray(base) && prompt === undefined && media.length === 0) return base;
  const items = media.map(({ input, url }) => {
    const key = `${input.modality}_url`;
    return { type: key, [key]: { url }, role: roleOfFlag[input.flag] };
  });
  const replaced = new Set<unknown>(items.map((item) => item.role));
  const kept = (Array.isArray(base) ? base : []).filter((item: { type?: unknown; role?: unknown } | null) =>
    item?.type === 'text' ? prompt === undefined : !replaced.has(item?.role),
  );
  return [...(prompt === undefined ? [] : [{ type: 'text', text: prompt }]), ...kept, ...items];
}

/** The flag that an item of `content` comes from: by its place, or by the kind that a rule names. */
export function flagOfContent(item: PropertyKey | undefined, content: unknown): string | undefined {
  if (typeof item === 'string') {
    const flag = `--${item.replace('_', '-')}`;
    return flag in roleOfFlag ? flag : undefined;
  }
  const found: { type?: unknown; role?: unknown } | null | undefined =
    typeof item === 'number' && Array.isArray(content) ? content[item] : undefined;
  return found?.type === 'text' ? '--prompt' : flagOfRole[String(found?.role)];
}
