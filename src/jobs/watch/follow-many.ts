import type { GwError } from '../../errors.ts';
import { type FollowDeps, type Followed, type FollowInput, followJob } from './follow.ts';
import { asTheyEnd, childSignals, createTurns, SAVES_AT_ONCE } from './turns.ts';

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
