import type { Context } from '../../context.ts';
import type { FieldVerdict } from '../../flags/breaches.ts';

/**
 * What a body breaks, where gw's table of its family may be older than the gateway ("Management": clients validate model
 * IDs against this list): a model that the table lacks and the gateway lists passes with a warning. The list is looked at
 * only where nothing else is wrong, not for a model of another table, and not with --no-validate.
 */
export async function breachesUnlessListed(
  breachesWith: (verdict?: FieldVerdict) => string[],
  { model, known }: { readonly model: unknown; readonly known: readonly string[] | undefined },
  ctx: Context,
): Promise<string[]> {
  const isUnknown = known !== undefined && typeof model === 'string' && !known.includes(model);
  const withoutModel = { exempt: ['model'] };
  // Nothing, or dots alone, is no name.
  const mayBeListed = isUnknown && ctx.globals.validate === undefined && !/^\.*$/.test(model);
  if (!mayBeListed || breachesWith(withoutModel).length > 0) return breachesWith();
  const { modelSheets } = await import('../../gateway/model-facts/sheets.ts');
  const isOfAnother = (await modelSheets()).some(
    ({ id, aliases }) => id === model || aliases.includes(model),
  );
  if (isOfAnother) return breachesWith();
  const { lookUpModel } = await import('../../models/check-model.ts');
  const { isListed, ids } = await lookUpModel(model, ctx);
  if (!isListed) return breachesWith({ suggestions: ids });
  ctx.io.warn(`gw's tables do not know ${model}, which the gateway lists: its limits are not checked`);
  return [];
}
