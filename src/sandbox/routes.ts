import { alphaModels } from '../gateway/alpha/models.ts';
import { gammaModels } from '../gateway/gamma/models.ts';
import { billingQuery, modelsList } from '../gateway/models.ts';
import { alphaRoutes } from './alpha/routes.ts';
import { assetRoutes } from './asset/routes.ts';
import { betaRoutes } from './beta/routes.ts';
import { chatModels } from './chat/input.ts';
import { chatRoutes } from './chat/routes.ts';
import { gammaRoutes } from './gamma/routes.ts';
import { sandboxImageModels } from './image/order.ts';
import { imageRoutes } from './image/routes.ts';
import { jsonReply } from './reply.ts';
import type { Route, World } from './route.ts';

/** `GET /v1/models` ("Model list entry"): the models that the sandbox serves. */
const modelsRoute: Route = {
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

/** `GET /v1/dashboard/billing/subscription`: the public dashboard shape, as the document shows none. */
const billingRoute: Route = {
  endpoint: billingQuery,
  answer: (_, world: World) => {
    const limit = limitUsd[world.account];
    return jsonReply(200, {
      object: 'billing_subscription',
      has_payment_method: true,
      canceled: false,
      canceled_at: null,
      delinquent: null,
      access_until: Math.floor(world.now() / 1000) + YEAR_S,
      soft_limit_usd: limit * SOFT_SHARE,
      hard_limit_usd: limit,
      system_hard_limit_usd: limit,
      plan: {
        title: world.account === 'enterprise' ? 'Enterprise' : 'Personal',
        id: `sandbox-${world.account}`,
      },
      account_name: 'Sandbox',
    });
  },
};

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

/** Unix seconds that every model of the sandbox was "created" at. */
const CREATED_S = 1_767_225_600;

const entry = (id: string, ownedBy: string, endpointTypes: readonly string[]) => ({
  id,
  object: 'model',
  created: CREATED_S,
  owned_by: ownedBy,
  supported_endpoint_types: endpointTypes,
});

/** Made-up money: the document states no amounts. */
const limitUsd = { enterprise: 10_000, personal: 120 } as const;
const SOFT_SHARE = 0.8;
const YEAR_S = 365 * 86_400;
