import { type AssetLook, type LookRequest, lookAtAssets, type SeenAsset } from '../../assets/ask-library.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { DEFAULT_WAIT_TIMEOUT, parseDuration } from '../../config/table.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, shellQuote } from '../../errors.ts';
import { type FlagValues, onOff, parsed } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { getAsset } from '../../gateway/asset/actions.ts';
import { type AssetView, assetFailure, readAsset } from '../../gateway/asset/record.ts';
import { YOUNG_MS } from '../../gateway/task.ts';
import { looks, type PollOptions, refusals, waitOver } from '../../jobs/watch/poll.ts';
import { showInstead } from '../show-instead.ts';
import { waitDeadlineMs, withNext } from '../video/follow-job.ts';
import {
  assetExample,
  idBodies,
  idLine,
  type LibraryResult,
  libraryResult,
  projectFlag,
  typedFields,
} from './library.ts';

/** The document gives no poll interval for assets; these suit small files without burdening the gateway. */
const assetPaceMs = { min: 2_000, max: 10_000 } as const;

export const waitFlags = {
  wait: onOff('wait until it is Active or Failed'),
  waitTimeout: parsed(
    'DURATION',
    `longest wait (default ${DEFAULT_WAIT_TIMEOUT}); the processing goes on`,
    parseDuration,
  ),
  interval: parsed(
    'DURATION',
    `time between two looks (default ${assetPaceMs.min / 1000}-${assetPaceMs.max / 1000} s)`,
    parseDuration,
  ),
} as const;

const { waitTimeout, interval } = waitFlags;
const flags = { waitTimeout, interval, ...projectFlag } as const;

/** `gw asset wait ID…` waits until each asset is Active or Failed. */
export const wait = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags,
  examples: [
    assetExample.replace(' --wait', ''),
    'gw asset wait "$(gw asset list --sandbox -q --limit 1)" --sandbox',
    'gw asset list --sandbox --all -q | xargs gw asset wait --sandbox --json',
  ],
  notes: [
    'Prints the ID of each that is Active, as it becomes so. One that has failed is exit 9, with its code.',
  ],
  sends: 'body',
  human: idLine,
  async *run({ args, flags, globals }, ctx) {
    const { ids, bodyOf, inputOf } = await idBodies(args, flags, ctx);
    if (!globals.dryRun && !globals.curl) return yield* waitOutcomes(ids, { ...flags, bodyOf }, ctx, false);
    for (const id of ids) {
      const value = await showInstead(getAsset, inputOf(id), ctx);
      if (value) yield { value };
    }
  },
});

type AssetWaitFlags = FlagValues<typeof waitFlags & typeof projectFlag> & {
  /** The lookup body of each asset; needed if it contains more than the ID and the project. */
  readonly bodyOf?: (id: string) => JsonObject;
  readonly deadlineMs?: number;
};

/** Waits for assets and yields an outcome for each as it ends. `isNew` means that they were created just now. */
export async function* waitOutcomes(
  ids: readonly string[],
  flags: AssetWaitFlags,
  ctx: Context,
  isNew: boolean,
): AsyncGenerator<Outcome<LibraryResult>> {
  const { clock, signal } = ctx;
  const { project, bodyOf = (Id: string) => ({ Id, ...typedFields({ project }, 'ProjectName') }) } = flags;
  const isSpecial =
    project !== undefined || (flags.bodyOf && (ctx.globals.set ?? ctx.globals.body) !== undefined);
  const { deadlineMs = waitDeadlineMs(flags, ctx) } = flags;
  const { client } = await ctx.gateway();
  const interval = flags.interval ?? (await ctx.settings()).intervalMs.value;
  const progress = ctx.io.progress();
  const odd = new Set<string>();
  try {
    const ends = waitForAssets(ids, {
      client,
      ...(isSpecial && { bodyOf }),
      clock,
      signal,
      random: ctx.host.random,
      deadlineMs,
      intervalMs: interval === undefined ? assetPaceMs : { min: interval, max: interval },
      ...(!isNew && { firstDelayMs: 0 }),
      youngUntilMs: isNew ? clock.steady() + YOUNG_MS : undefined,
      onUpdate({ id, status, state, statusKnown }, elapsedMs) {
        progress.task({ id, status: status || 'unknown', state, elapsedMs });
        if (statusKnown || odd.has(id)) return;
        odd.add(id);
        ctx.io.warn(`asset ${id} has the status "${status}", which gw does not know; it waits on`);
      },
      onTrouble: ({ message }, failures) => {
        const which = ids.length === 1 ? `asset ${ids[0]}` : `${ids.length} assets`;
        if (failures === 1) progress.line(`${which}: ${message}; still waiting`);
      },
    });
    for await (const end of ends) yield outcomeOf(end, flags, ctx);
  } catch (error) {
    const [id] = ids.length === 1 ? ids : [];
    throw withWayBack(error, ids, id, flags, ctx);
  } finally {
    progress.stop();
  }
}

