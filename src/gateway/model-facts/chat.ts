import { geoModels, thinkingLevels } from '../chat/models.ts';
import type { ModelSheet } from './sheets.ts';
import { fact } from './words.ts';

/** What the tables say of each chat model ("Chat completions", "Gemini-style generation"). */
export const chatSheets = (): ModelSheet[] =>
  Object.entries(geoModels).map(([id, { efforts, budgetZero, refusedLevels }]) => ({
    id,
    aliases: [],
    kind: 'chat',
    facts: [
      ...fact('commands', 'gw chat, gw chat --api geo'),
      ...fact('reasoning efforts', efforts.join(', ')),
      ...fact('thinking levels', thinkingLevels.filter((level) => !refusedLevels.includes(level)).join(', ')),
      ...fact('thinking off', `a budget of 0 ${budgetZero === 'works' ? 'works' : 'is not reliable'}`),
    ],
  }));
