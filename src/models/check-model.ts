import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { nearest } from '../flags/nearest.ts';
import { fetchModels } from './fetch-models.ts';
import { readModelCache } from './model-cache.ts';

/** A look that only saves a mistake must not hold a create up for long. */
const LOOK = { retries: 0, silenceMs: 10_000 } as const;

/**
 * Refuses a model that a paid create names and that neither gw's table (`known`) nor the gateway's list has, the list
 * kept from before or a fresh one ("Management": clients validate model IDs against this list). Does nothing with
 * --no-validate, --dry-run and --curl, and where the list cannot be had. Throws GwError `usage` with the nearest names.
 */
export async function checkModel(
  id: string,
  known: readonly string[],
  ctx: Pick<Context, 'host' | 'clock' | 'signal' | 'gateway' | 'globals'>,
): Promise<void> {
  const { validate, dryRun, curl } = ctx.globals;
  // Nothing, or dots alone, is no name: the request itself cannot be made of it.
  if (validate === false || dryRun || curl || known.includes(id) || /^\.*$/.test(id)) return;
  const { name } = await ctx.gateway();
  if (readModelCache(ctx.host, name)?.ids.includes(id)) return;
  const listed = await listNow(ctx);
  if (listed === undefined || listed.includes(id)) return;
  throw unknownModel(id, [...known, ...listed]);
}

/** What is said of a model that nobody knows. */
export function unknownModel(id: string, known: readonly string[]): GwError {
  const near = nearest(id, [...new Set(known)]);
  const hint =
    near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'gw models lists what the key may call';
  return usage(
    `model ${JSON.stringify(id)}: the gateway lists no such model`,
    `${hint}; --no-validate sends it anyway`,
  );
}

/** Undefined where the list cannot be had: the gateway itself will say what it thinks of the model. */
async function listNow(ctx: Parameters<typeof checkModel>[2]): Promise<readonly string[] | undefined> {
  try {
    return (await fetchModels(ctx, LOOK)).value.data.map((model) => model.id);
  } catch (error) {
    if (error instanceof GwError) return undefined;
    throw error;
  }
}
