import { usage } from '../../errors.ts';

const shape = /^[a-z0-9][a-z0-9._-]{0,99}$/;
/** Names that Windows keeps for devices, whatever follows the dot. */
const device = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/** The name of a session, which is also that of its file. Throws GwError `usage` for one that cannot be. */
export function parseSessionName(raw: string, flag = '--session'): string {
  if (shape.test(raw) && !device.test(raw)) return raw;
  const shown = JSON.stringify(raw.length > 80 ? `${raw.slice(0, 80)}…` : raw);
  const rule =
    'a session is named with at most 100 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or digit';
  if (device.test(raw)) throw usage(`${flag} ${shown}: Windows keeps that name for a device`, rule);
  const close = raw.toLowerCase().trim().replace(/\s+/g, '-');
  throw usage(`${flag} ${shown}: not the name of a session`, shape.test(close) ? `${rule}: ${close}` : rule);
}
