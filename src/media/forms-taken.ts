import { type GwError, usage } from '../errors.ts';
import type { MediaInput } from './resolve.ts';

/** What to say of a file that is not there: an ID and curl's @FILE are typed by habit. */
export function hintIfMissing({ raw, takes }: MediaInput): string | undefined {
  const scheme = takes.schemes.find((each) => each !== 'file_id');
  if (scheme && /^[\w-]+$/.test(raw)) {
    const held = scheme === 'asset' ? 'an asset of the library' : 'a file of the gateway';
    return `${held} is written ${scheme}://${raw}`;
  }
  return raw.startsWith('@') ? `a media file is named without the @: ${raw.slice(1)}` : undefined;
}

/** The error for a file, or its data, where only addresses are taken (videos of family A: "Rules for content", 1). */
export function fileNotTaken({ modality, takes }: MediaInput, named: string, form: string): GwError {
  const message = `${named}: is ${form}, and a ${modality} is sent here by address only (${formsTaken(takes)})`;
  if (!takes.schemes.includes('asset')) {
    return usage(message, 'put the file where the gateway can fetch it and give its https:// URL');
  }
  const type = `${modality.slice(0, 1).toUpperCase()}${modality.slice(1)}`;
  return usage(
    message,
    `put the file where the gateway can fetch it and give its https:// URL, or add that URL to the asset library (gw asset create --type ${type} --url …) and give asset://ID`,
  );
}

/** The forms that a place takes, in words: `an https:// URL or asset://ID`. */
export function formsTaken(takes: MediaInput['takes']): string {
  const forms = [
    ...(takes.base64 ? ['a file', 'a data: URI'] : []),
    ...(takes.url ? ['an https:// URL'] : []),
    ...takes.schemes.map((scheme) => (scheme === 'file_id' ? 'file_id:ID' : `${scheme}://ID`)),
  ];
  return forms.length > 1 ? `${forms.slice(0, -1).join(', ')} or ${forms.at(-1)}` : forms.join('');
}
