import { alphaRoutes } from './alpha/routes.ts';
import { chatRoutes } from './chat/routes.ts';
import { modelsRoute } from './models-route.ts';
import type { Route } from './route.ts';

/** Everything the embedded gateway answers, a list for each family. */
export const routes: readonly Route[] = [modelsRoute, ...chatRoutes, ...alphaRoutes];
