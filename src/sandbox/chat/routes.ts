import { type CompletionsBody, chatCompletions } from '../../gateway/chat/completions.ts';
import { type GeoBody, geoGenerate, geoStream } from '../../gateway/chat/geo.ts';
import { chatMessages, type MessagesBody } from '../../gateway/chat/messages.ts';
import { refuseField } from '../request-body.ts';
import type { Call, Route, World } from '../route.ts';
import { answer, paceOf } from './answer.ts';
import { completionsReply, readCompletions } from './completions.ts';
import { geoReply, readGeo } from './geo.ts';
import { respellCompletions, respellGeo, respellMessages } from './input.ts';
import { messagesReply, readMessages } from './messages.ts';

const geoAnswer =
  (isStreamed: boolean) =>
  async ({ params, url, body }: Call, world: World) => {
    const alt = url.searchParams.get('alt');
    if (isStreamed && alt !== null && alt !== 'sse') {
      throw refuseField(['alt'], 'only sse is taken');
    }
    const request = body as GeoBody;
    const question = await readGeo(params.model ?? '', request);
    const further = (request.generationConfig?.candidateCount ?? 1) - 1;
    const others = Array.from({ length: further }, (_, at) => answer(question, at + 1));
    return geoReply(question, [answer(question), ...others], paceOf(world), isStreamed);
  };

/** Chat on its three surfaces ("Chat completions", "Native messages", "Gemini-style generation"). */
export const chatRoutes: readonly Route[] = [
  {
    endpoint: chatCompletions,
    respell: respellCompletions,
    async answer({ body }, world) {
      const request = body as CompletionsBody;
      const question = await readCompletions(request);
      const createdS = Math.floor(world.now() / 1000);
      return completionsReply(request, question, answer(question), paceOf(world), createdS);
    },
  },
  {
    endpoint: chatMessages,
    respell: respellMessages,
    async answer({ body }, world) {
      const request = body as MessagesBody;
      const question = await readMessages(request);
      return messagesReply(request, question, answer(question), paceOf(world));
    },
  },
  { endpoint: geoGenerate, respell: respellGeo, answer: geoAnswer(false) },
  { endpoint: geoStream, respell: respellGeo, answer: geoAnswer(true) },
];
