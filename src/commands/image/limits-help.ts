import { type ImageModel, imageModels } from '../../gateway/image/models.ts';
import { sizeInWords } from '../../gateway/image/size.ts';

/** What each model takes of a thing, models that take the same together: `img-2, img-2-2026-04-21: low, medium`. */
function byModel(of: (model: ImageModel) => string): string {
  const ids = new Map<string, string[]>();
  for (const [id, model] of Object.entries(imageModels)) {
    const words = of(model);
    ids.set(words, [...(ids.get(words) ?? []), id]);
  }
  return [...ids].map(([words, names]) => `  ${names.join(', ')}: ${words}`).join('\n');
}

/** The sizes and qualities of every model that fits, for help; from the table that the check reads too. */
export const sizeHelp = (): string => `Sizes:\n${byModel((model) => sizeInWords(model.size))}`;
export const qualityHelp = (): string => `Qualities:\n${byModel((model) => model.qualities.join(', '))}`;
