import { alphaRoutes } from './alpha/routes.ts';
import { assetRoutes } from './asset/routes.ts';
import { betaRoutes } from './beta/routes.ts';
import { billingRoute } from './billing-route.ts';
import { chatRoutes } from './chat/routes.ts';
import { gammaRoutes } from './gamma/routes.ts';
import { imageRoutes } from './image/routes.ts';
import { modelsRoute } from './models-route.ts';
import type { Route } from './route.ts';

/** Everything the embedded gateway answers, a list for each family. */
export const routes: readonly Route[] = [
  modelsRoute,
  billingRoute,
  ...chatRoutes,
  ...imageRoutes,
  ...alphaRoutes,
  ...betaRoutes,
  ...gammaRoutes,
  ...assetRoutes,
];
