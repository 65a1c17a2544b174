import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';

// The gateway's document lies beside the checkout, or where GW_DOCUMENT names it; a checkout without it holds what can be
// held without it.

const file = [process.env.GW_DOCUMENT, path.join(import.meta.dirname, '../../../shared/gateway-api.md')].find(
  (each) => each !== undefined && existsSync(each),
);

/** Text without marks, and the cells of a table's row as places of their own. */
const plain = (text: string) =>
  text.replaceAll(/[`*]/g, '').replaceAll('|', ' ').replaceAll(/\s+/g, ' ').trim();

const text = file === undefined ? undefined : readFileSync(file, 'utf8');
/** Its text without marks; undefined where it is not there. */
export const document = text === undefined ? undefined : plain(text);

/** Whether a quotation, its parts parted by ` … `, stands in the document. */
export const isQuoted = (sentence: string): boolean =>
  sentence.split(' … ').every((part) => document?.includes(plain(part)));

/** The words in marks between two texts of the document, each once. */
export function markedBetween(from: string, to: string): string[] {
  const start = text?.indexOf(from) ?? -1;
  const end = text?.indexOf(to, start) ?? -1;
  if (start < 0 || end < 0) throw new Error(`the document has no "${from}" before "${to}"`);
  return [
    ...new Set([...(text ?? '').slice(start, end).matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)),
  ];
}
