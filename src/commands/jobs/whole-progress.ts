import type { Context } from '../../context.ts';

/** Counts what many jobs come to, as one bar on a terminal and in the signs of life elsewhere; for one job nothing. */
export function wholeProgress(total: number, { io, clock }: Context) {
  const progress = total > 1 ? io.progress() : undefined;
  const startMs = clock.steady();
  let [done, failed] = [0, 0];
  const show = () => {
    const leftMs = done === 0 ? undefined : ((clock.steady() - startMs) / done) * (total - done);
    progress?.whole({ done, failed, total, leftMs });
  };
  show();
  return {
    /** One more is done with. */
    tell(isFailed: boolean): void {
      done += 1;
      if (isFailed) failed += 1;
      show();
    },
    stop: () => progress?.stop(),
  };
}
