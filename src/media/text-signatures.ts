import type { FileType } from './signatures.ts';

const html: FileType = { format: 'html', modality: 'text', mime: 'text/html', extension: 'html' };
const xml: FileType = { format: 'xml', modality: 'text', mime: 'application/xml', extension: 'xml' };
const json: FileType = { format: 'json', modality: 'text', mime: 'application/json', extension: 'json' };
const plain: FileType = { format: 'text', modality: 'text', mime: 'text/plain', extension: 'txt' };
const svg: FileType = { format: 'svg', modality: 'image', mime: 'image/svg+xml', extension: 'svg' };

// Control characters that no text file has; tab, newlines, form feed and ESC pass.
const binaryCharacters = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;
const htmlTags =
  /^<(?:!doctype\s+html|html|head|body|title|meta|script|style|div|span|p|h[1-6]|center|pre)\b/i;
const leadingComments = /^(?:\s*<!--[\s\S]*?-->)+\s*/;

/** What a text is by its beginning: HTML, XML, SVG, JSON or plain; none where the bytes are no text. */
export function sniffText(firstBytes: Uint8Array): FileType | undefined {
  const text = decodeBeginning(firstBytes);
  if (text === undefined || binaryCharacters.test(text)) return undefined;
  const start = text.trimStart().replace(leadingComments, '');
  if (htmlTags.test(start)) return html;
  if (/^<svg\b/i.test(start)) return svg;
  if (/^<\?xml\b/i.test(start)) {
    const root = /<([A-Za-z][\w:.-]*)/.exec(start)?.[1]?.toLowerCase();
    if (root === 'svg') return svg;
    return root === 'html' ? html : xml;
  }
  if (/^<[A-Za-z!]/.test(start)) return xml;
  if (/^(?:\{\s*["}]|\[\s*(?:["{[\]\d-]|true|false|null))/.test(start)) return json;
  return plain;
}

/** The bytes as text where they are UTF-8 (a character cut at the end passes) or UTF-16 with its mark. */
function decodeBeginning(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return undefined;
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
