import { defineCommand, type Outcome } from '../../command.ts';
import { type Context, commandFor } from '../../context.ts';
import { usage } from '../../errors.ts';
import { on } from '../../flags/flag.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import type { TaskFamily } from '../../gateway/task.ts';
import { fieldLines, leavesOf } from '../../io/layout.ts';
import type { ExternalLooked } from '../../jobs/create/look-up.ts';
import type { TaskLook } from '../../jobs/watch/look.ts';
import { createTurns } from '../../jobs/watch/turns.ts';
import { compactJson } from '../../json-text.ts';
import { idArgs, type NamedJob, namedJobs } from '../jobs/jobs-by-id.ts';
import { showInstead } from '../show-instead.ts';
import { createFollowers } from './followers.ts';
import { eachTask, exampleCreate } from './task-ids.ts';

interface Seen {
  readonly look: TaskLook;
  /** True if the gateway's reply contains only this task. */
  readonly isOwnReply: boolean;
  readonly many: boolean;
}

const external = { external: on('the IDs are external ones, given with --external-id or made by gw') };

/** `gw video FAMILY get ID…` prints the gateway's record. If one request takes many IDs, they share a request. */
export async function videoGet(familyName: string) {
  const family = await loadTaskFamily(familyName);
  const flags: Partial<typeof external> = family.externalIds ? external : {};
  return defineCommand<typeof flags, Seen>({
    args: idArgs('task', familyName),
    flags,
    examples: [
      `gw video ${familyName} get $(${exampleCreate(familyName)}) --sandbox`,
      `gw video ${familyName} get last --sandbox --json`,
    ],
    notes: [
      'Links to outputs are credentials and die: they are shown with --json only.',
      ...(family.query.maxIds > 1
        ? [
            `Up to ${family.query.maxIds} IDs are asked for in one request. --json prints the gateway's reply for one ` +
              'ID, and for several the record of each on a line of its own.',
          ]
        : []),
    ],
    sends: 'query',
    async *run({ args, flags }, ctx) {
      if (flags.external) yield* getExternal(args, family, ctx);
      else yield* getByIds(await namedJobs(args, ctx, family), family, ctx);
    },
    human: (seen, ctx) =>
      recordLines(seen.look, (id) => commandFor(`gw video ${familyName} download ${id}`, ctx)),
    // A single reply is printed unchanged; several records take one line each.
    raw: ({ look, isOwnReply, many }) => {
      if (!many) return look.reply.bytes;
      return `${isOwnReply ? compactJson(look.reply.text) : (look.recordText ?? JSON.stringify(look.record))}\n`;
    },
  });
}

async function* getByIds(
  named: readonly NamedJob[],
  family: TaskFamily,
  ctx: Context,
): AsyncGenerator<Outcome<Seen>> {
  if (ctx.globals.dryRun || ctx.globals.curl)
    return yield* (await import('../jobs/task-job.ts')).showNamed(named, family, ctx);
  const { poolOf, ...followers } = createFollowers(ctx, { ownRates: true });
  const looker = await followers.looker(family);
  const get = async ({ id, known }: NamedJob): Promise<Outcome<Seen>> => {
    if (known && !known.job.id) throw await (await import('../jobs/task-job.ts')).noTask(known, ctx);
    const pool = known && (await poolOf(known.job));
    const look = await looker
      .look(id, { signal: ctx.signal, pool, job: known?.job })
      .catch(async (error: unknown) => {
        const { explainOtherKey } = await import('../../jobs/create/hold-job.ts');
        throw known ? explainOtherKey(error, known.job, (await ctx.gateway()).keyId) : error;
      });
    return { value: { look, isOwnReply: family.query.maxIds === 1, many: named.length > 1 } };
  };
  yield* eachTask(named, get);
}

/** As `getByIds`, but by external ID; its module is loaded only here. */
async function* getExternal(
  args: readonly string[],
  family: TaskFamily,
  ctx: Context,
): AsyncGenerator<Outcome<Seen>> {
  const { externalIds } = family;
  if (!externalIds) throw usage(`--external: family ${family.name} has no external IDs`);
  const ids = readExternalIds(args);
  const { externalBatches, lookAtExternalIds } = await import('../../jobs/create/look-up.ts');
  const batches = externalBatches(ids, family);
  if (ctx.globals.dryRun || ctx.globals.curl) {
    for (const batch of batches) {
      const shown = await showInstead(externalIds.endpoint, externalIds.input(batch), ctx);
      if (shown) yield { value: shown };
    }
    return;
  }
  const { client } = await ctx.gateway();
  const look = { client, family, externalIds, signal: ctx.signal, clock: ctx.clock };
  // Batches are sent one after the other: this endpoint has no documented rate, and a list of IDs may be long.
  const turns = createTurns(1);
  const asked = new Map<string, Promise<ReadonlyMap<string, ExternalLooked>>>();
  for (const batch of batches) {
    const looked = turns.take(0, () => lookAtExternalIds(batch, look));
    for (const id of batch) asked.set(id, looked);
  }
  const tasks = ids.map((id) => ({ id }));
  yield* eachTask(tasks, async ({ id }) => {
    const looked = (await asked.get(id))?.get(id);
    if (!looked) throw new Error(`${id} was not asked for`);
    if ('error' in looked) throw looked.error;
    return { value: { look: looked, isOwnReply: false, many: ids.length > 1 } };
  });
}

/** The external IDs of a command line, in order and without duplicates. Throws `usage` for an invalid one. */
function readExternalIds(args: readonly string[]): string[] {
  const bad = args.find((id) => id.trim() === '' || id.includes(','));
  if (bad === undefined) return [...new Set(args)];
  throw usage(`"${bad}": not an external ID`, 'an external ID has no comma and is not empty');
}

/**
 * A task record for people: one field a line. Links are left out because they are credentials, and line breaks in the
 * gateway's text are escaped.
 */
function recordLines({ view, record }: TaskLook, saveCommand: (id: string) => string): string {
  const values = [...leavesOf(record)].map(
    ([name, value]) => [name, typeof value === 'number' ? numberText(name, value) : String(value)] as const,
  );
  const outputs = view.outputs.map(
    ({ role }) => [role, `ready; save it with: ${saveCommand(view.id)}`] as const,
  );
  const shown = values.filter(([, value]) => !/^https?:\/\//.test(value));
  return fieldLines([...shown, ...outputs], LONGEST_SHOWN);
}

const LONGEST_SHOWN = 500;

/** Adds the date to a timestamp: `created_at` in Unix seconds, `create_time` of family B in milliseconds. */
function numberText(name: string, value: number): string {
  const field = name.slice(name.lastIndexOf('.') + 1);
  const unitMs = /^(created|updated)_at$/.test(field) ? 1000 : /^(create|update)_time$/.test(field) ? 1 : 0;
  // A number that is no plausible timestamp is shown unchanged.
  const isMoment = unitMs > 0 && value > 0 && value * unitMs < 1e14;
  return isMoment ? `${value} (${new Date(value * unitMs).toISOString()})` : String(value);
}
