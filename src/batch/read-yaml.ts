import { statSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { rowOf, textOf, utf8Of, type WrittenRow } from './read-manifest.ts';

/** The YAML library needs about thirty times the size of a text. */
const MAX_YAML_BYTES = 2 * 1024 * 1024;
/** The maximum number of uses of anchors in one row. */
const MAX_ALIASES = 100;

/**
 * The rows of a YAML list. The library needs the whole text at once, so its size is limited. The anchors of an item are
 * limited too, because a few of them can expand to billions of values.
 */
export async function* readYaml(file: string): AsyncGenerator<WrittenRow> {
  const { size } = statSync(file);
  if (size > MAX_YAML_BYTES) {
    const fault = `a manifest in YAML has at most ${MAX_YAML_BYTES / 1024 / 1024} MiB, and this has ${(size / 1024 / 1024).toFixed(1)}: write it as JSONL or CSV`;
    return yield { line: 1, fault };
  }
  const { text, fault } = textOf(await buffer(utf8Of(file)));
  if (fault !== undefined) return yield { line: 1, fault };
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, merge: true, prettyErrors: false, logLevel: 'error' });
  for (const { code, message, pos } of document.errors) {
    const why = code === 'MULTIPLE_DOCS' ? 'a second document begins: put its rows into one list' : message;
    yield { line: lineCounter.linePos(pos[0]).line, fault: `not YAML: ${firstLine(why)}` };
  }
  if (document.errors.length > 0) return;
  if (document.contents === null) return;
  if (!isSeq(document.contents))
    return yield { line: 1, fault: 'not a list: each row of a manifest in YAML begins with "- "' };
  for (const item of document.contents.items) {
    const node = item as Partial<Pick<Node, 'range' | 'toJS'>> | null;
    const { line } = lineCounter.linePos(node?.range?.[0] ?? 0);
    try {
      yield rowOf(line, node?.toJS?.(document, { maxAliasCount: MAX_ALIASES }));
    } catch (error) {
      const why = firstLine((error as Error).message);
      const bomb = `anchors are used more than ${MAX_ALIASES} times: write the values out`;
      yield { line, fault: /alias count/i.test(why) ? bomb : why };
    }
  }
}

const firstLine = (message: string): string => message.split('\n')[0] ?? '';
