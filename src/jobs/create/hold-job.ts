import type { Clock } from '../../host.ts';
import type { Hold, Ledger } from '../../ledger/ledger.ts';

/** How often to look whether another process has let go of a job. */
const HOLD_RETRY_MS = 500;

/** Holds a job as soon as no other process does; `onWait` tells once that one does. Throws the signal's reason. */
export async function holdWhenFree(
  key: string,
  deps: { readonly ledger: Ledger; readonly clock: Clock; readonly signal: AbortSignal },
  onWait: () => void,
): Promise<Hold> {
  for (let waited = 0; ; waited += 1) {
    const hold = await deps.ledger.hold(key);
    if (hold) return hold;
    if (waited === 0) onWait();
    await deps.clock.sleep(HOLD_RETRY_MS, deps.signal);
  }
}
