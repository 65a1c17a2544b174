import { existsSync } from 'node:fs';
import { defineCommand } from '../command.ts';
import { configFilePath } from '../config/config-file.ts';
import type { Settings } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { formatWords } from '../formats.ts';
import { oneLine } from '../io/escape.ts';
import { ffmpegVersion } from '../shots/frames.ts';
import {
  checkDisk,
  checkGateway,
  checkLedger,
  checkStorage,
  checkTrust,
  type Finding,
  type FindingState,
  failed,
  ok,
  skipped,
  worstOf,
} from './doctor/checks.ts';

interface Diagnosis {
  /** The worst state of all findings. */
  readonly state: FindingState;
  readonly findings: readonly Finding[];
}

/** `gw doctor` checks whether gw can work here, and prints a line per check. */
export const doctor = defineCommand<Record<string, never>, Diagnosis>({
  examples: ['gw doctor --sandbox', 'gw doctor --sandbox --json'],
  notes: [
    'Asks the gateway for its list of models, once and without retries; nothing is paid for, and the key is never shown. ' +
      'The exit code is that of the first error; a warning is no error.',
  ],
  async run(_, ctx) {
    const { settings, findings: configured } = await checkConfiguration(ctx);
    const findings = [
      ok('node', `${process.versions.node}, gw ${ctx.host.version}, ${ctx.host.platform}`),
      ...configured,
      ...(settings === undefined ? [skipped('gateway', 'not looked at')] : await checkGateway(settings, ctx)),
      ...(await checkLedger(ctx)),
      ok('formats', formatWords().join(', ')),
      ...checkDisk(settings, ctx),
      ...checkStorage(ctx),
      ...checkTrust(settings, ctx),
      await checkFfmpeg(settings, ctx),
    ];
    const state =
      (['error', 'warning'] as const).find((each) => findings.some((finding) => finding.state === each)) ??
      'ok';
    // The kind only decides the exit code, so it is not printed.
    const told = findings.map(({ kind: _, ...finding }) => finding);
    return { value: { state, findings: told }, error: worstOf(findings) };
  },
  human({ findings }, { io: { mode } }) {
    const isTold = ({ check, state }: Finding) =>
      mode.verbose || state === 'warning' || state === 'error' || (!mode.quiet && !onlyVerbose.test(check));
    const told = findings.filter(isTold);
    const others = findings.length - told.length;
    if (!mode.quiet && others > 0) told.push(ok('more', `${others} further checks: gw doctor -v lists them`));
    return told.map(lineOf).join('');
  },
});

async function checkFfmpeg(settings: Settings | undefined, { signal }: Context): Promise<Finding> {
  const version = await ffmpegVersion(settings?.childEnvironment() ?? {}, signal);
  if (version !== undefined) return ok('ffmpeg', version);
  return skipped(
    'ffmpeg',
    'not installed: first and last frames of videos are not cut out (job:ID#last_frame)',
  );
}

/** Parts of the checks of the contract; if nothing is wrong, only -v prints them. */
const onlyVerbose = /^(setting |kept: |proxy$|links$|disk for the ledger$|\w+ owner$)/;

async function checkConfiguration(
  ctx: Context,
): Promise<{ readonly settings: Settings | undefined; readonly findings: readonly Finding[] }> {
  try {
    const settings = await ctx.settings();
    const rows = settings.rows.filter(({ name, value }) => name !== 'key' && value !== undefined);
    return {
      settings,
      findings: [
        ok('configuration', fileWords(ctx)),
        ...rows.map(({ name, value, source }) => ok(`setting ${name}`, `${value} (${source})`)),
        ...(await ctx.pricing().then(
          () => [],
          (error: unknown) => [failed('prices', error)],
        )),
      ],
    };
  } catch (error) {
    return { settings: undefined, findings: [failed('configuration', error)] };
  }
}

/** The path of the configuration file, existing or not; without a home directory there is none. */
function fileWords({ host }: Context): string {
  try {
    const file = configFilePath(host);
    return existsSync(file) ? file : `${file} is not there: nothing is stored`;
  } catch {
    return 'there is no place for it: nothing is stored';
  }
}

const WIDEST_CHECK = 'setting provider_version'.length;

const lineOf = ({ check, state, message, hint }: Finding): string => {
  const whole = oneLine(`${message}${hint === undefined ? '' : `; ${hint}`}`, Number.POSITIVE_INFINITY);
  return `${state.padEnd(7)}  ${check.padEnd(WIDEST_CHECK)}  ${whole}\n`;
};
