import { type Family, recordOf, type TaskOutput } from '../task.ts';
import { readImages, readImageUsage, readRevisedPrompt } from './reply.ts';

/** The role of an image in the ledger: `image`, `image-2`, `image-3`, …; `index` counts from 0. */
export const imageRole = (index: number): string => (index === 0 ? 'image' : `image-${index + 1}`);

/** The index of an image by its role; 0 for any other role. */
export const imageIndex = (role: string): number => Number(/^image-(\d+)$/.exec(role)?.[1] ?? 1) - 1;

/**
 * Image jobs in the ledger. Their record is the reply without its Base64. The gateway keeps no record of them, so only
 * images that came as a URL can be fetched again.
 */
export const imageFamily: Family = {
  name: 'image',
  /** Legacy URLs are valid for 60 minutes. The document calls the others "temporary"; gw assumes 60 minutes too. */
  linkLifeMs: 60 * 60_000,
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
