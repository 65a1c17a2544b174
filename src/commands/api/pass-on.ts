import { GwError } from '../../errors.ts';
import type { ReplyTaker } from '../../http/client.ts';
import { prettyJson } from '../../http/parse-json.ts';
import type { Io } from '../../io/io.ts';

/** More than this is not made pretty, and not looked into. */
const KEPT_CHARACTERS = 16 * 1024 * 1024;

/** Takes a reply to a request by hand to stdout. */
export interface PassedOn extends ReplyTaker {
  /** Writes what was waiting; the text of the reply, where it is JSON and not too large. */
  end(): Promise<string | undefined>;
}

type Form = 'json' | 'text' | 'file';

/**
 * Passes a reply on as it comes: byte for byte into a pipe, whatever it is; as visible text to a terminal, JSON pretty
 * there without --json. Throws GwError `download` for bytes that no terminal can show; `end` may throw as Io's `out`.
 */
export function passOn(io: Pick<Io, 'mode' | 'stdoutIsTerminal' | 'out' | 'outRaw' | 'outReply'>): PassedOn {
  let form: Form = 'text';
  let type = '';
  // A byte order mark is a byte of the reply.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** The text of a JSON reply; undefined where it is another, or too long. */
  let kept: string | undefined;
  let isHeld = false;
  let lastCharacter = '\n';
  let last: Promise<void> | undefined;

  const write = async (text: string) => {
    // In a pipe the bytes have gone already.
    if (text === '' || !io.stdoutIsTerminal) return;
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
  const pass = async (chunk: Uint8Array) => {
    if (!io.stdoutIsTerminal) await io.outReply(chunk);
    else if (form === 'file') throw notForTerminals(type);
    if (io.stdoutIsTerminal || kept !== undefined) await take(decoder.decode(chunk, { stream: true }));
  };

  return {
    onHead({ headers }) {
      type = typeOf(headers['content-type'] ?? '');
      form = formOf(type);
      kept = form === 'json' ? '' : undefined;
      isHeld = form === 'json' && io.stdoutIsTerminal && !io.mode.json;
    },
    takeChunk(chunk) {
      last = pass(chunk);
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

const typeOf = (contentType: string): string => contentType.split(';')[0]?.trim().toLowerCase() ?? '';

/** What a reply is by its type; one without a type is text. */
function formOf(type: string): Form {
  if (/[/+]json$/.test(type)) return 'json';
  return /^(image|video|audio|font)\/|^application\/(octet-stream|pdf|zip|gzip)$/.test(type)
    ? 'file'
    : 'text';
}

/** The request has been done, so this is no `usage`. */
const notForTerminals = (type: string): GwError =>
  new GwError('download', `the reply is ${type}, which a terminal cannot show; the request itself was done`, {
    hint: 'a reply of bytes is kept with > FILE behind the command',
  });
