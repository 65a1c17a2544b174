import { type AssetLook, type LookRequest, lookAtAssets, type SeenAsset } from '../../assets/ask-library.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { DEFAULT_WAIT_TIMEOUT, parseDuration } from '../../config/table.ts';
import { type Context, commandFor } from '../../context.ts';
import { type ErrorKind, GwError, shellQuote } from '../../errors.ts';
import { type FlagValues, onOff, parsed } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { getAsset } from '../../gateway/asset/actions.ts';
import { type AssetView, assetFailure, readAsset } from '../../gateway/asset/record.ts';
import { YOUNG_MS } from '../../gateway/task.ts';
import type { PollOptions } from '../../jobs/watch/poll.ts';
import {
  LAST_LOOK_MS,
  lookWithin,
  MAX_FAILING_MS,
  MAX_FAILURES,
  nextDelayMs,
  waitOver,
} from '../../jobs/watch/poll.ts';
import { showInstead } from '../show-instead.ts';
import { endedBy, waitDeadlineMs } from '../video/follow-job.ts';
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
      atOnce: !isNew,
      youngUntilMs: isNew ? clock.steady() + YOUNG_MS : undefined,
      onUpdate({ id, status, state, statusKnown }, elapsedMs) {
        progress.task({ id, status: status || 'unknown', state, elapsedMs });
        if (statusKnown || odd.has(id)) return;
        odd.add(id);
        ctx.io.warn(`asset ${id} has the status "${status}", which gw does not know; it waits on`);
      },
      onTrouble: (error) => progress.line(`a look failed, the wait goes on: ${error.message}`),
    });
    for await (const end of ends) yield outcomeOf(end, flags, ctx);
  } catch (error) {
    const [id] = ids.length === 1 ? ids : [];
    throw endedBy(error, `wait on with: ${waitCommand(ids, flags, ctx)}`, 'the processing goes on', id);
  } finally {
    progress.stop();
  }
}

function waitCommand(ids: readonly string[], { project }: AssetWaitFlags, ctx: Context): string {
  return commandFor(
    `gw asset wait ${ids.join(' ')}${project === undefined ? '' : ` --project ${shellQuote(project)}`}`,
    ctx,
  );
}

function outcomeOf(end: WaitEnd, flags: AssetWaitFlags, ctx: Context): Outcome<LibraryResult> {
  const { id, seen } = end;
  const value = seen && libraryResult('asset', id, readAsset(seen.asset).status, seen.reply, seen.asset);
  if ('error' in end) {
    const hint = end.error.kind === 'wait_timeout' ? waitCommand([id], flags, ctx) : end.error.facts.hint;
    const { message } = end.error;
    const named = message.includes(id) ? message : `asset ${id}: ${message}`;
    const error = end.error.told({ taskId: id, hint }, named);
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

type Pacing = 'intervalMs' | 'deadlineMs' | 'clock' | 'random' | 'signal' | 'youngUntilMs';

interface WaitOptions extends Omit<LookRequest, 'send'>, Pick<PollOptions<never>, Pacing> {
  /** Look at once, because the assets are not new. */
  readonly atOnce: boolean;
  readonly onUpdate: (view: AssetView, elapsedMs: number) => void;
  /** Called if a lookup fails and the wait goes on. */
  readonly onTrouble: (error: GwError) => void;
}

/** How one asset's wait ended: its last record, or an error. */
type WaitEnd =
  | { readonly id: string; readonly seen: SeenAsset; readonly view: AssetView }
  | { readonly id: string; readonly error: GwError; readonly seen?: SeenAsset | undefined };

/**
 * Polls assets until each is `Active` or `Failed`, and yields each as it ends. A failed lookup does not end the wait; a
 * refused one ends the wait for its asset only. Throws for 401 and 403, for a gateway that stays unreachable (its last
 * error), and with the signal's reason. An asset that is unfinished at the deadline ends with `wait_timeout`.
 */
async function* waitForAssets(ids: readonly string[], options: WaitOptions): AsyncGenerator<WaitEnd> {
  const { clock, deadlineMs, signal, youngUntilMs = 0 } = options;
  const startMs = clock.steady();
  const waiting = new Map<string, SeenAsset | undefined>(ids.map((id) => [id, undefined]));
  const trouble = { failures: 0, sinceMs: 0 };
  let pauseMs = options.atOnce ? 0 : nextDelayMs(options, 0);
  while (waiting.size > 0) {
    const restMs = deadlineMs - clock.steady();
    let isLast = pauseMs >= restMs;
    let retryAtMs: number | undefined;
    await clock.sleep(Math.max(0, Math.min(pauseMs, restMs)), signal);
    pauseMs = nextDelayMs(options, clock.steady() - startMs);
    const look = (own: AbortSignal) => lookOnce([...waiting.keys()], options, own);
    const limitMs = Math.max(LAST_LOOK_MS, deadlineMs - clock.steady());
    const { looks, failed } = await lookWithin(limitMs, { look, signal, taskId: ids.join() });
    for (const [id, look] of looks) {
      if ('error' in look) {
        if (look.error.kind === 'not_found' && clock.steady() < youngUntilMs) continue;
        waiting.delete(id);
        yield { id, error: look.error };
        continue;
      }
      const view = readAsset(look.asset);
      options.onUpdate(view, clock.steady() - startMs);
      waiting.set(id, look);
      if (view.state === 'running') continue;
      waiting.delete(id);
      yield { id, seen: look, view };
    }
    const [error] = failed;
    if (error === undefined || looks.size > 0) trouble.failures = 0;
    if (error !== undefined) {
      if (trouble.failures === 0) trouble.sinceMs = clock.steady();
      trouble.failures += 1;
      const isGone = trouble.failures >= MAX_FAILURES && clock.steady() - trouble.sinceMs >= MAX_FAILING_MS;
      if (isGone) throw error;
      retryAtMs = Math.max(...failed.map(({ facts }) => facts.retryAtMs ?? 0)) || undefined;
      const toldMs = Math.max(0, (retryAtMs ?? 0) - clock.now());
      isLast ||= clock.steady() + toldMs >= deadlineMs;
      if (!isLast) options.onTrouble(error);
      pauseMs = Math.max(pauseMs, toldMs);
    }
    if (!isLast) continue;
    for (const [id, seen] of waiting) yield { id, seen, error: waitOver(`asset ${id}`, id, retryAtMs) };
    return;
  }
}

/** Errors that concern the asset or the request, not the connection to the gateway. */
const finalKinds: readonly ErrorKind[] = ['not_found', 'rejected', 'balance'];

/** Looks up each asset once: the results, and the failures that the next lookup may overcome. */
async function lookOnce(
  ids: readonly string[],
  options: WaitOptions,
  own: AbortSignal,
): Promise<{ readonly looks: ReadonlyMap<string, AssetLook>; readonly failed: readonly GwError[] }> {
  const looks = new Map<string, AssetLook>();
  const failed: GwError[] = [];
  try {
    // No retries here, because the next poll repeats the lookup.
    for (const [id, look] of await lookAtAssets(ids, { ...options, send: { signal: own, retries: 0 } })) {
      if ('error' in look && !finalKinds.includes(look.error.kind)) failed.push(look.error);
      else looks.set(id, look);
    }
  } catch (error) {
    options.signal.throwIfAborted();
    if (!(error instanceof GwError) || error.kind === 'auth') throw error;
    failed.push(error);
  }
  return { looks, failed };
}
