import type { Context } from '../../context.ts';
import type { FieldVerdict, Look } from '../../flags/breaches.ts';
import { modelSheets } from '../../gateway/model-facts/sheets.ts';
import { lookUpModel } from '../../models/check-model.ts';

/**
 * The rules that a body breaks if gw's model table lacks its model. The table may be older than the gateway
 * ("Management": clients validate model IDs against this list), so a model that the gateway lists passes with a
 * warning. The list is requested only if nothing else is wrong, and not for a model of another family's table.
 */
export async function lookUnlessListed(
  look: (verdict?: FieldVerdict) => Look,
  model: string,
  ctx: Context,
): Promise<Look> {
  const others = look({ exempt: ['model'] });
  if (others.breaches.length > 0) return look();
  const sheets = await modelSheets();
  if (sheets.some(({ id, aliases }) => id === model || aliases.includes(model))) return look();
  const ids = await lookUpModel(model, ctx);
  if (!ids.includes(model)) return look({ suggestions: ids });
  ctx.io.warn(`gw's tables do not know ${model}, which the gateway lists: its limits are not checked`);
  return others;
}
