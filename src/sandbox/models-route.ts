import { alphaModels } from '../gateway/alpha-models.ts';
import { modelsList } from '../gateway/models.ts';
import { jsonReply } from './reply.ts';
import type { Route } from './route.ts';

/** Unix seconds that every model of the sandbox was "created" at. */
const CREATED_S = 1_767_225_600;

/** `GET /v1/models` ("Model list entry"): the models that the sandbox serves. */
export const modelsRoute: Route = {
  endpoint: modelsList,
  answer: () =>
    jsonReply(200, {
      object: 'list',
      data: Object.keys(alphaModels).map((id) => ({
        id,
        object: 'model',
        created: CREATED_S,
        owned_by: 'alpha',
        supported_endpoint_types: ['openai'],
      })),
    }),
};
