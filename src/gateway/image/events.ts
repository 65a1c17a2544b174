import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';

// One event of an image stream. The document says only that there are partial images and a final one; the shapes are
// those of the public API, read by their fields before their names.

export type ImageEvent =
  /** An unfinished image; `index` counts from 0. */
  | { readonly kind: 'partial'; readonly index: number }
  /**
   * A finished image, one that failed, or a whole reply in place of a stream; read it with `readImages`. `isLast` where it
   * says that it is the end.
   */
  | { readonly kind: 'final'; readonly isLast?: boolean }
  | { readonly kind: 'error'; readonly error: GatewayErrorFacts }
  /** Nothing that gw knows; passed over. */
  | { readonly kind: 'other' };

/**
 * What an event of an image stream is, from its JSON (Base64 may have been left out of it). The final image may come
 * before all partial ones, so the order says nothing. `name` is the one of the event line, which counts where the JSON
 * names no type.
 */
export function readImageEvent(event: unknown, name = ''): ImageEvent {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return { kind: 'other' };
  const fields = event as Readonly<Record<string, unknown>>;
  const type = typeof fields.type === 'string' ? fields.type : name;
  // One of several images that failed leaves its place among them empty.
  if (type.endsWith('.partial_failed')) return { kind: 'final' };
  if ((fields.error !== undefined && fields.error !== null) || type === 'error') {
    return { kind: 'error', error: readGatewayError(event) };
  }
  const index = fields.partial_image_index;
  if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0) {
    return { kind: 'partial', index };
  }
  if (type.endsWith('.partial_image')) return { kind: 'partial', index: 0 };
  const holdsImage = 'b64_json' in fields || 'url' in fields || 'data' in fields || 'candidates' in fields;
  if (type.endsWith('.completed')) return { kind: 'final', isLast: true };
  return holdsImage ? { kind: 'final' } : { kind: 'other' };
}
