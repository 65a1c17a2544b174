import { alphaModels } from '../gateway/alpha/models.ts';
import { gammaModels } from '../gateway/gamma/models.ts';
import { modelsList } from '../gateway/models.ts';
import { chatModels } from './chat/models.ts';
import { sandboxImageModels } from './image/models.ts';
import { jsonReply } from './reply.ts';
import type { Route } from './route.ts';

/** Unix seconds that every model of the sandbox was "created" at. */
const CREATED_S = 1_767_225_600;

const entry = (id: string, ownedBy: string, endpointTypes: readonly string[]) => ({
  id,
  object: 'model',
  created: CREATED_S,
  owned_by: ownedBy,
  supported_endpoint_types: endpointTypes,
});

/** `GET /v1/models` ("Model list entry"): the models that the sandbox serves. */
export const modelsRoute: Route = {
  endpoint: modelsList,
  answer: () =>
    jsonReply(200, {
      object: 'list',
      data: [
        ...Object.entries(chatModels).map(([id, model]) => entry(id, model.ownedBy, model.endpointTypes)),
        ...Object.entries(sandboxImageModels).map(([id, ownedBy]) => entry(id, ownedBy, ['openai'])),
        ...Object.keys(alphaModels).map((id) => entry(id, 'alpha', ['openai'])),
        ...Object.keys(gammaModels).map((id) => entry(id, 'gamma', ['openai'])),
      ],
    }),
};
