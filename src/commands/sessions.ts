import type { ChatTurn } from '../chat/chat.ts';
import { messagesOf } from '../chat/completions/messages.ts';
import { markdown } from '../chat/repl/conversation.ts';
import { readExchanges } from '../chat/session/exchange.ts';
import { deleteSession, parseSessionName, type StoredName, storedSessions } from '../chat/session/session.ts';
import { defineCommand, type Outcome } from '../command.ts';
import type { Context } from '../context.ts';
import { GwError } from '../errors.ts';
import { on } from '../flags/flag.ts';
import { cutCodePoints, safeJson } from '../io/escape.ts';
import { durationText } from '../io/quantity-text.ts';
import { askFirst, refuseUnasked } from './ask-first.ts';

// gw sessions manages this user's stored conversations of gw chat --session. It sends no request.

interface Listed {
  readonly name: string;
  readonly api: string | undefined;
  readonly model: string | undefined;
  readonly turns: number;
  /** RFC 3339. */
  readonly changed_at: string;
  /** The beginning of the last question. */
  readonly last: string;
  readonly file: string;
}

const EXAMPLE = 'gw chat --sandbox --session trip "name three boats"';

/** `gw sessions list` prints the stored conversations, the latest first. */
export const list = defineCommand<Record<string, never>, Listed[]>({
  examples: [`${EXAMPLE} && gw sessions list`, 'gw sessions list -q'],
  notes: ['gw chat --session NAME goes on with one of them, gw chat --continue with the first.'],
  run: async (_, ctx) => ({ value: storedSessions(ctx.host).map(listed) }),
  human: (sessions, ctx) => ({
    columns: [
      { name: 'NAME', whole: true },
      { name: 'TURNS', align: 'right' },
      { name: 'CHANGED' },
      { name: 'MODEL', optional: true },
      { name: 'LAST QUESTION', optional: true },
    ],
    rows: sessions.map(({ name, turns, changed_at, model = '', last }) => {
      const age = `${durationText(ctx.clock.now() - Date.parse(changed_at))} ago`;
      return {
        id: name,
        cells: [name, String(turns), ctx.io.stdoutIsTerminal ? age : changed_at, model, last],
      };
    }),
  }),
});

const MOST_SHOWN = 60;

function listed({ name, file, changedAtMs }: StoredName): Listed {
  const { exchanges } = readExchanges(file);
  const { api, model } = exchanges.at(-1)?.settings ?? {};
  const turns = exchanges.flatMap((exchange) => exchange.turns);
  const question = turns.findLast((turn) => turn.role === 'user');
  const words = question ? textOf(question).replace(/\s+/g, ' ').trim() : '';
  const last = cutCodePoints(words, MOST_SHOWN);
  return {
    name,
    api,
    model,
    turns: turns.length,
    changed_at: new Date(changedAtMs).toISOString(),
    last,
    file,
  };
}

const textOf = (turn: Extract<ChatTurn, { role: 'user' }>): string =>
  turn.parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ');

interface Shown extends Pick<Listed, 'name' | 'api' | 'model'> {
  /** The turns in the form of chat completions, which --messages accepts. */
  readonly messages: readonly unknown[];
}

/** `gw sessions show NAME` prints a conversation as Markdown, or with --json as messages. */
export const show = defineCommand<Record<string, never>, Shown & { readonly text: string }>({
  args: { name: 'NAME', summary: 'the session', required: true, completes: 'session' },
  examples: [`${EXAMPLE} && gw sessions show trip`, `${EXAMPLE} && gw sessions show trip --json`],
  async run({ args: [raw = ''] }, ctx) {
    const { file, name } = stored(raw, ctx);
    const { exchanges, damaged } = readExchanges(file);
    if (damaged > 0)
      ctx.io.warn(`session ${name}: ${damaged} lines of ${file} cannot be read and are left out`);
    const { api, model, system } = exchanges.at(-1)?.settings ?? {};
    const conversation = { system, turns: exchanges.flatMap(({ turns }) => turns) };
    return { value: { name, api, model, messages: messagesOf(conversation), text: markdown(conversation) } };
  },
  human: ({ text }) => text,
  raw: ({ text: _, ...shown }) => `${safeJson(shown)}\n`,
});

function stored(raw: string, ctx: Context): StoredName {
  const name = parseSessionName(raw, 'NAME');
  const found = storedSessions(ctx.host).find((session) => session.name === name);
  if (found) return found;
  throw notStored(name);
}

const notStored = (name: string): GwError =>
  new GwError('not_found', `there is no session ${name}`, { hint: 'gw sessions lists the stored ones' });

const deleteFlags = { yes: on('do not ask') } as const;

/** `gw sessions delete NAME…` asks first, because it deletes for good. */
export const remove = defineCommand<
  typeof deleteFlags,
  { readonly name: string; readonly status: 'deleted' }
>({
  args: { name: 'NAME', summary: 'the session', required: true, many: true, completes: 'session' },
  flags: deleteFlags,
  examples: [`${EXAMPLE} && gw sessions delete trip --yes`],
  async *run({ args, flags: { yes } }, ctx): AsyncGenerator<Outcome<{ name: string; status: 'deleted' }>> {
    const names = [...new Set(args.map((raw) => parseSessionName(raw, 'NAME')))];
    const found = storedSessions(ctx.host).filter(({ name }) => names.includes(name));
    const what = found.length === 1 ? `session ${found[0]?.name}` : `${found.length} sessions`;
    const isSure = yes || found.length === 0;
    refuseUnasked(`deleting ${what} cannot be undone`, isSure, ctx, 'give --yes to do it');
    if (!isSure) await askFirst(`Delete ${what} for good?`, ctx);
    for (const name of names) {
      if (await deleteSession(name, ctx)) yield { value: { name, status: 'deleted' } };
      else yield { error: notStored(name) };
    }
  },
  human: ({ name }) => `${name}\n`,
});
