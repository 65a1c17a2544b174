import * as path from 'node:path';
import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { sidecarBy } from '../../flags/job-flags.ts';
import { refuseOneName } from '../../jobs/save/check-target.ts';
import { isFixedName, planTarget } from '../../jobs/save/output-path.ts';
import type { SavePlan } from '../../ledger/event.ts';

const NUMBERED = '{id}-{index}.{ext}';

export interface OutputFlags {
  readonly out?: string | undefined;
  readonly force?: boolean | undefined;
  readonly preview?: boolean | undefined;
  readonly keepPartials?: boolean | undefined;
  readonly events?: boolean | undefined;
  readonly once?: string | undefined;
  readonly sidecar?: boolean | undefined;
}

export interface OutputPlan {
  readonly save: SavePlan;
  readonly toStdout: boolean;
}

/**
 * Where the images of a request go. One image is `{id}.{ext}`, several are numbered, unless `--out` names them.
 * Throws `usage` for what does not go with `--out -`, and for a target that cannot be read.
 */
export function planOutput(
  flags: OutputFlags,
  images: number,
  settings: Pick<Settings, 'out' | 'sidecar'>,
  { host, globals }: Pick<Context, 'host' | 'globals'>,
): OutputPlan {
  const force = flags.force ?? false;
  if (flags.out === '-') {
    refuseWithStdout(flags, images, globals.json ? '--json' : flags.events ? '--events' : undefined);
    return { save: { target: planTarget(undefined, host.cwd), force, download: false }, toStdout: true };
  }
  const out = flags.out ?? settings.out.value;
  const target = planTarget(out ?? (images > 1 ? NUMBERED : undefined), host.cwd);
  // A directory ends in its separator.
  const numbered = images > 1 && /[/\\]$/.test(target) ? target + NUMBERED : target;
  // Looked at here too, for a dry run, which makes no directory.
  if (isFixedName(numbered)) refuseOneName(path.basename(numbered), images);
  const sidecar = sidecarBy(flags, settings, host.version);
  return { save: { target: numbered, force, download: true, sidecar }, toStdout: false };
}

function refuseWithStdout(flags: OutputFlags, images: number, printing: string | undefined): void {
  if (printing) {
    throw usage(`--out -: stdout holds the image, and ${printing} prints there too`, 'leave one of them out');
  }
  if (images > 1) {
    throw usage(`--out -: stdout takes one image, and ${images} are asked for`, 'name a directory instead');
  }
  const flag = flags.keepPartials
    ? '--keep-partials'
    : flags.preview
      ? '--preview'
      : flags.once !== undefined
        ? '--once'
        : flags.sidecar
          ? '--sidecar'
          : undefined;
  if (flag) throw usage(`--out -: ${flag} needs the image on disk`, `leave out ${flag}, or name a file`);
}
