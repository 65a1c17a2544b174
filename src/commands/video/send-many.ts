import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type ErrorKind, endsAll, GwError } from '../../errors.ts';
import type { Made } from '../../jobs/create/make.ts';
import type { Stands } from '../../jobs/create/once.ts';
import { asTheyEnd, createTurns } from '../../jobs/watch/turns.ts';
import { interruptedLast, type JobResult } from './follow-job.ts';

export interface SendPlace {
  /** Runs one create at a time. */
  turn(make: () => Promise<Made | Stands>): Promise<Made | Stands>;
  /** The number of this job among several, from 1. */
  readonly index?: number;
}

/** After these errors the next create with the same body would fail in the same way. */
const endsAlike: ReadonlySet<ErrorKind> = new Set([...endsAll, 'usage', 'rejected']);

/** `--count N` sends one create after the other, and follows each job while the next is created. */
export async function* sendMany(
  count: number,
  isWaitedFor: boolean,
  send: (place: SendPlace) => Promise<Outcome<JobResult>>,
  ctx: Context,
): AsyncGenerator<Outcome<JobResult>> {
  const turns = createTurns(1);
  let isOver = false;
  const turn: SendPlace['turn'] = (make) =>
    turns.take(0, async () => {
      if (isOver) throw new NotMade();
      const made = await make().catch((error: unknown) => ({ kind: 'nothing', error }) as const);
      const isFinal = made.kind === 'nothing' || made.kind === 'refused';
      isOver ||= isFinal && made.error instanceof GwError && endsAlike.has(made.error.kind);
      return made;
    });
  const one = (index: number): Promise<Outcome<JobResult> | undefined> =>
    send({ turn, index }).catch((error: unknown) => (error instanceof NotMade ? undefined : { error }));
  const outcomes = async function* () {
    let unmade = 0;
    for await (const outcome of asTheyEnd(Array.from({ length: count }, (_, at) => one(at + 1)))) {
      if (outcome) yield outcome;
      else unmade += 1;
    }
    if (unmade > 0) ctx.io.note(`after that, gw did not send ${unmade} of the ${count} jobs`);
  };
  yield* interruptedLast(outcomes(), ctx, ctx.io.mode.json || ctx.events !== undefined || !isWaitedFor);
}

/** A create of several that was left out, because it would fail like an earlier one. */
class NotMade extends Error {
  override readonly name = 'NotMade';
}
