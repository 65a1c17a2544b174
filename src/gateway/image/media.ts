// The forms in which an image request names an image ("Image endpoints"): a URL, or a Base64 data URL.

const webUrl = /^https?:\/\/[^\s\p{Cc}]+$/u;
const dataHead = /^data:image\/[a-z0-9.+-]{1,64};base64,/;

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

/** Whether a text is the Base64 data URL of an image. */
export function isImageDataUrl(text: string): boolean {
  const head = dataHead.exec(text.slice(0, 100))?.[0];
  return head !== undefined && isBase64From(text, head.length);
}

/** Whether a text is a URL or the Base64 data URL of an image. */
export const isImageUrl = (text: string): boolean =>
  text.startsWith('http') ? webUrl.test(text) : isImageDataUrl(text);
