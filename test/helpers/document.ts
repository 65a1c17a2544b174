import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';

// The gateway's document lies beside the checkout or where GW_DOCUMENT names it. Without it, only the checks that do not need
// it are made.

const file = [process.env.GW_DOCUMENT, path.join(import.meta.dirname, '../../../shared/gateway-api.md')].find(
  (each) => each !== undefined && existsSync(each),
);

/** Text without markup; the cells of a table row are separate words. */
const plain = (text: string) =>
  text.replaceAll(/[`*]/g, '').replaceAll('|', ' ').replaceAll(/\s+/g, ' ').trim();

const text = file === undefined ? undefined : readFileSync(file, 'utf8');
/** The document's text without markup; undefined when the document is missing. */
export const document = text === undefined ? undefined : plain(text);

/** Whether a quotation occurs in the document; ` … ` separates its parts. */
export const isQuoted = (sentence: string): boolean =>
  sentence.split(' … ').every((part) => document?.includes(plain(part)));

/** The words in backquotes between two texts of the document, each once. */
export function markedBetween(from: string, to: string): string[] {
  const start = text?.indexOf(from) ?? -1;
  const end = text?.indexOf(to, start) ?? -1;
  if (start < 0 || end < 0) throw new Error(`the document has no "${from}" before "${to}"`);
  return [
    ...new Set([...(text ?? '').slice(start, end).matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)),
  ];
}
