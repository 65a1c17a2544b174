/** How many jobs' outputs are downloaded at the same time. */
export const SAVES_AT_ONCE = 4;

/** A limited number of places for concurrent work; waiting work gets one in order of its due time. */
export interface Turns {
  /** Runs the work as soon as a place is free, the lowest `dueMs` of all waiting work first. */
  take<T>(dueMs: number, work: () => Promise<T>, urgentFromMs?: number): Promise<T>;
  /** Announces work that is urgent from a time on; the returned function says that it is over. */
  announce(urgentFromMs: number): () => void;
  /** Resolves when no urgent work is left (`now` in Unix ms); `onWait` is called if that is not so at once. */
  calm(now: () => number, onWait?: () => void): Promise<void>;
}

/** Makes turns for at most `atOnce` concurrent pieces of work. */
export function createTurns(atOnce: number): Turns {
  const waiting: { readonly dueMs: number; readonly start: () => void }[] = [];
  const open = new Set<{ readonly urgentFromMs: number }>();
  const wakes: (() => void)[] = [];
  let free = atOnce;
  // The list is sorted so that the soonest due is last, where removal is cheap; of equals, the first to come.
  const place = (dueMs: number): number => {
    const at = waiting.findIndex((each) => each.dueMs <= dueMs);
    return at === -1 ? waiting.length : at;
  };
  const announce = (urgentFromMs: number) => {
    const one = { urgentFromMs };
    open.add(one);
    return () => {
      open.delete(one);
      for (const wake of wakes.splice(0)) wake();
    };
  };
  return {
    announce,
    async calm(now, onWait) {
      const isUrgent = () => [...open].some(({ urgentFromMs }) => urgentFromMs <= now());
      if (isUrgent()) onWait?.();
      while (isUrgent()) await new Promise<void>((wake) => wakes.push(wake));
    },
    async take(dueMs, work, urgentFromMs = Number.POSITIVE_INFINITY) {
      const done = announce(urgentFromMs);
      if (free > 0) free -= 1;
      else await new Promise<void>((start) => waiting.splice(place(dueMs), 0, { dueMs, start }));
      try {
        return await work();
      } finally {
        done();
        const next = waiting.pop();
        if (next) next.start();
        else free += 1;
      }
    },
  };
}

/**
 * Yields the results of concurrent work, each as it ends. Throws the first failure; work reports its own. A caller that
 * stops early, as when stdout closes, waits for the rest of the work, which its signal ends.
 */
export async function* asTheyEnd<T>(work: readonly Promise<T>[]): AsyncGenerator<T> {
  const ended: (T | undefined)[] = [];
  let failed: { readonly error: unknown } | undefined;
  let wake = () => {};
  const note = (error: unknown) => {
    failed ??= { error };
  };
  for (const one of work) void one.then((result) => ended.push(result), note).then(() => wake());
  let isLeft = true;
  try {
    for (let taken = 0; taken < work.length; taken += 1) {
      while (taken >= ended.length && !failed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (failed) break;
      yield ended[taken] as T;
      // A yielded result is released before the last one ends.
      ended[taken] = undefined;
    }
    isLeft = false;
  } finally {
    if (isLeft) await Promise.allSettled(work);
  }
  if (failed) throw failed.error;
}

/**
 * Starts one piece of work for each input and yields the results as `asTheyEnd` does. Each piece has a signal that
 * follows the parent's, so that it adds no listener to the parent, where removing one takes time in proportion to their
 * number. After a failure the signals of the rest are aborted, because nobody needs that work any more.
 */
export async function* sideBySide<I, T>(
  inputs: readonly I[],
  parent: AbortSignal,
  work: (input: I, signal: AbortSignal) => Promise<T>,
): AsyncGenerator<T> {
  const children = new Set<AbortController>();
  const end = () => {
    for (const child of children) child.abort(parent.reason);
  };
  parent.addEventListener('abort', end, { once: true });
  const start = async (input: I) => {
    const child = new AbortController();
    children.add(child);
    if (parent.aborted) child.abort(parent.reason);
    return work(input, child.signal).finally(() => children.delete(child));
  };
  try {
    yield* asTheyEnd(inputs.map(start));
  } finally {
    parent.removeEventListener('abort', end);
    for (const child of children) child.abort();
  }
}
