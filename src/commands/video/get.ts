import { defineCommand, type Outcome } from '../../command.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError } from '../../errors.ts';
import { loadTaskFamily } from '../../gateway/families.ts';
import { compactJson } from '../../io/compact-json.ts';
import { lookAtTask, type TaskLook } from '../../jobs/look.ts';
import { showInstead } from '../show-instead.ts';
import { recordLines } from './record-lines.ts';
import { eachId, taskIds } from './task-ids.ts';

/** A task that was created this recently may not be known everywhere yet: its 404 is asked again. */
const YOUNG_MS = 60_000;

interface Seen {
  readonly look: TaskLook;
  readonly many: boolean;
}

/** `gw video FAMILY get ID…`: the record as the gateway gives it. */
export function videoGet(familyName: string) {
  return defineCommand<Record<string, never>, Seen>({
    args: { name: 'ID', summary: 'task ID', required: true, many: true },
    flags: {},
    examples: [`gw video ${familyName} get $(gw jobs list -q --limit 1) --sandbox --json`],
    notes: ['Links to outputs are credentials and die: they are shown with --json only.'],
    sends: 'query',
    async *run({ args }, ctx) {
      const family = await loadTaskFamily(familyName);
      const ids = taskIds(args);
      yield* eachId(ids, async (id): Promise<Outcome<Seen>> => {
        const shown = await showInstead(family.query.endpoint, family.query.input([id]), ctx);
        if (shown !== undefined) return { value: shown };
        const { client } = await ctx.gateway();
        const input = { id, family, client, signal: ctx.signal, nowMs: ctx.clock.now };
        const look = await lookAtTask(input).catch(async (error) => {
          const retryNotFoundUntilMs = await youngUntilMs(error, id, ctx);
          if (retryNotFoundUntilMs === undefined) throw error;
          return lookAtTask({ ...input, retryNotFoundUntilMs });
        });
        return { value: { look, many: ids.length > 1 } };
      });
    },
    human: (seen, ctx) =>
      recordLines(seen.look, (id) => commandFor(`gw video ${familyName} download ${id}`, ctx)),
    // One reply goes out as it came; of several each must stay on its line.
    raw: (seen) => {
      const { text } = seen.look.reply;
      return seen.many ? `${compactJson(text)}\n` : text;
    },
  });
}

async function youngUntilMs(error: unknown, id: string, ctx: Context): Promise<number | undefined> {
  if (!(error instanceof GwError) || error.kind !== 'not_found') return undefined;
  const { name } = await ctx.gateway();
  const job = await (await ctx.ledger()).find(id, name);
  const untilMs = (job?.acceptedAtMs ?? 0) + YOUNG_MS;
  return untilMs > ctx.clock.now() ? untilMs : undefined;
}
