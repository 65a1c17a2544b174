import { geoModels } from '../../gateway/chat/models.ts';
import { Refusal } from '../reply.ts';

/** Which of the documented endpoint types a model can be called by, and who it belongs to. */
export interface ChatModel {
  readonly ownedBy: string;
  readonly endpointTypes: readonly ('openai' | 'anthropic')[];
  /** Whether the Gemini-style endpoints take it; the document has no endpoint type for them. */
  readonly native: boolean;
}

/** A model of the sandbox's own: the document names none that native messages take. */
export const SANDBOX_CHAT_MODEL = 'sandbox-chat-1';

const geo: ChatModel = { ownedBy: 'geo', endpointTypes: ['openai'], native: true };

export const chatModels: Readonly<Record<string, ChatModel>> = {
  ...Object.fromEntries(Object.keys(geoModels).map((id) => [id, geo])),
  [SANDBOX_CHAT_MODEL]: {
    ownedBy: 'sandbox',
    endpointTypes: ['openai', 'anthropic'],
    native: false,
  },
};

/** The model of a request; throws Refusal (400) with the IDs that would do where this endpoint has none such. */
export function chatModel(id: string, fits: (model: ChatModel) => boolean): ChatModel {
  const model = Object.hasOwn(chatModels, id) ? chatModels[id] : undefined;
  if (model && fits(model)) return model;
  const others = Object.entries(chatModels).filter(([, other]) => fits(other));
  const list = others.map(([other]) => other).join(', ');
  throw new Refusal(
    400,
    `Invalid parameter model: ${id} is not a model of this endpoint; ${list} ${others.length === 1 ? 'is' : 'are'}.`,
    'ModelNotFound',
  );
}
