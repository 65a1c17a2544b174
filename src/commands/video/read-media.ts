import type { Context } from '../../context.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { type MediaInput, resolveMedia } from '../../media/resolve.ts';
import type { Upload } from './upload.ts';

/** The media of a create, and the files to upload; until then each of these has a placeholder address. */
export interface Media {
  readonly media: Pick<Awaited<ReturnType<typeof resolveMedia>>, 'items' | 'breaches'>;
  readonly uploads: readonly Upload[];
}

/** Reads media. Files to upload are checked too, and placeholders take their place. */
export async function readMedia(
  inputs: readonly MediaInput[],
  { maxBodyBytes }: Endpoint,
  totalS: number | undefined,
  { host, globals, signal, settings }: Context,
): Promise<Media> {
  const deps = { cwd: host.cwd, assetsDir: host.assetsDir, signal };
  const hasCommand = (await settings()).uploadCommand.value !== undefined;
  const plan =
    hasCommand || inputs.some(({ output }) => output?.link)
      ? await (await import('./upload.ts')).planUploads(inputs, { totalS, hasCommand }, deps)
      : undefined;
  const validate = globals.validate === undefined;
  const resolved = await resolveMedia(plan?.inputs ?? inputs, { maxBodyBytes, totalS, validate }, deps);
  const items = resolved.items.map((item, at) => {
    const upload = plan?.uploads.get(at);
    return upload ? { ...item, describe: upload.label, sha256: upload.sha256 } : item;
  });
  const breaches = [...resolved.breaches, ...(plan?.breaches ?? [])];
  return { media: { items, breaches }, uploads: [...(plan?.uploads.values() ?? [])] };
}
