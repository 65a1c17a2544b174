/** A bounded number of places; who waits is let in by how soon it must be done. */
export interface Turns {
  /** Runs the work as soon as a place is free, the lowest `dueMs` of those who wait first. */
  take<T>(dueMs: number, work: () => Promise<T>): Promise<T>;
}

/** Makes turns for at most `atOnce` pieces of work at the same time. */
export function createTurns(atOnce: number): Turns {
  const waiting: { readonly dueMs: number; readonly start: () => void }[] = [];
  let free = atOnce;
  const place = (dueMs: number): number => {
    let low = 0;
    let high = waiting.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // The soonest stands last, where it is taken from at no cost; of equals, the first to come.
      if ((waiting[middle]?.dueMs ?? 0) > dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    async take(dueMs, work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((start) => waiting.splice(place(dueMs), 0, { dueMs, start }));
      try {
        return await work();
      } finally {
        const next = waiting.pop();
        if (next) next.start();
        else free += 1;
      }
    },
  };
}
