import * as fs from 'node:fs';
import * as path from 'node:path';
import { defineCommand, type Outcome } from '../command.ts';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import { filled, parsed, whole, withValue } from '../flags/flag.ts';
import { eventsFlag, redisFlags } from '../flags/job-flags.ts';
import type { WorkerFlags } from './machines/worker-run.ts';
import { fileLines, type JobResult } from './video/follow-job.ts';

const flags = {
  ...redisFlags,
  concurrency: whole('N', 'at most so many rows at once on this machine', { min: 1 }),
  out: filled('PATTERN', 'where outputs go of rows that do not say: a file, a directory or a pattern', {
    short: 'o',
  }),
  root: filled('DIR', "the directory that the rows' files are named from (default: the working directory)"),
  name: parsed('HOST', "what this machine is called in paths and logs (default: the machine's name)", nameOf),
  listen: parsed(
    '[ADDR:]PORT',
    'answer /healthz and /metrics there (on this machine alone without ADDR)',
    listenAt,
  ),
  events: eventsFlag,
} as const;

function nameOf(raw: string, flag: string): string {
  if (/^[\w.-]{1,64}$/.test(raw)) return raw;
  throw usage(`${withValue(flag, raw)}: letters, digits, dots and dashes make a name, 64 at most`);
}

/** The address on which a worker serves its status. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
}

/** Parses `--listen [ADDR:]PORT`. Throws `usage`. */
function listenAt(raw: string, flag: string): ListenAt {
  const [, bracketed, plain, digits = ''] =
    /^(?:(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):)?(\d{1,5})$/.exec(raw) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535)
    throw usage(
      `${withValue(flag, raw)}: not a port, or an address and a port`,
      'write 9464, or 10.0.0.7:9464',
    );
  return { host: bracketed ?? plain ?? '127.0.0.1', port };
}

/** Throws `usage` if no row could be read or saved, because the worker would fail every row. */
async function refusePlaces({ out, root = '.' }: WorkerFlags, { host, clock }: Context) {
  if (!fs.statSync(path.resolve(host.cwd, root), { throwIfNoEntry: false })?.isDirectory())
    throw usage(`--root ${root}: there is no such directory`, 'name the one that the rows are from');
  if (out === undefined) return;
  const { checkTarget } = await import('../jobs/save/check-target.ts');
  const { planTarget } = await import('../jobs/save/output-path.ts');
  checkTarget(
    { target: planTarget(out, host.cwd), force: false, download: true },
    { family: '', model: undefined, atMs: clock.now(), outputsExpected: 1 },
  );
}

/** `gw worker` takes rows from a queue that several machines share, until it is told to end. */
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
  async *run({ flags: typed }, ctx): AsyncGenerator<Outcome<JobResult>> {
    const flags = { ...typed, out: typed.out ?? (await ctx.settings()).out.value };
    // These checks report an unusable folder, a missing API key, an invalid address or a refused state directory once,
    // and not for each row.
    await refusePlaces(flags, ctx);
    await ctx.gateway();
    await ctx.ledger();
    // The modules for Redis are loaded only by the commands that use it.
    const { openQueue } = await import('./machines/open.ts');
    const { WorkerRun } = await import('./machines/worker-run.ts');
    const queue = await openQueue(flags, 'worker', ctx, flags.name);
    const run = new WorkerRun(queue, flags, ctx);
    let close = () => {};
    try {
      if (flags.listen) {
        const { startObserver } = await import('./machines/observe.ts');
        const observer = await startObserver(flags.listen, queue, run.counters);
        ({ close } = observer);
        ctx.io.note(`figures at ${observer.url}/metrics, health at ${observer.url}/healthz`);
      }
      ctx.io.note(`worker ${queue.host} takes rows from ${queue.store.door.where}, until Ctrl-C`);
      yield* run.outcomes();
    } finally {
      close();
      await queue.close().catch(() => {});
    }
    throw run.reason();
  },
});
