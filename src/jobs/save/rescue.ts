import * as path from 'node:path';
import { DiskFault, faultReason, freeBytes, isDiskFault } from '../../disk/disk-fault.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { GwError } from '../../errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { isThere, waysOf } from './disk-ways.ts';
import type { PartHome } from './part-file.ts';
import { LEAST_FREE_BYTES } from './part-sink.ts';
import { type PublishOptions, publish, type Source } from './publish.ts';
import { PartGone } from './take-name.ts';

/** The refuge: a directory for outputs and parts that cannot be written to their target. */
export const refugeOf = ({ dir }: Pick<Ledger, 'dir'>): string => path.join(path.dirname(dir), 'rescued');

/** The target; the refuge if a disk cannot be read, or a rename may lose one-time data. Throws DiskFault. */
export function partHome(target: string, refuge: string, comesOnce = false): PartHome {
  let fault: DiskFault | undefined;
  try {
    const { readsBack, links } = waysOf(target);
    const room = freeBytes(path.dirname(refuge)) ?? 0;
    if (readsBack && (links || !comesOnce || room < LEAST_FREE_BYTES)) return { dir: target };
  } catch (error) {
    fault = cannotSave(target, error);
  }
  try {
    ensureDirectory(refuge);
  } catch (error) {
    // If both places fail, the error is reported when the part is made.
    if (comesOnce) return { dir: target };
    throw fault ?? DiskFault.of(`${refuge} cannot be made`, error);
  }
  return { dir: refuge, ...(fault && { fault }) };
}

const cannotSave = (dir: string, error: unknown): DiskFault =>
  new DiskFault(`files cannot be saved in ${dir}: ${faultReason(error)}`, true);

/** An output at its target, or in the refuge with the reason. */
export interface Placed {
  readonly path: string;
  readonly rescuedFrom?: DiskFault;
}

/**
 * Gives a complete part its name or, if that disk fails, its name in the refuge: a disk failure after the payment must
 * not cost the output. With a `fault` the target is not tried. Throws DiskFault if neither can store it, or PartGone.
 */
export async function publishOrRescue(
  source: Source,
  options: Omit<PublishOptions, 'ways'>,
  refuge: string | undefined,
  fault?: DiskFault,
): Promise<Placed> {
  let why = fault;
  if (why === undefined) {
    try {
      return { path: await publish(source, { ...options, ways: waysOf(options.dir) }) };
    } catch (error) {
      const isCopyLost = error instanceof PartGone && isThere(source.path);
      why = isCopyLost || isDiskFault(error) ? cannotSave(options.dir, error) : (error as DiskFault);
      if (!(why instanceof DiskFault) || refuge === undefined) throw why;
    }
  }
  try {
    if (refuge === undefined) throw why;
    ensureDirectory(refuge);
    const rescue = { ...options, dir: refuge, force: false, ways: waysOf(refuge) };
    return { path: await publish(source, rescue), rescuedFrom: why };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error instanceof PartGone ? error : why;
  }
}

/** The error, of kind `download`, for an output that is in the refuge. */
export const rescuedError = (what: string, id: string, file: string, { message }: DiskFault): GwError =>
  new GwError(
    'download',
    `${what} could not be saved where it was wanted: ${message}; it is kept as ${file}`,
    {
      taskId: id,
      hint: `once that is mended, gw jobs sync moves it there; to have it elsewhere: gw jobs download ${id} -o DIRECTORY/`,
    },
  );
