import type { ReplyTaker } from '../../http/client.ts';
import type { Io } from '../../io/io.ts';
import { prettyJson } from './pretty-json.ts';

/** More than this is not made pretty, and not looked into. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;

/** Takes a reply to a request by hand to stdout. */
export interface PassedOn extends ReplyTaker {
  /** Writes what was waiting; the text of the reply, where it is JSON and not too large. */
  end(): Promise<string | undefined>;
}

type Form = 'json' | 'text' | 'file';

/**
 * Passes a reply on as it comes: byte for byte in a pipe, with --json, and for a stream of events; JSON pretty on a
 * terminal. `end` may throw as Io's `out`.
 */
export function passOn(io: Pick<Io, 'mode' | 'stdoutIsTerminal' | 'out' | 'outRaw' | 'outBytes'>): PassedOn {
  let form: Form = 'text';
  // A byte order mark is a byte of the reply.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** The text of a JSON reply; undefined where it is another, or too long. */
  let kept: string | undefined;
  let isHeld = false;
  let lastCharacter = '\n';
  let last: Promise<void> | undefined;

  const write = async (text: string) => {
    if (text === '') return;
    lastCharacter = text.slice(-1);
    await io.outRaw(text);
  };
  const take = async (text: string) => {
    if (kept !== undefined && kept.length + text.length <= KEPT_CHARACTERS) {
      kept += text;
      if (isHeld) return;
    } else {
      const waiting = isHeld ? (kept ?? '') : '';
      kept = undefined;
      isHeld = false;
      await write(waiting);
    }
    await write(text);
  };

  return {
    onHead({ headers }) {
      form = formOf(headers['content-type'] ?? '');
      kept = form === 'json' ? '' : undefined;
      isHeld = form === 'json' && io.stdoutIsTerminal && !io.mode.json;
    },
    takeChunk(chunk) {
      last = form === 'file' ? io.outBytes(chunk) : take(decoder.decode(chunk, { stream: true }));
      return last;
    },
    async end() {
      // The reply may have ended before its last piece was written, and nobody else hears of a failure then.
      await last;
      if (form !== 'file') await take(decoder.decode());
      if (isHeld && kept !== undefined) await write(prettyJson(kept) ?? kept);
      if (io.stdoutIsTerminal && lastCharacter !== '\n') await io.out('\n');
      return kept;
    },
  };
}

/** What a reply is by its type; one without a type is text. */
function formOf(contentType: string): Form {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (/[/+]json$/.test(type)) return 'json';
  return /^(image|video|audio|font)\/|^application\/(octet-stream|pdf|zip|gzip)$/.test(type)
    ? 'file'
    : 'text';
}
