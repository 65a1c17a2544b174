import { alphaCreate, alphaQuery } from './alpha.ts';
import type { Endpoint } from './endpoint.ts';
import { modelsList } from './models.ts';

/** Every endpoint of the gateway that gw calls ("Endpoints", "Summary"); the sandbox serves the same rows. */
export const endpoints = { alphaCreate, alphaQuery, modelsList } as const satisfies Record<string, Endpoint>;
