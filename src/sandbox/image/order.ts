import type { Canvas } from './canvas.ts';
import { decode, encode, type ImageFormat } from './codecs.ts';
import { draw } from './draw.ts';

/** What was asked for, with everything decided: the same order gives the same pictures. JSON can hold it. */
export interface ImageOrder {
  readonly model: string;
  readonly prompt: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly format: ImageFormat;
  /** As it was asked for, or what `auto` became. */
  readonly quality: string;
  readonly background: 'transparent' | 'opaque';
  /** `output_compression`: 0-100. */
  readonly compression: number;
  readonly count: number;
  /** What was edited or referred to, in words: `PNG 320x200`. */
  readonly inputs: readonly string[];
  readonly hasMask: boolean;
  /** A small PNG of the first input, in Base64. */
  readonly thumbnail?: string | undefined;
}

/** The last unfinished image of a stream has so many blocks along its longer edge. */
const FINEST_BLOCKS = 48;

/** A picture of an order, drawn. */
export class Picture {
  readonly #order: ImageOrder;
  readonly #canvas: Canvas;
  readonly #wasmDir: string;

  private constructor(order: ImageOrder, canvas: Canvas, wasmDir: string) {
    this.#order = order;
    this.#canvas = canvas;
    this.#wasmDir = wasmDir;
  }

  /**
   * Draws the picture `nth` (from 0) of an order.
   * @param variant 0, or a number that gives the same picture other colours
   */
  static async of(order: ImageOrder, nth: number, wasmDir: string, variant = 0): Promise<Picture> {
    const { thumbnail } = order;
    const canvas = draw({
      widthPx: order.widthPx,
      heightPx: order.heightPx,
      isTransparent: order.background === 'transparent',
      prompt: order.prompt,
      caption: captionOf(order, nth),
      thumbnail:
        thumbnail === undefined ? undefined : await decode(Buffer.from(thumbnail, 'base64'), 'png', wasmDir),
      seed: [order.prompt, nth, ...(variant === 0 ? [] : [variant])].join('\n'),
    });
    return new Picture(order, canvas, wasmDir);
  }

  /** As a file of the order's format. */
  file(): Promise<Uint8Array> {
    return this.#encode(this.#canvas);
  }

  /** As it stands on the way, in blocks that get finer: `step` of `steps`, from 0. */
  unfinished(step: number, steps: number): Promise<Uint8Array> {
    const blocks = FINEST_BLOCKS / 2 ** (steps - 1 - step);
    const longPx = Math.max(this.#canvas.width, this.#canvas.height);
    return this.#encode(this.#canvas.inBlocks(Math.ceil(longPx / blocks)));
  }

  #encode(canvas: Canvas): Promise<Uint8Array> {
    const { format, compression, background } = this.#order;
    const isTransparent = background === 'transparent';
    return encode(canvas, format, { quality: compression, isTransparent, wasmDir: this.#wasmDir });
  }
}

function captionOf(order: ImageOrder, nth: number): string {
  const { model, widthPx, heightPx, quality, format, compression, count, inputs, hasMask } = order;
  const strength = format === 'png' ? '' : ` ${compression}`;
  const lines = [`${model}  ${widthPx}x${heightPx}  ${quality}  ${format}${strength}`];
  if (count > 1) lines.push(`image ${nth + 1} of ${count}`);
  const [first, ...others] = inputs;
  if (first !== undefined) {
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    lines.push(`from ${first}${more}${hasMask ? ', with a mask' : ''}`);
  }
  return lines.join('\n');
}
