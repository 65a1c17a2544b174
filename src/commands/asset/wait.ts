import { assetPaceMs, type WaitEnd, waitForAssets } from '../../assets/wait-for-assets.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { DEFAULT_WAIT_TIMEOUT, parseDuration } from '../../config/table.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, Interrupted } from '../../errors.ts';
import { type FlagValues, onOff, parsed } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { getAsset } from '../../gateway/asset/actions.ts';
import { assetFailure, readAsset } from '../../gateway/asset/record.ts';
import { shellQuote } from '../../http/show-request.ts';
import { showInstead } from '../show-instead.ts';
import {
  given,
  idBodies,
  idLine,
  type LibraryResult,
  libraryIds,
  libraryResult,
  projectFlag,
} from './library.ts';

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

/** `gw asset wait ID…`: until each is Active or Failed. */
export const wait = defineCommand<typeof flags, LibraryResult>({
  args: { name: 'ID', summary: 'asset ID, or asset://ID', required: true, many: true },
  flags,
  examples: [
    'gw asset wait "$(gw asset list --sandbox -q --limit 1)" --sandbox',
    'gw asset list --sandbox --all -q | xargs gw asset wait --sandbox --json',
  ],
  notes: [
    'Prints the ID of each that is Active, as it becomes so. One that has failed is exit 9, with its code.',
  ],
  sends: 'body',
  human: idLine,
  async *run({ args, flags, globals }, ctx) {
    const ids = libraryIds(args, ctx);
    const bodyOf = await idBodies(flags.project, ctx);
    for (const id of ids) bodyOf(id);
    if (!globals.dryRun && !globals.curl) return yield* waitOutcomes(ids, { ...flags, bodyOf }, ctx, false);
    for (const id of ids) {
      const value = await showInstead(getAsset, { body: bodyOf(id) }, ctx);
      if (value) yield { value };
    }
  },
});

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
