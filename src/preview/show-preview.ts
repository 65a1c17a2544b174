import { readFile } from 'node:fs/promises';
import * as path from 'node:path';
import type { Host } from '../host.ts';
import type { DrawTask } from '../media/in-worker.ts';
import type { Drawn } from './draw-picture.ts';
import type { ColorDepth } from './half-blocks.ts';

/** The terminal for previews; they go to stderr, because stdout holds the result. */
interface PreviewTerminal {
  readonly host: Pick<Host, 'env' | 'stderr' | 'assetsDir'>;
  /** True if stderr is coloured; without colour, half blocks show nothing. */
  readonly hasColor: boolean;
  /** The terminal's own graphics protocols; detected if absent. */
  readonly supports?: Graphics | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Graphics {
  readonly kitty: boolean;
  readonly iterm2: boolean;
  readonly sixel: boolean;
}

/** Lines left free for the path below the picture and the command above it. */
const SPARE_ROWS = 4;
/** Maximum width: a preview need not fill a wide terminal. */
const MAX_COLUMNS = 100;

/**
 * Draws an image file on stderr: by the terminal's own graphics (kitty, iTerm2, sixel) if it has them, otherwise in
 * coloured half blocks, also inside tmux and screen, which do not pass graphics on. Draws nothing if stderr is not a
 * terminal. Resolves with the reason if the image cannot be drawn; never throws.
 */
export async function showPreview(file: string, terminal: PreviewTerminal): Promise<string | undefined> {
  const { stderr } = terminal.host;
  if (stderr.isTTY !== true || terminal.host.env.TERM === 'dumb') return undefined;
  try {
    const text = await previewText(await readFile(file), terminal);
    if (text === undefined) return 'the terminal shows no colours';
    await new Promise<void>((resolve) => stderr.write(text, () => resolve()));
    return undefined;
  } catch (error) {
    if (terminal.signal?.aborted) return undefined;
    return error instanceof Error ? error.message : 'it cannot be read';
  }
}

/** The text that draws the image on this terminal; undefined if it has neither graphics nor colours. */
export async function previewText(
  content: Uint8Array,
  terminal: PreviewTerminal,
): Promise<string | undefined> {
  const { host, hasColor } = terminal;
  const graphics = inMultiplexer(host.env) ? undefined : (terminal.supports ?? (await supportedBy(host)));
  const own = graphics && (['kitty', 'iterm2', 'sixel'] as const).find((each) => graphics[each]);
  if (!own && !hasColor) return undefined;
  const columns = Math.max(1, Math.min(host.stderr.columns || 80, MAX_COLUMNS));
  const rows = Math.max(1, (host.stderr.rows || 24) - SPARE_ROWS);
  return drawn({ content, as: own ?? depthOf(host.env), columns, rows }, host, terminal.signal);
}

/** A JPEG of at most 400 by 400 pixels, in Base64. Throws if the image cannot be drawn. */
export const smallPicture = async (file: string, host: Pick<Host, 'assetsDir'>): Promise<string> =>
  drawn({ content: await readFile(file), as: 'jpeg', columns: 40, rows: 20 }, host);

async function drawn(
  task: Pick<DrawTask, 'content' | 'as' | 'columns' | 'rows'>,
  { assetsDir }: Pick<Host, 'assetsDir'>,
  signal?: AbortSignal,
): Promise<string> {
  const { inWorker } = await import('../media/in-worker.ts');
  const { last } = await inWorker<Drawn>(
    { do: 'draw', ...task, wasmDir: path.join(assetsDir, 'wasm') },
    { assetsDir, signal },
  );
  if (last === undefined) throw new Error('it could not be read in time; the file looks damaged');
  if ('problem' in last) throw new Error(last.problem);
  return last.text;
}

async function supportedBy({ stderr }: Pick<Host, 'stderr'>): Promise<Graphics> {
  const { createSupportsTerminalGraphics } = await import('supports-terminal-graphics');
  return createSupportsTerminalGraphics({ isTTY: stderr.isTTY === true });
}

const inMultiplexer = (env: Host['env']): boolean =>
  Boolean(env.TMUX || env.STY) || /^(tmux|screen)/.test(env.TERM ?? '');

/** The number of colours that the terminal announces; FORCE_COLOR overrides it. */
export function depthOf(env: Host['env']): ColorDepth {
  const forced = ({ '1': '16', '2': '256', '3': 'true' } as const)[env.FORCE_COLOR ?? ''];
  if (forced) return forced;
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? '')) return 'true';
  return /256/.test(env.TERM ?? '') ? '256' : '16';
}
