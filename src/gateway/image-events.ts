import { type GatewayErrorFacts, readGatewayError } from './gateway-error.ts';

// One event of an image stream. The document says only that there are partial images and a final one; the shapes are
// those of the public API, read by their fields before their names.

export type ImageEvent =
  /** An unfinished image; `index` counts from 0. */
  | { readonly kind: 'partial'; readonly index: number }
  /** A finished image, or a whole reply in place of a stream; read it with `readImages`. */
  | { readonly kind: 'final' }
  | { readonly kind: 'error'; readonly error: GatewayErrorFacts }
  /** Nothing that gw knows; passed over. */
  | { readonly kind: 'other' };

/**
 * What an event of an image stream is, from its JSON (Base64 may have been left out of it). The final image may come
 * before all partial ones, so the order says nothing.
 */
export function readImageEvent(event: unknown): ImageEvent {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return { kind: 'other' };
  const fields = event as Readonly<Record<string, unknown>>;
  const type = typeof fields.type === 'string' ? fields.type : '';
  if ((fields.error !== undefined && fields.error !== null) || type === 'error') {
    return { kind: 'error', error: readGatewayError(event) };
  }
  const index = fields.partial_image_index;
  if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0) {
    return { kind: 'partial', index };
  }
  if (type.endsWith('.partial_image')) return { kind: 'partial', index: 0 };
  const holdsImage = 'b64_json' in fields || 'url' in fields || 'data' in fields || 'candidates' in fields;
  return holdsImage || type.endsWith('.completed') ? { kind: 'final' } : { kind: 'other' };
}
