import { defineCommand, type Outcome } from '../../command.ts';
import { type Context, commandFor } from '../../context.ts';
import { usage } from '../../errors.ts';
import { on } from '../../flags/flag.ts';
import { pollFlags } from '../../flags/job-flags.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { counted } from '../../io/quantity-text.ts';
import { diesWithin, isUnsaved } from '../../jobs/job-view.ts';
import { isOpen } from '../../jobs/watch/sync.ts';
import { asTheyEnd, createTurns, SAVES_AT_ONCE } from '../../jobs/watch/turns.ts';
import { mayExist } from '../../ledger/event.ts';
import {
  type FollowRequest,
  followAll,
  interruptedLast,
  type JobResult,
  jobLines,
  waitDeadlineMs,
} from '../video/follow-job.ts';
import { createFollowers } from '../video/followers.ts';
import { checkLaterOut, exampleCreate } from '../video/task-ids.ts';
import { readOwnJobs, withoutForeign } from './find-jobs.ts';
import { withoutTask } from './image-jobs.ts';
import { idArgs, type NamedJob, namedJobs } from './jobs-by-id.ts';
import {
  failedOutcome,
  fromOtherHands,
  isInOtherHands,
  isTimeout,
  laterSaveFlags,
  showNamed,
  tasksOf,
  wholeProgress,
} from './task-job.ts';

const allFlag = { all: on('every job that is not finished or not saved') } as const;
const flags = { ...pollFlags, ...laterSaveFlags } as const;

/** `gw jobs wait ID…|--all` waits for jobs of any family and gateway at once and saves their outputs. With a family
 * it is `gw video FAMILY wait ID…`: that family's tasks at the current gateway, including those that the ledger does
 * not know. */
export const wait = (familyName?: string) =>
  defineCommand<typeof flags & Partial<typeof allFlag>, JobResult>({
    args: { ...idArgs('task', familyName), required: familyName !== undefined },
    flags: familyName ? flags : { ...allFlag, ...flags },
    examples: familyName
      ? [
          `gw video ${familyName} wait $(${exampleCreate(familyName)}) --sandbox`,
          `gw video ${familyName} wait last --sandbox --wait-timeout 20m -o clips/`,
        ]
      : [
          `${exampleCreate('alpha')} --count 2`,
          'gw jobs wait --all --sandbox --wait-timeout 20m',
          'gw jobs list --sandbox -q --limit 5 | xargs gw jobs wait --sandbox',
        ],
    notes: familyName
      ? []
      : [
          'Jobs of several gateways are waited for together: each is asked for where it was made. What is already saved is ' +
            'printed at once. gw jobs sync does the same without waiting.',
        ],
    sends: 'query',
    human: jobLines,
    async *run({ args, flags, globals }, ctx) {
      const deadlineMs = waitDeadlineMs(flags, ctx);
      const family = familyName === undefined ? undefined : await loadTaskFamily(familyName);
      const named =
        flags.all || !family ? await jobsToWaitFor(args, flags.all, ctx) : await namedJobs(args, ctx, family);
      checkLaterOut(named.length, flags, ctx);
      if (globals.dryRun || globals.curl) return yield* showNamed(named, family, ctx);
      const followers = createFollowers(ctx, named.length > 1 ? { turns: createTurns(SAVES_AT_ONCE) } : {});
      const taskOf = await tasksOf(named, family, { ...flags, deadlineMs }, followers, ctx);
      const whole = wholeProgress(named.length, ctx);
      const left: Outcome<JobResult>[] = [];
      const ledger = await ctx.ledger();
      const busy = new Set(named.filter((job) => isInOtherHands(job, ledger)));
      const endsOf = async function* (wave: readonly NamedJob[]) {
        const requests: FollowRequest[] = [];
        for (const each of wave) {
          try {
            const job = await fromOtherHands(each, ctx, deadlineMs);
            const over = await withoutTask(job, flags, followers, ctx, familyName !== undefined);
            if (over) yield over;
            else requests.push({ ...(await taskOf(job)), flags, deadlineMs, atOnce: true });
          } catch (error) {
            yield failedOutcome(each, error, { family: familyName, force: flags.force }, ctx);
          }
        }
        for await (const outcome of followAll(requests, followers, ctx)) {
          if (isTimeout(outcome.error)) left.push(outcome);
          else yield outcome;
        }
      };
      // A job that another gw is creating is followed as soon as it is made, and reported after the rest.
      const others = [...busy].map(async (job) => {
        for await (const outcome of endsOf([job])) return outcome;
        return undefined;
      });
      for (const other of others) other.catch(() => {});
      const outcomes = async function* () {
        yield* endsOf(named.filter((job) => !busy.has(job)));
        for await (const outcome of asTheyEnd(others)) if (outcome) yield outcome;
        yield* endOfTimedOut(left, ctx);
      };
      for await (const outcome of interruptedLast(outcomes(), ctx)) {
        whole.tell(outcome.error !== undefined);
        yield outcome;
      }
      whole.stop();
    },
  });

