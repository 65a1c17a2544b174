import type { Context } from '../context.ts';
import { refuseOrWarn } from '../flags/breaches.ts';
import { type AssetType, assetLimits } from '../gateway/asset/fields.ts';
import type { HowAsked } from '../jobs/create/job-request.ts';
import { checkMedia, checkModality } from '../media/check.ts';
import { probeFile } from '../media/probe.ts';
import { parseReference } from '../media/reference.ts';
import { shownAs, standInFor } from '../media/resolve.ts';
import { findOutputs, namesOutput, noteOutputsInCurl } from './outputs.ts';
import { kindOf } from './resolve.ts';

/** A job's output that becomes an asset: the library receives its link. */
interface AssetOutput {
  /** A placeholder for the link while the body is checked. */
  readonly standIn: string;
  readonly shown: string;
  readonly type: AssetType;
  readonly link: () => Promise<string>;
}

const types = { image: 'Image', video: 'Video', audio: 'Audio' } as const;

/** The output that `--url job:…` names, with its file checked as an asset; undefined for an address. Throws GwError. */
export async function assetOutput(
  { url, type, ...how }: HowAsked & { readonly url?: string; readonly type?: string },
  ctx: Context,
): Promise<AssetOutput | undefined> {
  const flag = '--url';
  if (url === undefined || !namesOutput(url)) return undefined;
  const { globals, host, io, signal } = ctx;
  const asked = Object.entries(types).find(([, each]) => each === type)?.[0] as
    | keyof typeof types
    | undefined;
  const modality = asked ?? (await kindOf(parseReference(url, flag), { named: `${flag} ${url}`, ctx }));
  const limits = assetLimits[types[modality]];
  const takes = { url: true, base64: false, schemes: [] };
  const [input] = await findOutputs([{ raw: url, flag, modality, takes, limits }], ctx, how);
  const { output } = input ?? {};
  if (!output?.file || !output.link) throw new Error('an output of a job has a file and a link');
  const named = `${flag} ${url}`;
  const facts = await probeFile(output.file, named, { modality, assetsDir: host.assetsDir, signal });
  const wrongKind = checkModality(facts, modality, named);
  const breaches = wrongKind.length > 0 ? wrongKind : checkMedia(facts, limits, named);
  refuseOrWarn(breaches, globals.validate === undefined, io);
  if (globals.curl) noteOutputsInCurl(io);
  return {
    standIn: standInFor(output.label),
    shown: shownAs(output),
    type: types[modality],
    link: output.link,
  };
}
