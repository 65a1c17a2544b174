/** Names that Windows keeps for devices, whatever extension follows. */
const deviceName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)/i;

/** Most bytes of a name that gw makes up, before the extension. */
export const MAX_STEM_BYTES = 120;

/**
 * Reduces a value from outside (a task ID, a model) to something that is a safe piece of a file name on every
 * system: `[A-Za-z0-9._-]`, no dot or dash at its start, no dot at its end, no device name, at most 120 bytes.
 */
export function cleanNameValue(value: string): string {
  const reduced = value
    .replace(/[^A-Za-z0-9._-]+/g, '_')
    .replace(/^[.-]+/, '')
    .slice(0, MAX_STEM_BYTES)
    .replace(/\.+$/, '');
  return reduced === '' ? 'unnamed' : guardDeviceName(reduced);
}

/** Longest slug of a prompt. */
const MAX_SLUG_BYTES = 48;

/**
 * A prompt's first words as a piece of a file name: letters and digits joined by `-`, whole words as far as they fit. Accents
 * go, and so does what no plain letter stands for; empty where nothing is left.
 */
export function slugOf(prompt: string): string {
  // Far more than can be used, so that a prompt of megabytes costs nothing.
  const plain = prompt
    .slice(0, 4096)
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  const [first = '', ...more] = plain.match(/[a-z0-9]+/g) ?? [];
  let slug = first.slice(0, MAX_SLUG_BYTES);
  for (const word of more) {
    if (slug.length + 1 + word.length > MAX_SLUG_BYTES) break;
    slug += `-${word}`;
  }
  return guardDeviceName(slug);
}

/** Puts an underscore before a name that is a device on Windows (`con`, `nul.mp4`). */
export function guardDeviceName(name: string): string {
  return deviceName.test(name) ? `_${name}` : name;
}