/** Yields the jobs that the timeout left running; the last one carries a single hint that goes on with all of them. */
function* endOfTimedOut(
  outcomes: readonly Outcome<JobResult>[],
  ctx: Context,
): Generator<Outcome<JobResult>> {
  if (outcomes.length < 2 || ctx.io.mode.json) return yield* outcomes;
  const hint = `${outcomes.length} jobs go on; pick them up with: ${commandFor('gw jobs wait --all', ctx)}`;
  for (const [at, { value, error }] of outcomes.entries()) {
    if (!isTimeout(error)) continue;
    const told = error.told({ hint: at === outcomes.length - 1 ? hint : undefined });
    yield { ...(value && { value }), error: told };
  }
}

async function jobsToWaitFor(
  args: readonly string[],
  all = false,
  ctx: Context,
): Promise<readonly NamedJob[]> {
  if (all === args.length > 0)
    throw usage(
      all ? 'IDs and --all are both given' : 'no ID is given',
      'give the IDs of jobs, or --all for every job that is not finished or not saved',
    );
  if (!all) return namedJobs(args, ctx);
  const waiting: NamedJob[] = [];
  const ledger = await ctx.ledger();
  const open = withoutForeign((await readOwnJobs({ isOpen: true }, ctx)).reverse(), ctx);
  const gone = await (await import('./sync.ts')).goneJobs(ctx);
  const isGone = new Set(gone.map(({ job }) => job.key));
  // Jobs with missing files come first, then the open ones from the oldest on, which should finish first.
  for (const known of [...gone, ...open.filter(({ job }) => !isGone.has(job.key))]) {
    const { job, family } = known;
    const named = { id: job.id ?? job.key, known };
    // A job whose create was not answered is included, because waiting for it prints what to do.
    const isLeft = mayExist(job) || (job.state === 'succeeded' && family.name === 'image');
    const isUnanswered = isInOtherHands(named, ledger) || (isLeft && isOpen(job, family, ctx.clock.now()));
    const isWaiting =
      job.state === 'running' || isUnsaved(job, family) || isUnanswered || isGone.has(job.key);
    if (isWaiting) waiting.push(named);
  }
  if (waiting.length > 0) return waiting;
  const ended = await readOwnJobs({ states: ['succeeded'] }, ctx);
  const left = ended.filter(({ job, family }) => diesWithin(job, family, ctx.clock.now()));
  const unknown = await readOwnJobs({ states: ['sent', 'unknown'] }, ctx);
  ctx.io.note(
    unknown.length > 0
      ? `nothing is to be waited for; what became of ${counted(unknown.length, 'job')} is not known: gw jobs list --status unknown`
      : left.length === 0
        ? 'every job is finished and saved'
        : `nothing is to be waited for; the outputs of ${counted(left.length, 'finished job')} are not on disk: gw jobs list --expiring 4w`,
  );
  return waiting;
}
