import { billingQuery } from '../gateway/billing.ts';
import { jsonReply } from './reply.ts';
import type { Route } from './route.ts';
import type { World } from './world.ts';

/** Made-up money: the document states no amounts. */
const limitUsd = { enterprise: 10_000, personal: 120 } as const;
const SOFT_SHARE = 0.8;
const YEAR_S = 365 * 86_400;

/** `GET /v1/dashboard/billing/subscription`: the public dashboard shape, as the document shows none. */
export const billingRoute: Route = {
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
