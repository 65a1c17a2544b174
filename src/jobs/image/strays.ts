import type { Rest } from './json-lifter.ts';

/**
 * Which of the texts lifted out of a reply are no unfinished work: neither inside a thought nor of a partial image.
 * `value` is the reply with a mark in the place of each.
 */
export function finishedTexts(value: unknown, rest: Rest): Set<number> {
  const finished = new Set<number>();
  // No recursion: a reply may be nested as deeply as it likes.
  const waiting: unknown[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === 'string') {
      const index = rest.indexOf(next);
      if (index !== undefined) finished.add(index);
    } else if (typeof next === 'object' && next !== null && !isUnfinished(next)) {
      for (const [name, inner] of Object.entries(next)) {
        if (inner !== null && name !== 'partial_image_b64') waiting.push(inner);
      }
    }
  }
  return finished;
}

const isUnfinished = (value: object): boolean =>
  ('thought' in value && value.thought === true) || 'partial_image_index' in value;
