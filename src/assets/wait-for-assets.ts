import { type ErrorKind, GwError } from '../errors.ts';
import { type Asset, type AssetView, readAsset } from '../gateway/asset/record.ts';
import type { Clock } from '../host.ts';
import { type AssetLook, type LookRequest, lookAtAssets } from './ask-library.ts';

export interface WaitOptions extends Omit<LookRequest, 'send'> {
  /** Between two looks, in milliseconds. */
  readonly intervalMs: { readonly min: number; readonly max: number };
  /** Steady milliseconds at which the wait ends; the processing goes on. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Look at once: the assets are not new. */
  readonly atOnce: boolean;
  /** Steady milliseconds until when "not found" may only mean "not known yet". */
  readonly youngUntilMs?: number | undefined;
  readonly onUpdate: (view: AssetView, elapsedMs: number) => void;
  /** A look failed, and the wait goes on. */
  readonly onTrouble: (error: GwError) => void;
}

/** How one asset's wait ended: its last record, or why there is none. */
export type WaitEnd =
  | { readonly id: string; readonly asset: Asset; readonly view: AssetView }
  | { readonly id: string; readonly error: GwError; readonly asset?: Asset | undefined };

/** The document gives no pace for assets: gentle, and no slower than a small file needs. */
export const assetPaceMs = { min: 2_000, max: 10_000 } as const;

/** A gateway that has failed this often in a row, and this long, is gone. */
const MAX_FAILURES = 20;
const MAX_FAILING_MS = 15 * 60_000;

/**
 * Looks at assets until each is `Active` or `Failed`, and gives each as it ends. A look that fails does not end the wait,
 * nor the looks at the others; 401 and 403 do. One that is refused ends the wait for its asset. Throws those, the last error
 * of a gateway that is gone, or the signal's reason; an asset that is not finished at the deadline ends with `wait_timeout`.
 */
export async function* waitForAssets(ids: readonly string[], options: WaitOptions): AsyncGenerator<WaitEnd> {
  const { clock, deadlineMs, signal, youngUntilMs = 0 } = options;
  const startMs = clock.steady();
  const waiting = new Map<string, Asset | undefined>(ids.map((id) => [id, undefined]));
  const trouble = { failures: 0, sinceMs: 0 };
  let pauseMs = options.atOnce ? 0 : pace(options, 0);
  while (waiting.size > 0) {
    const restMs = deadlineMs - clock.steady();
    const isLast = pauseMs >= restMs;
    await clock.sleep(Math.max(0, Math.min(pauseMs, restMs)), signal);
    pauseMs = pace(options, clock.steady() - startMs);
    const { looks, failed } = await lookOnce([...waiting.keys()], options);
    for (const [id, look] of looks) {
      if ('error' in look) {
        if (look.error.kind === 'not_found' && clock.steady() < youngUntilMs) continue;
        waiting.delete(id);
        yield { id, error: look.error };
        continue;
      }
      const view = readAsset(look.asset);
      options.onUpdate(view, clock.steady() - startMs);
      waiting.set(id, look.asset);
      if (view.state === 'running') continue;
      waiting.delete(id);
      yield { id, asset: look.asset, view };
    }
    const [error] = failed;
    if (error === undefined || looks.size > 0) trouble.failures = 0;
    if (error !== undefined) {
      if (trouble.failures === 0) trouble.sinceMs = clock.steady();
      trouble.failures += 1;
      const isGone = trouble.failures >= MAX_FAILURES && clock.steady() - trouble.sinceMs >= MAX_FAILING_MS;
      if (isGone) throw error;
      const told = failed.flatMap(({ facts }) => facts.retryAtMs ?? []);
      const retryAtMs = told.length > 0 ? Math.max(...told) : undefined;
      if (retryAtMs !== undefined && clock.steady() + (retryAtMs - clock.now()) >= deadlineMs) {
        for (const [id, asset] of waiting) yield { id, asset, error: waitOver(id, retryAtMs) };
        return;
      }
      options.onTrouble(error);
      pauseMs = Math.max(pauseMs, (retryAtMs ?? 0) - clock.now());
    }
    if (!isLast) continue;
    for (const [id, asset] of waiting) yield { id, asset, error: waitOver(id) };
    return;
  }
}

/** Errors that say something of the asset or the request, and not of the way to the gateway. */
const finalKinds: readonly ErrorKind[] = ['not_found', 'rejected', 'balance'];

/** One look at each: what it brought, and the failures that the next look may mend. */
async function lookOnce(
  ids: readonly string[],
  options: WaitOptions,
): Promise<{ readonly looks: ReadonlyMap<string, AssetLook>; readonly failed: readonly GwError[] }> {
  const { signal } = options;
  const looks = new Map<string, AssetLook>();
  const failed: GwError[] = [];
  try {
    // Each look is one attempt: the next one is its retry.
    for (const [id, look] of await lookAtAssets(ids, { ...options, send: { signal, retries: 0 } })) {
      if ('error' in look && !finalKinds.includes(look.error.kind)) failed.push(look.error);
      else looks.set(id, look);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GwError) || error.kind === 'auth') throw error;
    failed.push(error);
  }
  return { looks, failed };
}

function waitOver(id: string, retryAtMs?: number): GwError {
  const why =
    retryAtMs === undefined
      ? 'the wait is over'
      : `the gateway asks not to be asked before ${new Date(retryAtMs).toISOString()}, after the end of the wait`;
  return new GwError('wait_timeout', `asset ${id} is not finished yet and ${why}`, { taskId: id, retryAtMs });
}

/** From the least pause towards the longest as the wait grows, spread by a tenth. */
function pace({ intervalMs: { min, max }, random }: WaitOptions, elapsedMs: number): number {
  return Math.max(min, Math.min(max, Math.max(min, elapsedMs / 10) * (1 + 0.1 * random())));
}
