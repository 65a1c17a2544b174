import { alphaModels } from '../alpha/models.ts';
import { geoModels, isGeoModel } from '../chat/models.ts';
import { gammaModels } from '../gamma/models.ts';
import { imageModels } from '../image/models.ts';
import type { ModelEntry } from '../models.ts';

// What gw's tables know of the models that the gateway's list names.

/** What a model makes. */
export const modelKinds = ['chat', 'image', 'video'] as const;
export type ModelKind = (typeof modelKinds)[number];

/** Something that a model takes, or a limit, in words. */
export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** Everything the tables say of one model, or of one endpoint that stands for a model (family B). */
export interface ModelSheet {
  readonly id: string;
  /** Other words by which it is meant. */
  readonly aliases: readonly string[];
  readonly kind: ModelKind;
  readonly facts: readonly Fact[];
}

/** How the document names the models of each family ("Naming convention"), for IDs that no table lists. */
const namedLike: readonly { readonly form: RegExp; readonly kind: ModelKind }[] = [
  { form: /^(alpha|beta|gamma)-/, kind: 'video' },
  { form: /^(img|delta-image|legacy-image)-|(^|-)image(-|$)/, kind: 'image' },
];

/**
 * What a listed model makes: by its table, else by its name; another one that has a documented endpoint type chats.
 * Undefined where nothing tells.
 */
export function kindOf({ id, supported_endpoint_types: types = [] }: ModelEntry): ModelKind | undefined {
  if (Object.hasOwn(geoModels, id) || isGeoModel(id)) return 'chat';
  if (Object.hasOwn(imageModels, id)) return 'image';
  if (Object.hasOwn(alphaModels, id) || Object.hasOwn(gammaModels, id)) return 'video';
  return namedLike.find(({ form }) => form.test(id))?.kind ?? (types.length > 0 ? 'chat' : undefined);
}

/** Every sheet of the tables. */
export async function modelSheets(): Promise<readonly ModelSheet[]> {
  const [chat, image, video] = await Promise.all([
    import('./chat.ts'),
    import('./image.ts'),
    import('./video.ts'),
  ]);
  return [...chat.chatSheets(), ...image.imageSheets(), ...video.videoSheets()];
}
