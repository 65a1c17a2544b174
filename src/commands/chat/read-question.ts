import type { ChatPart, ChatTurn } from '../../chat/chat.ts';
import type { Context } from '../../context.ts';
import { usage } from '../../errors.ts';
import { refuseOrWarn } from '../../flags/breaches.ts';
import { parseSet } from '../../flags/json-body.ts';
import { noPrompt, readPrompt } from '../../flags/prompt.ts';
import { itemsOf } from '../../gateway/json-value.ts';
import { MB } from '../../gateway/limits.ts';
import { readPipedPrompt } from '../../media/piped-prompt.ts';
import { toDataUri } from '../../media/reference.ts';
import { shownAs } from '../../media/resolve.ts';
import { SNIFF_BYTES, sniff, typeInWords } from '../../media/signatures.ts';
import { findOutputs, noteOutputsInCurl } from '../../shots/outputs.ts';
import { type Start, toolUses } from './read-history.ts';
import { type ChatFlags, readToolResults } from './read-settings.ts';

/** Large enough for a log or a book; the gateway decides how much a model accepts. */
const MAX_PIPED_BYTES = 64 * MB;

/** The turns that this run adds; undefined if there is no question and a conversation can start instead. */
export async function readQuestion(
  words: readonly string[],
  flags: ChatFlags,
  { surface, base, history }: Start,
  isStdinFree: boolean,
  ctx: Context,
): Promise<ChatTurn[] | undefined> {
  const { globals, io, host } = ctx;
  const results = readToolResults(flags.toolResult ?? []);
  const prompt = await readPrompt(
    {
      words,
      prompt: flags.prompt,
      promptFile: flags.promptFile,
      optional: true,
      mayReadStdin: false,
      media: (flags.image ?? []).map((raw) => ({ flag: '--image', raw, many: true })),
    },
    ctx,
  );
  const given = [...Object.keys(base), ...(globals.set ?? []).map((raw) => parseSet(raw).path.join('.'))];
  const own = RegExp(`^${surface.historyField}(\\.\\d+)?$`);
  const hasQuestion = results.length + Object.keys(history).length > 0 || given.some((at) => own.test(at));
  const piped =
    isStdinFree && (prompt !== undefined || flags.messages !== undefined || !hasQuestion)
      ? await readPipedPrompt(host.stdin, {
          clock: ctx.clock,
          signal: ctx.signal,
          maxBytes: MAX_PIPED_BYTES,
          onBytes: refusePicture,
          onWaiting: () =>
            io.note(
              prompt === undefined
                ? 'waiting for the prompt on stdin (--prompt TEXT gives it directly)'
                : 'waiting for the end of stdin, the text that the prompt is about (< /dev/null leaves it out)',
            ),
        })
      : undefined;
  const texts = [prompt, piped].filter((text) => text !== undefined && text.trim() !== '');
  const isInteractive = host.stdin.isTTY === true && io.stdoutIsTerminal && !globals.dryRun && !globals.curl;
  if (texts.length === 0 && !hasQuestion) {
    if (isInteractive) return undefined;
    if (!flags.image) throw noPrompt();
  }
  const parts: ChatPart[] = [
    ...texts.map((text) => ({ type: 'text', text: String(text) }) as const),
    ...(await readImages(flags.image ?? [], ctx)),
  ];
  return [...results, ...(parts.length > 0 ? [{ role: 'user', parts } as const] : [])];
}

/** Reads the typed image references into the form that is sent. Throws `usage`. */
export async function readImages(
  references: readonly string[],
  ctx: Context,
  flag: '--image' | '/image' = '--image',
): Promise<ChatPart[]> {
  const { globals, host, io, signal } = ctx;
  if (references.length === 0) return [];
  if (flag === '/image' && references.includes('-'))
    throw usage('/image -: stdin is where you type', 'name a file, a URL or a data URI');
  const piped = references.includes('-') ? await pictureOnStdin(host.stdin, signal) : undefined;
  const { resolveMedia } = await import('../../media/resolve.ts');
  const validate = globals.validate === undefined;
  const typed = references.map((raw) => ({
    raw: raw === '-' && piped !== undefined ? piped : raw,
    flag,
    modality: 'image' as const,
    takes: { url: true, base64: true, schemes: [] },
  }));
  const inputs = await findOutputs(typed, ctx);
  const { items, breaches } = await resolveMedia(
    inputs,
    { validate },
    { cwd: host.cwd, assetsDir: host.assetsDir, signal },
  );
  refuseOrWarn(breaches, validate, io);
  const isShown = globals.dryRun || globals.curl;
  if (globals.curl && inputs.some(({ output }) => output)) noteOutputsInCurl(io);
  return items.map(({ url }, at) => {
    const { output } = inputs[at] ?? {};
    return { type: 'image', url, ...(isShown && output && { shown: shownAs(output) }) };
  });
}

/** Refuses a picture as text: a command line that pipes a picture probably meant `--image -`. */
function refusePicture(bytes: Uint8Array): void {
  const type = sniff(bytes.subarray(0, SNIFF_BYTES));
  if (type?.modality !== 'image' || type.format === 'svg') return;
  throw usage(`stdin holds ${typeInWords(type)}, not text`, 'add --image - to send it as a picture');
}

/** The picture on stdin as a data URI. Throws `usage` for a terminal, and for input that is no picture. */
async function pictureOnStdin(stdin: Context['host']['stdin'], signal: AbortSignal): Promise<string> {
  if (stdin.isTTY)
    throw usage(
      '--image -: stdin is a terminal',
      'send a picture there: gw chat "what is this?" --image - < fox.png',
    );
  const { readInputStream } = await import('../../disk/typed-input.ts');
  const bytes = await readInputStream(stdin, { named: '--image -', maxBytes: MAX_PIPED_BYTES, signal });
  const type = sniff(bytes.subarray(0, SNIFF_BYTES));
  if (type?.modality !== 'image') {
    const what = bytes.length === 0 ? 'stdin is empty' : `stdin holds ${typeInWords(type)}`;
    throw usage(`--image -: ${what}, not a picture`);
  }
  return toDataUri(type.mime, bytes);
}

/** Checks that each tool result answers a call of the conversation. */
export function checkResults(
  added: readonly ChatTurn[],
  before: readonly ChatTurn[],
  { base, history, surface }: Start,
): void {
  const results = added.filter((turn) => turn.role === 'tool');
  if (results.length === 0) return;
  const own = itemsOf(history.own ?? base[surface.historyField]);
  const calls = toolUses(own, before).flatMap((each) => each.calls);
  for (const { toolCallId } of results) {
    if (calls.some(({ id }) => id === toolCallId)) continue;
    throw usage(
      `--tool-result ${toolCallId}: the conversation holds no such call`,
      calls.length === 0
        ? 'give the conversation that holds the call with --session or --messages'
        : `it holds ${calls.map(({ id }) => id).join(', ')}`,
    );
  }
}
