// The forms in which a body names a file or an address: a URL, a Base64 data URI, bare Base64.

const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/iu;

/** Whether a text is a complete http or https address: no white space or control character, a port that exists. */
export const isWebUrl = (text: string): boolean => webUrl.test(text) && URL.canParse(text);

/** Whether Base64 stands from `start` to the end. One search for a wrong character: megabytes are looked at once. */
function isBase64From(text: string, start: number): boolean {
  const odd = /[^A-Za-z0-9+/]/g;
  odd.lastIndex = start;
  const end = odd.exec(text)?.index ?? text.length;
  const padding = text.length - end;
  if (end === start || padding > 2 || text.slice(end) !== '='.repeat(padding)) return false;
  return (end - start) % 4 !== 1 && (padding === 0 || (text.length - start) % 4 === 0);
}

/** Whether a text is Base64 and nothing else. */
export const isBase64 = (text: string): boolean => isBase64From(text, 0);

/** Whether a text is the Base64 data URI of a medium; of one of these MIME subtypes where they are given. */
export function isDataUri(text: string, modality: string, subtypes?: readonly string[]): boolean {
  const [head, subtype = ''] = /^data:[a-z]+\/([a-z0-9.+-]{1,64});base64,/.exec(text.slice(0, 120)) ?? [];
  if (head === undefined || !head.startsWith(`data:${modality}/`)) return false;
  return (subtypes === undefined || subtypes.includes(subtype)) && isBase64From(text, head.length);
}

/** Whether a text is a URL or the Base64 data URI of an image. */
export const isImageUrl = (text: string): boolean =>
  text.startsWith('data:') ? isDataUri(text, 'image') : isWebUrl(text);
