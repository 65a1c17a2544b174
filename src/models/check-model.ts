import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { nearest } from '../flags/nearest.ts';
import { fetchModels, readModelCache } from './model-cache.ts';

type ModelContext = Pick<Context, 'host' | 'clock' | 'signal' | 'gateway' | 'globals' | 'io'>;

/** A look that only saves a mistake must not hold a create up for long. */
const LOOK = { retries: 0, silenceMs: 10_000 } as const;

/**
 * Refuses a model that an image create or a question names and that neither gw's table (`known`) nor the gateway's list has, the list
 * kept from before or a fresh one ("Management": clients validate model IDs against this list). Does nothing with
 * --no-validate, --dry-run and --curl, and where the list cannot be had. Throws GwError `usage` with the nearest names.
 */
export async function checkModel(id: string, known: readonly string[], ctx: ModelContext): Promise<void> {
  const { validate, dryRun, curl } = ctx.globals;
  // Nothing, or dots alone, is no name: the request itself cannot be made of it.
  if (validate === false || dryRun || curl || known.includes(id) || /^\.*$/.test(id)) return;
  const { name } = await ctx.gateway();
  if (readModelCache(ctx.host, name)?.ids.includes(id)) return;
  const listed = await listNow(ctx);
  if (listed === undefined || listed.includes(id)) return;
  throw unknownModel(id, [...known, ...listed]);
}

/**
 * What the gateway lists where a model is looked up that gw's tables lack: the list kept from before, and where it is not in
 * that, unless requests are only shown, a fresh one; empty where none could be had. Throws only the signal's reason.
 */
export async function lookUpModel(id: string, ctx: ModelContext): Promise<readonly string[]> {
  const { dryRun, curl } = ctx.globals;
  let kept: readonly string[] = [];
  try {
    kept = readModelCache(ctx.host, (await ctx.gateway()).name)?.ids ?? [];
  } catch (error) {
    // That no gateway is configured is said where it is needed.
    if (!(error instanceof GwError)) throw error;
    return [];
  }
  return kept.includes(id) || dryRun || curl ? kept : ((await listNow(ctx)) ?? kept);
}

function nearestModels(id: string, known: readonly string[]): string {
  const near = nearest(id, [...new Set(known)]);
  return near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'gw models lists what the key may call';
}

/** What is said of a model that nobody knows. */
export function unknownModel(id: string, known: readonly string[]): GwError {
  const hint = nearestModels(id, known);
  return usage(
    `model ${JSON.stringify(id)}: the gateway lists no such model`,
    `${hint}; --no-validate sends it anyway`,
  );
}

/** Undefined where the list cannot be had: the gateway itself will say what it thinks of the model. */
async function listNow(ctx: ModelContext): Promise<readonly string[] | undefined> {
  const over = AbortSignal.timeout(LOOK.silenceMs);
  const signal = AbortSignal.any([ctx.signal, over]);
  try {
    return (await fetchModels({ ...ctx, signal }, LOOK)).value.data.map((model) => model.id);
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (error instanceof GwError || over.aborted) return undefined;
    throw error;
  }
}
