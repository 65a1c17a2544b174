/** The number of rows read ahead, so that a family without free places does not block the others. */
const AHEAD = 64;

interface ScheduleInput<R, T> {
  readonly rows: AsyncIterator<R>;
  /** The pool of a row, and the maximum of rows that may run in it. */
  readonly placeOf: (row: R) => { readonly pool: string; readonly most: number };
  /** The maximum over all pools. */
  readonly atOnce: number;
  /** Does the work of a row; it must not throw. */
  readonly work: (row: R) => Promise<T>;
  /** The key of a row, and the key of the row that it still waits for, if any. */
  readonly keyOf?: (row: R) => string;
  readonly waitsFor?: (row: R) => string | undefined;
  /** Called before each row; true if no more rows may begin. */
  readonly isStopped: () => boolean;
}

/**
 * Rows that wait for another row, by the other row's key. They take no place, and are started before rows that wait for
 * none. If the awaited row never comes, they are released when nothing else is left, the first of a chain first.
 */
function waitingRows<R>({ keyOf = () => '', waitsFor = () => undefined }: ScheduleInput<R, unknown>) {
  const waiting = new Map<string, R[]>();
  const parks = (row: R): boolean => {
    const key = waitsFor(row);
    if (key !== undefined) waiting.set(key, [...(waiting.get(key) ?? []), row]);
    return key !== undefined;
  };
  const take = (key: string): R[] => {
    const rows = waiting.get(key) ?? [];
    waiting.delete(key);
    return rows;
  };
  return {
    parks,
    /** The rows that may start once this row has ended. */
    freedBy: (row: R): R[] => take(keyOf(row)).filter((each) => !parks(each)),
    inVain(): R[] {
      const here = new Set([...waiting.values()].flat().map(keyOf));
      const never = [...waiting.keys()].filter((key) => !here.has(key));
      return (never.length > 0 ? never : [...waiting.keys()]).flatMap(take);
    },
  };
}

/**
 * Works on rows in order, as many at once as their pools allow, and yields each result as it comes. Rows that have begun
 * are finished even after a stop or after an error in reading the rows, which is thrown at the end.
 */
export async function* schedule<R, T>(input: ScheduleInput<R, T>): AsyncGenerator<T> {
  const { rows, placeOf, atOnce, work, isStopped } = input;
  const ahead: R[] = [];
  const results: T[] = [];
  const running = new Map<string, number>();
  const waiting = waitingRows(input);
  const works = new Set<Promise<void>>();
  let isRead = false;
  let broken: { readonly error: unknown } | undefined;
  const begin = async (row: R, pool: string): Promise<void> => {
    running.set(pool, (running.get(pool) ?? 0) + 1);
    results.push(await work(row));
    running.set(pool, (running.get(pool) ?? 0) - 1);
    ahead.unshift(...waiting.freedBy(row));
  };
  try {
    for (;;) {
      while (!isRead && ahead.length < AHEAD && !isStopped()) {
        try {
          const next = await rows.next();
          if (next.done) isRead = true;
          else if (!waiting.parks(next.value)) ahead.push(next.value);
        } catch (error) {
          broken = { error };
          isRead = true;
          ahead.length = 0;
        }
      }
      // Results are yielded before another row begins, because a result may cause a stop.
      for (let result = results.shift(); result !== undefined; result = results.shift()) yield result;
      for (let at = 0; at < ahead.length && works.size < atOnce && !isStopped(); ) {
        const row = ahead[at] as R;
        const { pool, most } = placeOf(row);
        if ((running.get(pool) ?? 0) >= most) at += 1;
        else {
          ahead.splice(at, 1);
          const ended = begin(row, pool).finally(() => works.delete(ended));
          works.add(ended);
        }
      }
      const isIdle = works.size === 0;
      if (isIdle && !isStopped() && isRead && ahead.length === 0) ahead.push(...waiting.inVain());
      if (isIdle && (isStopped() || (isRead && ahead.length === 0))) break;
      if (!isRead && ahead.length < AHEAD && !isStopped()) continue;
      if (works.size > 0) await Promise.race(works);
    }
  } finally {
    // If the caller stops early, as when stdout closes, rows that were sent are still brought home.
    await Promise.all(works);
  }
  if (broken) throw broken.error;
}
