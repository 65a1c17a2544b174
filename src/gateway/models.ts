import * as z from 'zod';
import type { Endpoint } from './endpoint.ts';

/** One entry of the list; only the ID is needed, the rest is read where it has the documented form. */
const ModelEntry = z.looseObject({
  id: z.string(),
  created: z.number().optional().catch(undefined),
  owned_by: z.string().optional().catch(undefined),
  supported_endpoint_types: z.array(z.string()).optional().catch(undefined),
});
export type ModelEntry = z.infer<typeof ModelEntry>;

const ModelList = z.looseObject({ data: z.array(ModelEntry) });
export type ModelList = z.infer<typeof ModelList>;

/** Values of `supported_endpoint_types` that the document has seen; others may come. */
export const endpointTypes = ['openai', 'anthropic'] as const;

/** `GET /v1/models` ("Model list entry"): what the key may call; also the cheapest question that a key can answer. */
export const modelsList: Endpoint<ModelList> = {
  name: 'models.list',
  method: 'GET',
  path: '/v1/models',
  credential: 'bearer',
  resend: 'read',
  reply: ModelList,
};
