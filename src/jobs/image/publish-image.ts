import * as path from 'node:path';
import { faultReason } from '../../disk/disk-fault.ts';
import { GwError } from '../../errors.ts';
import { imageRole } from '../../gateway/image/job.ts';
import type { Job, LedgerEvent, SavedFile, SavePlan } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { SNIFF_BYTES, sniff } from '../../media/signatures.ts';
import { type Naming, outputPath } from '../save/output-path.ts';
import { type DownloadJournal, forgetPart, type PartFile } from '../save/part-file.ts';
import { type PublishOptions, publish } from '../save/publish.ts';
import { missingEnd } from '../save/verify-part.ts';

export interface PublishImage {
  readonly part: PartFile;
  /** Its place among the outputs, from 0. */
  readonly index: number;
  readonly plan: Pick<SavePlan, 'target' | 'force'>;
  readonly names: Naming;
  readonly sidecar?: ((sha256: string) => string) | undefined;
  readonly journal: DownloadJournal;
  readonly warn: (text: string) => void;
}

/** An image under its name. */
export interface Published {
  readonly file: SavedFile;
  /** Of kind `download`: the ledger did not take it. */
  readonly unrecorded?: GwError;
}

/** The path of one of a job's images: its directory, and its name once the bytes are known. */
export const imagePath = (plan: Pick<SavePlan, 'target'>, names: Naming, index: number) =>
  outputPath(plan.target, names, { role: imageRole(index), type: 'image', url: '' }, index + 1);

/**
 * Brings a whole image under its final name and records it; only then its part goes. It stays in the directory where its
 * part lies. One that looks cut is warned of and kept. Throws GwError `download` where it did not get its name.
 */
export async function publishImage(input: PublishImage): Promise<Published> {
  const { part, plan, names, index, journal, sidecar, warn } = input;
  const role = imageRole(index);
  const fileType = sniff(part.head(SNIFF_BYTES));
  const type = fileType?.mime ?? 'application/octet-stream';
  const place = imagePath(plan, names, index);
  const sha256 = part.sha256();
  const missing = missingEnd(fileType?.format, part);
  const name = (copy: number) => place.name(fileType?.extension ?? 'bin', copy);
  const onRename = (to: string) => journal.part(role, part.renamedTo(to));
  const final = await publishPart(part, name, plan.force, { sidecar: sidecar?.(sha256), warn, onRename });
  const file: SavedFile = { role, path: final, bytes: part.bytes, sha256, type };
  if (missing !== undefined) warn(`${final} may be cut: ${missing}`);
  let unrecorded: GwError | undefined;
  try {
    journal.saved(file);
  } catch (error) {
    unrecorded = unrecordedImage(final, error);
  }
  try {
    forgetPart(part.path, role, journal);
  } catch (error) {
    warn(`${part.path}, a second name of ${final}, could not be removed: ${faultReason(error)}`);
  }
  return { file, ...(unrecorded && { unrecorded }) };
}

/** What is told of a saved image that the ledger does not take, of kind `download`. */
export const unrecordedImage = (file: string, error: unknown): GwError =>
  new GwError('download', `${file} is whole, but that could not be recorded: ${faultReason(error)}`, {
    hint: 'the image needs nothing more; only gw jobs and gw gallery do not know where it is',
  });

/** Gives a part the first free name in its directory; beside that it keeps its own. Throws GwError `download`. */
export async function publishPart(
  part: PartFile,
  name: (copy: number) => string,
  force: boolean,
  beside: Pick<PublishOptions, 'sidecar' | 'warn' | 'onRename'> = {},
): Promise<string> {
  const mode = 0o666 & ~process.umask();
  try {
    return await publish(part, { dir: path.dirname(part.path), name, force, mode, ...beside });
  } catch (error) {
    throw new GwError('download', `an image was not saved: ${faultReason(error)}`, {
      hint: `its bytes are in ${part.path}: once that is mended, gw jobs sync gives them their name`,
    });
  }
}

/**
 * The journal of a job's images. A part or a download that cannot be recorded is warned of once and no more: an image
 * comes once, its link lives for an hour and may be followed at will, so it is better saved without a record than lost.
 */
export function imageJournal(
  key: string,
  ledger: Ledger,
  warn: (text: string) => void,
  job?: Pick<Job, 'downloads' | 'parts' | 'files'>,
): DownloadJournal {
  let isWarned = false;
  const note = (event: LedgerEvent) => {
    try {
      ledger.append(key, event);
    } catch (error) {
      if (!isWarned) warn(`the ledger cannot be written: ${faultReason(error)}; going on without it`);
      isWarned = true;
    }
  };
  return {
    downloadsSoFar: job?.downloads ?? 0,
    parts: job?.parts ?? {},
    files: job?.files ?? [],
    aboutToGet: (role) => note({ event: 'get', role }),
    part: (role, part) => note({ event: 'part', role, ...part }),
    saved: (file) => ledger.append(key, { event: 'saved', ...file }),
  };
}
