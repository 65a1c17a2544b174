/** As many rows are read ahead, so that a family whose places are taken holds up no other. */
const AHEAD = 64;

interface ScheduleInput<R, T> {
  readonly rows: AsyncIterator<R>;
  /** The pool that a row counts in, and how many of it may run at once. */
  readonly placeOf: (row: R) => { readonly pool: string; readonly most: number };
  /** The most in all. */
  readonly atOnce: number;
  /** Does a row's work; must not throw. */
  readonly work: (row: R) => Promise<T>;
  /** What a row is called, and the one that it waits for; undefined where it waits for none, or for none any more. */
  readonly keyOf?: (row: R) => string;
  readonly waitsFor?: (row: R) => string | undefined;
  /** Asked before each row: whether no more may begin. */
  readonly isStopped: () => boolean;
}

/**
 * Rows that wait for others, by the key of the one they wait for. They take no place, and go before all that wait for
 * nothing; those whose row never comes are let go when nothing else is left, the first of a chain first.
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
    /** Those that may go on once this one is over. */
    freedBy: (row: R): R[] => take(keyOf(row)).filter((each) => !parks(each)),
    inVain(): R[] {
      const here = new Set([...waiting.values()].flat().map(keyOf));
      const never = [...waiting.keys()].filter((key) => !here.has(key));
      return (never.length > 0 ? never : [...waiting.keys()]).flatMap(take);
    },
  };
}

/**
 * Works on rows in their order, as many at once as their pools allow, and yields each result as it comes. What has begun is
 * brought to its end also where no more may begin; throws what reading the rows throws, then too.
 */
export async function* schedule<R, T>(input: ScheduleInput<R, T>): AsyncGenerator<T> {
  const { rows, placeOf, atOnce, work, isStopped } = input;
  const ahead: R[] = [];
  const results: T[] = [];
  const running = new Map<string, number>();
  const waiting = waitingRows(input);
  let total = 0;
  let isRead = false;
  let broken: { readonly error: unknown } | undefined;
  let wake = () => {};
  const begin = async (row: R, pool: string): Promise<void> => {
    running.set(pool, (running.get(pool) ?? 0) + 1);
    total += 1;
    results.push(await work(row));
    running.set(pool, (running.get(pool) ?? 0) - 1);
    total -= 1;
    ahead.unshift(...waiting.freedBy(row));
    wake();
  };
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
    // Before another row begins: one of them may say that none may.
    for (let result = results.shift(); result !== undefined; result = results.shift()) yield result;
    for (let at = 0; at < ahead.length && total < atOnce && !isStopped(); ) {
      const row = ahead[at] as R;
      const { pool, most } = placeOf(row);
      if ((running.get(pool) ?? 0) >= most) at += 1;
      else {
        ahead.splice(at, 1);
        void begin(row, pool);
      }
    }
    const isIdle = total === 0 && results.length === 0;
    if (isIdle && !isStopped() && isRead && ahead.length === 0) ahead.push(...waiting.inVain());
    if (isIdle && (isStopped() || (isRead && ahead.length === 0))) break;
    if (results.length > 0) continue;
    if (!isRead && ahead.length < AHEAD && !isStopped()) continue;
    if (total > 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
  if (broken) throw broken.error;
}
