import type { GwError } from '../../errors.ts';
import { type FollowDeps, type Followed, type FollowInput, followJob } from './follow.ts';
import { createTurns } from './turns.ts';

/** How many jobs' outputs are fetched at the same time. */
export const SAVES_AT_ONCE = 4;
/** An outage concerns every job; one line in this time tells of it. */
const TROUBLE_EVERY_MS = 30_000;

/**
 * Follows many jobs at once, each to its end: looks are shared and paced by the lookers in `deps`, outputs are saved a
 * few at a time, those first whose links die soonest. Yields each job as it ends; what failed is in its `error`.
 * `depsOf` is asked once a job; jobs of one gateway and family must be given the same looker.
 */
export async function* followMany<I extends FollowInput>(
  inputs: readonly I[],
  depsOf: (input: I) => FollowDeps | Promise<FollowDeps>,
  signal: AbortSignal,
): AsyncGenerator<{ readonly input: I; readonly followed: Followed }> {
  const turns = createTurns(SAVES_AT_ONCE);
  const children = childSignals(signal);
  const onTrouble = inputs.length > 1 ? tellSeldom() : undefined;
  const follow = async (input: I) => {
    const child = children.open();
    try {
      const deps = await depsOf(input);
      const own = {
        ...deps,
        turns: deps.turns ?? turns,
        signal: child.signal,
        ...(onTrouble && { onTrouble: onTrouble(deps) }),
      };
      return { input, followed: await followJob(input, own) };
    } catch (error) {
      return { input, followed: { status: input.status ?? '', record: undefined, files: [], error } };
    } finally {
      child.close();
    }
  };
  try {
    yield* asTheyEnd(inputs.map(follow));
  } finally {
    children.close();
  }
}

/** Tells of failed looks once for all jobs, not once for each. */
function tellSeldom() {
  let toldMs = Number.NEGATIVE_INFINITY;
  return ({ clock, progress }: FollowDeps) =>
    (id: string, error: GwError): void => {
      if (clock.steady() - toldMs < TROUBLE_EVERY_MS) return;
      toldMs = clock.steady();
      progress.line(`task ${id}: ${error.message}; still waiting`);
    };
}

/** The results of work that runs all at once, each as it ends. Throws the first failure; work reports its own. */
export async function* asTheyEnd<T>(work: readonly Promise<T>[]): AsyncGenerator<T> {
  const ended: (T | undefined)[] = [];
  let failed: { readonly error: unknown } | undefined;
  let wake = () => {};
  for (const one of work) {
    one.then(
      (result) => {
        ended.push(result);
        wake();
      },
      (error: unknown) => {
        failed ??= { error };
        wake();
      },
    );
  }
  for (let taken = 0; taken < work.length; taken += 1) {
    while (taken >= ended.length && !failed) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (failed) throw failed.error;
    yield ended[taken] as T;
    // What was handed over is not kept until the last one ends.
    ended[taken] = undefined;
  }
}

/**
 * Signals that follow one: what waits on a child leaves no listener on the parent, where taking one off costs as much
 * as there are. `close` ends them all and lets the parent go.
 */
export function childSignals(parent: AbortSignal) {
  const children = new Set<AbortController>();
  const end = () => {
    for (const child of children) child.abort(parent.reason);
  };
  parent.addEventListener('abort', end, { once: true });
  return {
    open() {
      const child = new AbortController();
      children.add(child);
      if (parent.aborted) child.abort(parent.reason);
      return { signal: child.signal, close: () => void children.delete(child) };
    },
    /** Whoever is left has nobody to work for. */
    close() {
      parent.removeEventListener('abort', end);
      for (const child of children) child.abort();
      children.clear();
    },
  };
}
