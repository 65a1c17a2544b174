import * as z from 'zod';
import type { Endpoint } from './endpoint.ts';

const ModelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });
export type ModelList = z.infer<typeof ModelList>;

/** `GET /v1/models` ("Model list entry"): what the key may call; also the cheapest question that a key can answer. */
export const modelsList: Endpoint<ModelList> = {
  name: 'models.list',
  method: 'GET',
  path: '/v1/models',
  credential: 'bearer',
  resend: 'read',
  reply: ModelList,
};
