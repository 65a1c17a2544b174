import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';
import { nearest } from '../flags/nearest.ts';
import { fetchModels, readModelCache } from './model-cache.ts';

type ModelContext = Pick<Context, 'host' | 'clock' | 'signal' | 'gateway' | 'globals' | 'io'>;

/** This request only prevents mistakes, so it must not delay a create for long. */
const LOOK = { retries: 0, silenceMs: 10_000 } as const;

/**
 * Refuses the model of an image create or a chat if neither gw's table (`known`) nor the gateway's list has it; the
 * list is the cached one, else a fresh one ("Management": clients validate model IDs against this list). Does nothing
 * with --no-validate, --dry-run or --curl, or if there is no list. Throws GwError `usage` with the nearest names.
 */
export async function checkModel(id: string, known: readonly string[], ctx: ModelContext): Promise<void> {
  const { validate, dryRun, curl } = ctx.globals;
  // An empty ID, or one of only dots, is refused when the request itself is built.
  if (validate === false || dryRun || curl || known.includes(id) || /^\.*$/.test(id)) return;
  const { name } = await ctx.gateway();
  if (readModelCache(ctx.host, name)?.ids.includes(id)) return;
  const listed = await listNow(ctx);
  if (listed === undefined || listed.includes(id)) return;
  throw unknownModel(id, [...known, ...listed]);
}

/**
 * The gateway's models, for looking up one that gw's tables lack: the cached list, or a fresh one if that lacks the
 * model and requests are really sent; empty if there is none. Throws only the signal's reason.
 */
export async function lookUpModel(id: string, ctx: ModelContext): Promise<readonly string[]> {
  const { dryRun, curl } = ctx.globals;
  let kept: readonly string[] = [];
  try {
    kept = readModelCache(ctx.host, (await ctx.gateway()).name)?.ids ?? [];
  } catch (error) {
    // A missing gateway is reported where it is needed.
    if (!(error instanceof GwError)) throw error;
    return [];
  }
  return kept.includes(id) || dryRun || curl ? kept : ((await listNow(ctx)) ?? kept);
}

/** The error for a model that neither gw nor the gateway knows. */
function unknownModel(id: string, known: readonly string[]): GwError {
  const near = nearest(id, [...new Set(known)]).slice(0, 3);
  const hint =
    near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'gw models lists what the key may call;';
  return usage(
    `model ${JSON.stringify(id)}: the gateway lists no such model`,
    `${hint} --no-validate sends it anyway`,
  );
}

/** The gateway's list; undefined if it cannot be fetched: then the gateway itself will judge the model. */
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
