import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault } from '../../disk/disk-fault.ts';
import { errorCode, usage } from '../../errors.ts';
import type { Host } from '../../host.ts';
import type { ChatApi, ChatPart, ChatTurn } from '../chat.ts';
import { messagesOf } from '../completions/messages.ts';
import type { Session } from '../session/session.ts';
import { expandHome } from './commands.ts';
import type { ConversationOptions } from './start-conversation.ts';

/** The state of a conversation: its turns, the settings of the next question, and its attached images. */
export class Conversation {
  model: string | undefined;
  system: string | undefined;
  /** Images for the next question. */
  images: readonly ChatPart[] = [];
  /** If true, answers are shown as they arrive, without rendering Markdown. */
  raw = false;
  #turns: readonly ChatTurn[] = [];

  constructor(
    readonly api: ChatApi,
    private readonly start: Pick<ConversationOptions, 'model' | 'system' | 'held'>,
    readonly session?: Session | undefined,
  ) {
    this.model = start.model;
    this.system = start.system;
  }

  /** All turns so far, including those that other processes have added to the session. */
  get turns(): readonly ChatTurn[] {
    this.session?.reload();
    return this.session?.turns ?? this.#turns;
  }

  /** Adds a question with all its answers. Throws as the session's `append` does. */
  async add(turns: readonly ChatTurn[]): Promise<void> {
    this.images = [];
    const { api, model, system = this.start.held?.system } = this;
    if (this.session) await this.session.append(turns, { ...this.start.held, api, model, system });
    else this.#turns = [...this.#turns, ...turns];
  }

  /** Forgets the turns; the model and the system prompt stay. */
  startOver(): void {
    this.images = [];
    this.#turns = [];
    this.session?.startOver();
  }
}

interface SaveOptions {
  readonly host: Pick<Host, 'cwd' | 'homeDir' | 'clock'>;
  readonly hideSecret: (text: string) => string;
}

/**
 * Writes a conversation to a new file and returns its path: JSON in the form of chat completions if the name ends in
 * `.json`, else Markdown. An existing file is kept; the new name gets `-1`, `-2`, … before its extension. Throws GwError
 * `usage` if there are no turns yet or the file cannot be written.
 */
export function saveConversation(
  conversation: Pick<Conversation, 'turns' | 'system'>,
  named: string | undefined,
  { host, hideSecret }: SaveOptions,
): string {
  if (conversation.turns.length === 0) throw usage('there is nothing to save yet');
  const time = new Date(host.clock.now())
    .toISOString()
    .replace(/\.\d+Z|[-:]/g, '')
    .replace('T', '-');
  const wanted = path.resolve(host.cwd, expandHome(named ?? `chat-${time}.md`, host.homeDir));
  const isJson = path.extname(wanted).toLowerCase() === '.json';
  const text = isJson ? `${JSON.stringify(messagesOf(conversation), null, 2)}\n` : markdown(conversation);
  const { dir, name, ext } = path.parse(wanted);
  for (let count = 0; ; count += 1) {
    const file = path.join(dir, `${name}${count === 0 ? '' : `-${count}`}${ext}`);
    try {
      fs.writeFileSync(file, hideSecret(text), { flag: 'wx' });
      return file;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') continue;
      const { reason, remedy } = diskFault(error);
      throw usage(`/save ${file}: the file cannot be written: ${reason}`, `${remedy}, or give another name`);
    }
  }
}

export function markdown({ turns, system }: Pick<Conversation, 'turns' | 'system'>): string {
  const sections = turns.map((turn) => {
    if (turn.role === 'tool') return `## Result of ${turn.name ?? turn.toolCallId}\n\n${turn.content}\n`;
    if (turn.role === 'user') return `## You\n\n${turn.parts.map(inMarkdown).join('\n\n')}\n`;
    const calls = (turn.toolCalls ?? []).map(
      ({ name, arguments: given }) => `Calls \`${name}\`: \`${given}\``,
    );
    return `## Model\n\n${[turn.text, ...calls].filter((text) => text !== '').join('\n\n')}\n`;
  });
  return [...(system === undefined ? [] : [`## System\n\n${system}\n`]), ...sections].join('\n');
}

const inMarkdown = (each: ChatPart) => (each.type === 'text' ? each.text : `![image](${each.url})`);
