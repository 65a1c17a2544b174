import * as z from 'zod/mini';
import type { Endpoint } from './endpoint.ts';

/** One entry of the list; only the ID is needed, the rest is read where it has the documented form. */
const ModelEntry = z.looseObject({
  id: z.string(),
  created: z.catch(z.optional(z.number()), undefined),
  owned_by: z.catch(z.optional(z.string()), undefined),
  supported_endpoint_types: z.catch(z.optional(z.array(z.string())), undefined),
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
  resend: 'read',
  reply: ModelList,
};

// Balance and usage. The document names the path and shows no payload ("Summary"); what is known here is the public
// dashboard shape that the path is named after.

/** How a known field is read by people. */
export type BillingForm = 'text' | 'yes-no' | 'usd' | 'unix-seconds';

export interface BillingField {
  /** Dots between the fields on the way. */
  readonly path: string;
  readonly label: string;
  readonly form: BillingForm;
}

/** The known fields, in the order they are told; whatever else a reply holds is told as it came. */
export const billingFields: readonly BillingField[] = [
  { path: 'account_name', label: 'account', form: 'text' },
  { path: 'plan.title', label: 'plan', form: 'text' },
  { path: 'plan.id', label: 'plan ID', form: 'text' },
  { path: 'hard_limit_usd', label: 'hard limit', form: 'usd' },
  { path: 'soft_limit_usd', label: 'soft limit', form: 'usd' },
  { path: 'system_hard_limit_usd', label: "system's hard limit", form: 'usd' },
  { path: 'has_payment_method', label: 'payment method', form: 'yes-no' },
  { path: 'access_until', label: 'access until', form: 'unix-seconds' },
  { path: 'canceled', label: 'canceled', form: 'yes-no' },
  { path: 'canceled_at', label: 'canceled at', form: 'unix-seconds' },
  { path: 'delinquent', label: 'delinquent', form: 'yes-no' },
];

const Billing = z.looseObject({});
export type Billing = z.infer<typeof Billing>;

/** `GET /v1/dashboard/billing/subscription` ("Management"): any JSON object will do. */
export const billingQuery: Endpoint<Billing> = {
  name: 'billing',
  method: 'GET',
  path: '/v1/dashboard/billing/subscription',
  resend: 'read',
  reply: Billing,
};
