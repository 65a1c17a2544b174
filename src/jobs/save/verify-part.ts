import type { TaskOutput } from '../../gateway/task.ts';
import { type FileType, modalityInWords, SNIFF_BYTES, sniff, typeInWords } from '../../media/signatures.ts';
import type { PartFile } from './part-file.ts';
import { brokenBoxes } from './top-boxes.ts';

/** What a finished part is, or why it is not the output: something else, or cut. */
export type Finding =
  | { readonly is: 'whole'; readonly fileType: FileType }
  | { readonly is: 'other'; readonly reason: string }
  | { readonly is: 'broken'; readonly reason: string };

/**
 * Looks at a part that has all its bytes: its first bytes against the output's type, and whether the container is
 * whole.
 */
export function verifyPart(part: PartFile, expected: TaskOutput['type']): Finding {
  const fileType = sniff(part.head(SNIFF_BYTES));
  const other = refusalOf(fileType, expected);
  if (other !== undefined || !fileType) return { is: 'other', reason: other ?? '' };
  const broken = brokenContainer(fileType, part);
  if (broken !== undefined) return { is: 'broken', reason: `the file is not whole: ${broken}` };
  return { is: 'whole', fileType };
}

/** Why first bytes cannot be those of the output: text, or no medium, or a medium of another kind. */
export function refusalOf(fileType: FileType | undefined, expected: TaskOutput['type']): string | undefined {
  // SVG counts as an image, but it is XML: no model draws it.
  const isExpected = fileType !== undefined && (expected === 'any' || fileType.modality === expected);
  if (isExpected && fileType.format !== 'svg') return undefined;
  const wanted = expected === 'any' ? 'a video, an image or audio' : modalityInWords[expected];
  return `the server sent ${typeInWords(fileType)} where ${wanted} was expected`;
}

function brokenContainer(fileType: FileType, part: PartFile): string | undefined {
  const { format } = fileType;
  if (format === 'mp4' || format === 'mov') {
    return brokenBoxes((offset, count) => part.read(offset, count), part.bytes);
  }
  // These end in a mark of their own, which tells a cut where the server announced no length.
  const tail = Buffer.from(part.read(Math.max(0, part.bytes - 8), 8)).toString('latin1');
  if (format === 'png' && tail !== 'IEND\xae\x42\x60\x82') return 'its last chunk is missing';
  if (format === 'jpeg' && !tail.endsWith('\xff\xd9')) return 'its end mark is missing';
  return undefined;
}