/** The error or interrupt of a wait, with the command that goes on with it; `id` is the asset that it concerns. */
function withWayBack(
  error: unknown,
  ids: readonly string[],
  id: string | undefined,
  { project }: AssetWaitFlags,
  ctx: Context,
): unknown {
  const words = `gw asset wait ${ids.join(' ')}${project === undefined ? '' : ` --project ${shellQuote(project)}`}`;
  return withNext(error, `wait on with: ${commandFor(words, ctx)}`, 'the processing goes on', id);
}

function outcomeOf(end: WaitEnd, flags: AssetWaitFlags, ctx: Context): Outcome<LibraryResult> {
  const { id, seen } = end;
  const value = seen && libraryResult('asset', id, readAsset(seen.asset).status, seen.reply, seen.asset);
  if ('error' in end) {
    const { message } = end.error;
    const named = message.includes(id) ? message : `asset ${id}: ${message}`;
    const error = withWayBack(end.error.told({}, named), [id], id, flags, ctx);
    return value ? { value, error } : { error };
  }
  if (end.view.state === 'succeeded') return { ...(value && { value }) };
  const { code, message } = end.view.error;
  const known = assetFailure(code);
  const reason = [code && (known ? `${code}, ${known.meaning}` : code), message].filter(Boolean).join(': ');
  return {
    ...(value && { value }),
    error: new GwError('task_failed', `asset ${id} failed: ${reason || 'the gateway does not say why'}`, {
      code,
      taskId: id,
      hint: known?.toDo,
    }),
  };
}

interface WaitOptions
  extends Omit<LookRequest, 'send'>,
    Omit<PollOptions<never>, 'look' | 'failureOf' | 'taskId' | 'speed'> {
  readonly onUpdate: (view: AssetView, elapsedMs: number) => void;
}

/** How one asset's wait ended: its last record, or an error. */
type WaitEnd =
  | { readonly id: string; readonly seen: SeenAsset; readonly view: AssetView }
  | { readonly id: string; readonly error: GwError; readonly seen?: SeenAsset | undefined };

/**
 * Polls assets until each is `Active` or `Failed`, and yields each as it ends. A failed lookup does not end the wait; a
 * refused one ends the wait for its asset only. An asset that is unfinished at the deadline ends with `wait_timeout`.
 * Throws as `looks` does.
 */
async function* waitForAssets(ids: readonly string[], options: WaitOptions): AsyncGenerator<WaitEnd> {
  const { clock, youngUntilMs = 0 } = options;
  const startMs = clock.steady();
  const waiting = new Map<string, SeenAsset | undefined>(ids.map((id) => [id, undefined]));
  const look = (own: AbortSignal) => lookOnce([...waiting.keys()], options, own);
  const failureOf = ({ failed }: LookRound) => failed;
  try {
    for await (const round of looks({ ...options, look, failureOf, taskId: ids.join() })) {
      for (const [id, seen] of round.seen) {
        if ('error' in seen) {
          if (seen.error.kind === 'not_found' && clock.steady() < youngUntilMs) continue;
          waiting.delete(id);
          yield { id, error: seen.error };
          continue;
        }
        const view = readAsset(seen.asset);
        options.onUpdate(view, clock.steady() - startMs);
        waiting.set(id, seen);
        if (view.state === 'running') continue;
        waiting.delete(id);
        yield { id, seen, view };
      }
      if (waiting.size === 0) return;
    }
  } catch (error) {
    if (!(error instanceof GwError) || error.kind !== 'wait_timeout') throw error;
    const { retryAtMs } = error.facts;
    for (const [id, seen] of waiting) yield { id, seen, error: waitOver(`asset ${id}`, id, retryAtMs) };
  }
}

/** What one round of lookups answered, and a failure that the next round may overcome. */
interface LookRound {
  readonly seen: ReadonlyMap<string, AssetLook>;
  readonly failed: GwError | undefined;
}

/** Looks up each asset once. Throws the failure if it concerns all of them. */
async function lookOnce(
  ids: readonly string[],
  options: Omit<LookRequest, 'send'>,
  own: AbortSignal,
): Promise<LookRound> {
  const seen = new Map<string, AssetLook>();
  let failed: GwError | undefined;
  // No retries here, because the next poll repeats the lookup.
  for (const [id, look] of await lookAtAssets(ids, { ...options, send: { signal: own, retries: 0 } })) {
    const isFinal = !('error' in look) || look.error.kind === 'not_found' || refusals.has(look.error.kind);
    if (isFinal) seen.set(id, look);
    else failed = look.error;
  }
  if (failed && seen.size === 0) throw failed;
  return { seen, failed };
}
