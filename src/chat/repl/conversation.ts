import type { ChatApi, ChatPart, ChatTurn } from '../chat.ts';
import type { SessionSettings } from '../session/exchange.ts';
import type { Session } from '../session/session.ts';

/** Where a conversation stands: its turns, what the next question is asked with, and the images that go with it. */
export class Conversation {
  model: string | undefined;
  system: string | undefined;
  /** Attached to the next question. */
  images: readonly ChatPart[] = [];
  /** Answers are shown as they come, their Markdown not drawn. */
  raw = false;
  #turns: readonly ChatTurn[];

  constructor(
    readonly api: ChatApi,
    start: {
      readonly model: string | undefined;
      readonly system?: string | undefined;
      readonly turns?: readonly ChatTurn[] | undefined;
    },
    readonly session?: Session | undefined,
  ) {
    this.model = start.model;
    this.system = start.system;
    this.#turns = start.turns ?? [];
  }

  /** Every turn so far; those that other processes have added to the session among them. */
  get turns(): readonly ChatTurn[] {
    this.session?.reload();
    return this.session?.turns ?? this.#turns;
  }

  /** Takes in a question with all that came of it. Throws as the session's `append` does. */
  async add(turns: readonly ChatTurn[]): Promise<void> {
    this.images = [];
    const settings: SessionSettings = {
      api: this.api,
      ...(this.model !== undefined && { model: this.model }),
      ...(this.system !== undefined && { system: this.system }),
    };
    if (this.session) await this.session.append(turns, settings);
    else this.#turns = [...this.#turns, ...turns];
  }

  /** Forgets the turns; the model and the system prompt stay. */
  startOver(): void {
    this.images = [];
    this.#turns = [];
    this.session?.startOver();
  }
}
