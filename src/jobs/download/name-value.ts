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

/** Puts an underscore before a name that is a device on Windows (`con`, `nul.mp4`). */
export function guardDeviceName(name: string): string {
  return deviceName.test(name) ? `_${name}` : name;
}
