import { randomBytes } from 'node:crypto';
import { IMAGE_LINK_LIFE_MS } from '../../gateway/image/models.ts';
import type { OutputSource } from '../output-source.ts';
import { signedLink } from '../signed-link.ts';
import type { World } from '../world.ts';
import { type ImageOrder, Picture } from './order.ts';

const kind = 'image';
const fileOf = (order: ImageOrder, nth: number) => `${nth + 1}.${order.format}`;

export const newImageId = (): string => `img-${randomBytes(12).toString('hex')}`;

/** Keeps an order for as long as its links live, and gives the link of each of its images. */
export function linksOf(id: string, order: ImageOrder, world: World): string[] {
  const expiresAtMs = world.now() + IMAGE_LINK_LIFE_MS;
  world.store.put(kind, id, order, { expiresAtMs });
  return Array.from({ length: order.count }, (_, nth) =>
    signedLink(world.store.secret, world.outputUrl(), id, fileOf(order, nth), Math.floor(expiresAtMs / 1000)),
  );
}

/** The images that were given as addresses: drawn when they are fetched, as often as one likes, for 60 minutes. */
export const imageOutputs: OutputSource = {
  find(id, name, world) {
    const order = world.store.get(kind, id) as ImageOrder | undefined;
    const nth = Number.parseInt(name, 10) - 1;
    if (!order || !(nth >= 0 && nth < order.count) || name !== fileOf(order, nth)) return undefined;
    return {
      type: `image/${order.format}`,
      make: async (variant) => (await Picture.of(order, nth, world.wasmDir, variant)).file(),
    };
  },
};
