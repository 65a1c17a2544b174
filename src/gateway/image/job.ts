import { type Family, recordOf, type TaskOutput } from '../task.ts';
import { IMAGE_LINK_LIFE_MS } from './models.ts';
import { readImages, readImageUsage, readRevisedPrompt } from './reply.ts';

/** What an image is called in the ledger: `image`, `image-2`, `image-3`, …; `index` counts from 0. */
export const imageRole = (index: number): string => (index === 0 ? 'image' : `image-${index + 1}`);

/** The place of an image by what it is called; that of the first for any other name. */
export const imageIndex = (role: string): number => Number(/^image-(\d+)$/.exec(role)?.[1] ?? 1) - 1;

/**
 * Image jobs in the ledger. Their record is the reply itself with Base64 left out; the gateway keeps nothing to look
 * at, so only images that came as a URL can still be fetched from it.
 */
export const imageFamily: Family = {
  name: 'image',
  linkLifeMs: IMAGE_LINK_LIFE_MS,
  readTask(record, taskId) {
    const reply = recordOf(record);
    const images = readImages(reply);
    const outputs = images.flatMap(({ index, kind, url }): TaskOutput[] =>
      kind === 'url' && url ? [{ role: imageRole(index), type: 'image', url }] : [],
    );
    return {
      id: taskId,
      status: 'succeeded',
      state: 'succeeded',
      statusKnown: true,
      outputs,
      cameAlong: images.filter(({ kind }) => kind === 'base64').map(({ index }) => imageRole(index)),
      made: { revisedPrompt: readRevisedPrompt(reply) },
      usage: readImageUsage(reply),
    };
  },
};
