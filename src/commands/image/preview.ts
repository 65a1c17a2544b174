import type { Context } from '../../context.ts';
import { wantsColor } from '../../io/style.ts';

/**
 * Draws saved images on the terminal that stderr is; nothing with -q. What cannot be drawn is a warning: the images are on
 * disk all the same.
 */
export async function showPreviews(
  files: readonly { readonly path: string }[],
  { host, globals, io, signal }: Context,
): Promise<void> {
  if (io.mode.quiet || files.length === 0) return;
  const { showPreview } = await import('../../preview/show-preview.ts');
  const hasColor = wantsColor(io.stderrIsTerminal, host.env, globals.color === false);
  for (const file of files) {
    const problem = await showPreview(file.path, { host, hasColor, signal });
    if (problem !== undefined) io.warn(`no preview of ${file.path}: ${problem}`);
  }
}
