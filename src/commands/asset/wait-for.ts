import { assetPaceMs, type WaitEnd, waitForAssets } from '../../assets/wait-for-assets.ts';
import type { Outcome } from '../../command.ts';
import { parseDuration } from '../../config/duration.ts';
import { DEFAULT_WAIT_TIMEOUT } from '../../config/table.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, Interrupted } from '../../errors.ts';
import type { FlagValues } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { assetFailure, readAsset } from '../../gateway/asset/record.ts';
import { shellQuote } from '../../http/show-request.ts';
import type { projectFlag } from './flags.ts';
import { given } from './library-body.ts';
import { type LibraryResult, libraryResult } from './result.ts';
import type { waitFlags } from './wait-flags.ts';

export type AssetWaitFlags = FlagValues<typeof waitFlags & typeof projectFlag> & {
  /** How each asset is asked for; needed where the body says more than the ID and the project. */
  readonly bodyOf?: (id: string) => JsonObject;
};

/** How long a 404 on a new asset may only mean that it is not known everywhere yet (promises, section 2). */
const YOUNG_MS = 60_000;

/** Waits for assets and yields one outcome each, as they end. `isNew`: they were created just now. */
export async function* waitOutcomes(
  ids: readonly string[],
  flags: AssetWaitFlags,
  ctx: Context,
  isNew: boolean,
): AsyncGenerator<Outcome<LibraryResult>> {
  const { clock, signal } = ctx;
  const { project, bodyOf = (Id: string) => given({ Id, ProjectName: project }) } = flags;
  const { set, body } = ctx.globals;
  const isSpecial = project !== undefined || (flags.bodyOf && (set ?? body) !== undefined);
  const deadlineMs =
    clock.steady() + (flags.waitTimeout ?? parseDuration(DEFAULT_WAIT_TIMEOUT, '--wait-timeout'));
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
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(error.signal, `the processing goes on: ${waitCommand(ids, flags, ctx)}`);
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
  const { id, asset } = end;
  const value = asset && libraryResult('asset', id, readAsset(asset).status, asset);
  if ('error' in end) {
    const hint = end.error.kind === 'wait_timeout' ? waitCommand([id], flags, ctx) : end.error.facts.hint;
    const { kind, message, facts } = end.error;
    const named = message.includes(id) ? message : `asset ${id}: ${message}`;
    const error = new GwError(kind, named, { ...facts, taskId: id, hint });
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
