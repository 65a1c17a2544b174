/** The type and the Base64 of a data URI; undefined for any other address. */
export function splitDataUri(url: string): { readonly mime: string; readonly base64: string } | undefined {
  if (!url.startsWith('data:')) return undefined;
  // No pattern over the whole: images are megabytes.
  const comma = url.indexOf(',');
  const mime = url.slice('data:'.length, comma).replace(/;.*$/, '');
  return { mime, base64: url.slice(comma + 1) };
}
