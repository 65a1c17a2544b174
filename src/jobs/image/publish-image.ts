import { type DiskFault, faultReason } from '../../disk/disk-fault.ts';
import { GwError } from '../../errors.ts';
import { imageRole } from '../../gateway/image/job.ts';
import type { Job, LedgerEvent, SavedFile, SavePlan } from '../../ledger/event.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { FileType } from '../../media/signatures.ts';
import { type Naming, outputPath } from '../save/output-path.ts';
import { type DownloadJournal, dropPart, journalOf, type PartFile } from '../save/part-file.ts';
import { type NamedPart, type PublishOptions, wholePart } from '../save/publish.ts';
import { type Placed, publishOrRescue, rescuedError } from '../save/rescue.ts';
import type { SaveInput } from '../save/save-outputs.ts';
import { missingEnd } from '../save/verify-part.ts';

interface PublishImage extends Pick<SaveInput, 'names' | 'sidecar' | 'journal' | 'claims'> {
  readonly part: PartFile;
  /** Its index among the outputs, from 0. */
  readonly index: number;
  readonly plan: Omit<SavePlan, 'download'>;
  /** Stores the image if it cannot be saved to its target. */
  readonly refuge: string;
  /** Why the target should not be tried. */
  readonly fault?: DiskFault | undefined;
  readonly warn: (text: string) => void;
}

/** A saved image. */
export interface Published {
  readonly file: SavedFile;
  /** An error of kind `download`: the ledger could not record it, or it is in the refuge. */
  readonly error?: GwError;
}

/** The target path of a job's image: its directory, and its name once the bytes are known. */
export const imagePath = (plan: Pick<SavePlan, 'target' | 'sidecar'>, names: Naming, index: number) =>
  outputPath(plan, names, { role: imageRole(index), type: 'image', url: '' }, index + 1);

/**
 * Gives a complete image its final name, or a name in the refuge, and records it; only then its part is removed. An
 * image that looks truncated is kept with a warning. Throws GwError `download` if no disk can store it.
 */
export async function publishImage(input: PublishImage): Promise<Published> {
  const { part, plan, names, index, journal, sidecar, warn, claims } = input;
  const role = imageRole(index);
  const fileType = part.fileType();
  const type = fileType?.mime ?? 'application/octet-stream';
  const place = imagePath(plan, names, index);
  const sha256 = part.sha256();
  const missing = missingIn(part, fileType);
  const extension = fileType?.extension;
  const name = (copy: number) => place.name(extension ?? 'bin', copy);
  const onName = (named: NamedPart) => journal.part(role, named);
  const mayReplace = (to: string, tell: () => void) => claims.mayTake(to, names.id, role, { tell });
  const replacing = { force: plan.force, mayReplace };
  const how = { dir: place.dir, name, extension, ...replacing, sidecar: sidecar?.(sha256), warn, onName };
  const { path: final, rescuedFrom } = await publishPart(part, how, input);
  const file: SavedFile = {
    role,
    path: final,
    bytes: part.bytes,
    sha256,
    type,
    ...(rescuedFrom && { rescued: true }),
  };
  if (missing !== undefined) warn(`${final} may be cut: ${missing}`);
  let error = rescuedFrom && rescuedError(`the ${role} of ${names.id}`, names.id, final, rescuedFrom);
  try {
    journal.saved(file);
  } catch (failure) {
    error = unrecordedImage(final, failure);
  }
  const second = `${part.path}, a second name of ${final},`;
  if (dropPart(part.path, warn, second)) journal.part(role, undefined);
  return { file, ...(error && { error }) };
}

function missingIn(part: PartFile, fileType: FileType | undefined): string | undefined {
  try {
    return missingEnd(fileType?.format, part);
  } catch (error) {
    return `its end could not be read: ${faultReason(error)}`;
  }
}

/** The error, of kind `download`, for a saved image that the ledger could not record. */
export const unrecordedImage = (file: string, error: unknown): GwError =>
  new GwError('download', `${file} is whole, but that could not be recorded: ${faultReason(error)}`, {
    hint: 'the image needs nothing more; only gw jobs and gw gallery do not know where it is',
  });

/** Gives a part the first free name at its target or in the refuge. Throws GwError `download`. */
export async function publishPart(
  part: PartFile,
  how: Omit<PublishOptions, 'ways' | 'mode'>,
  { refuge, fault }: Pick<PublishImage, 'refuge' | 'fault'>,
): Promise<Placed> {
  const mode = 0o666 & ~process.umask();
  try {
    return await publishOrRescue(wholePart(part), { ...how, mode }, refuge, fault);
  } catch (error) {
    throw new GwError('download', `an image was not saved: ${faultReason(error)}`, {
      hint: `its bytes are in ${part.path}: once that is mended, gw jobs sync gives them their name`,
    });
  }
}

/**
 * The journal of a job's images. A failure to record a part or a download only causes one warning: an image comes once,
 * and its link lives for an hour with unlimited downloads, so it is better saved without a record than lost.
 */
export function imageJournal(
  key: string,
  ledger: Ledger,
  warn: (text: string) => void,
  job?: Pick<Job, 'downloads' | 'held' | 'parts' | 'files'>,
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
  return { ...journalOf(job, note), saved: (file) => ledger.append(key, { event: 'saved', ...file }) };
}
