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

/** Where outputs are kept that cannot be saved where they were wanted, and where parts grow that cannot grow there. */
export const refugeOf = ({ dir }: Pick<Ledger, 'dir'>): string => path.join(path.dirname(dir), 'rescued');

/** Beside the target; in the refuge where that disk cannot be read, or where a rename may lose what comes once. Throws DiskFault. */
export function partHome(target: string, refuge: string | undefined, comesOnce = false): PartHome {
  let fault: DiskFault | undefined;
  try {
    const { readsBack, links } = waysOf(target);
    const room = refuge === undefined ? 0 : (freeBytes(path.dirname(refuge)) ?? 0);
    if (readsBack && (links || !comesOnce || room < LEAST_FREE_BYTES)) return { dir: target };
  } catch (error) {
    fault = cannotSave(target, error);
  }
  if (refuge === undefined) throw fault ?? new DiskFault(`no part can be kept in ${target}`, false);
  try {
    ensureDirectory(refuge);
  } catch (error) {
    // What fails of both places fails when the part is made.
    if (comesOnce) return { dir: target };
    throw fault ?? DiskFault.of(`${refuge} cannot be made`, error);
  }
  return { dir: refuge, ...(fault && { fault }) };
}

const cannotSave = (dir: string, error: unknown): DiskFault =>
  new DiskFault(`files cannot be saved in ${dir}: ${faultReason(error)}`, true);

/** An output under its name, or in the refuge and why. */
export interface Placed {
  readonly path: string;
  readonly rescuedFrom?: DiskFault;
}

/**
 * Brings a whole part under its name, or, where that disk fails, under its name in the refuge: a disk that fails after the
 * payment costs the place, never the output. With a `fault` it is not tried where it was wanted. Throws DiskFault where
 * neither takes it, or PartGone.
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

/** What is told of an output that is in the refuge, of kind `download`. */
export const rescuedError = (what: string, id: string, file: string, { message }: DiskFault): GwError =>
  new GwError(
    'download',
    `${what} could not be saved where it was wanted: ${message}; it is kept as ${file}`,
    {
      taskId: id,
      hint: `once that is mended, gw jobs sync moves it there; to have it elsewhere: gw jobs download ${id} -o DIRECTORY/`,
    },
  );
