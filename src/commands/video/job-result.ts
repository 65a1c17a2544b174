import { type Outcome, ShownRequest } from '../../command.ts';
import type { Settings } from '../../config/settings.ts';
import { DEFAULT_WAIT_TIMEOUT, parseDuration } from '../../config/table.ts';
import type { Context } from '../../context.ts';
import { type PollFlags, type SaveFlags, sidecarBy } from '../../flags/job-flags.ts';
import { type SaidBy, toldAs } from '../../flags/yielding.ts';
import type { PrintedFile } from '../../jobs/job-view.ts';
import { planTarget } from '../../jobs/save/output-path.ts';
import type { SavePlan } from '../../ledger/event.ts';

/** The object that commands print which create, wait or save (the contract, section 1). */
export interface JobResult {
  readonly family: string;
  readonly id: string;
  readonly status: string;
  /** The gateway's last record, unchanged. */
  readonly record: unknown;
  readonly files: readonly PrintedFile[];
}

export const resultIn = ({ value }: Outcome<JobResult>): JobResult | undefined =>
  value instanceof ShownRequest ? undefined : value;

/** For people and `$(…)`: the saved paths, one a line. */
export const fileLines = ({ files }: Pick<JobResult, 'files'>): string =>
  files.map(({ path }) => `${path}\n`).join('');

/** As {@link fileLines}, but the task ID if nothing was saved. */
export const jobLines = (result: JobResult, _ctx: Context, failed: boolean): string =>
  result.files.length > 0 || failed ? fileLines(result) : `${result.id}\n`;

/** Where and how the outputs of a new job are saved. */
export const newSavePlan = (
  flags: SaveFlags,
  { out, sidecar }: Settings,
  { cwd, version }: Context['host'],
): SavePlan => ({
  target: planTarget(flags.out ?? out.value, cwd),
  force: flags.force ?? false,
  download: flags.download === undefined,
  sidecar: sidecarBy(flags, { sidecar }, version),
});

/** Names the flag or setting that chose the output path, for messages. */
export function outNamed(how: SaveFlags & SaidBy, { out }: Settings, command = ''): string {
  const { out: typed, ...said } = how;
  if (typed !== undefined) return toldAs('--out', said, command);
  const by: Partial<Record<string, string>> = { environment: 'GW_OUT', default: 'the default of --out' };
  return by[out.source] ?? 'the setting out';
}

/** The monotonic time at which a wait ends. */
export const waitDeadlineMs = (flags: PollFlags, ctx: Context): number =>
  ctx.clock.steady() + (flags.waitTimeout ?? parseDuration(DEFAULT_WAIT_TIMEOUT, '--wait-timeout'));
