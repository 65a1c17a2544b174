import { defineCommand, type Outcome } from '../command.ts';
import { usage } from '../errors.ts';
import { parsed, text, whole, withValue } from '../flags/flag.ts';
import { eventsFlag } from '../flags/job-flags.ts';
import { redisFlag } from './batch/flags.ts';
import { fileLines, type JobResult } from './video/follow-job.ts';

const flags = {
  redis: redisFlag,
  concurrency: whole('N', 'at most so many rows at once on this machine', { min: 1 }),
  out: text('PATTERN', 'where outputs go of rows that do not say: a file, a directory or a pattern', {
    short: 'o',
  }),
  root: text('DIR', "the directory that the rows' files are named from (default: the working directory)"),
  name: parsed('HOST', "what this machine is called in paths and logs (default: the machine's name)", nameOf),
  events: eventsFlag,
} as const;

function nameOf(raw: string, flag: string): string {
  if (/^[\w.-]{1,64}$/.test(raw)) return raw;
  throw usage(`${withValue(flag, raw)}: letters, digits, dots and dashes make a name, 64 at most`);
}

/** `gw worker`: takes rows from the queue that several machines share, until it is told to end. */
export const worker = defineCommand<typeof flags, JobResult>({
  flags,
  examples: [
    `gw worker --redis redis://127.0.0.1:6399 --concurrency 4 -o 'clips/{key}.{ext}' || echo no Redis there`,
  ],
  notes: [
    'Takes the rows that gw batch run MANIFEST --redis puts on the queue, waits for their tasks and saves their outputs, until ' +
      'SIGTERM or Ctrl-C: then what runs is handed back, and another worker goes on with it.',
  ],
  human: fileLines,
  async *run({ flags }, ctx): AsyncGenerator<Outcome<JobResult>> {
    // Said once, and not for each row: a key that is missing, an address that is none.
    await ctx.gateway();
    // What works with Redis is loaded by these commands alone.
    const { openQueue } = await import('./machines/open.ts');
    const { WorkerRun } = await import('./machines/worker-run.ts');
    const queue = await openQueue(flags.redis ?? '', ctx, flags.name);
    const run = new WorkerRun(queue, flags, ctx);
    try {
      ctx.io.note(`worker ${queue.host} takes rows from ${queue.where}, until Ctrl-C`);
      yield* run.outcomes();
    } finally {
      await queue.close().catch(() => {});
    }
    throw run.reason();
  },
});
