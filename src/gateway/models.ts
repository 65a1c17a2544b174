import { isGeoModel } from './chat/models.ts';
import { type Endpoint, readBy, replyThat } from './endpoint.ts';
import { fieldsOf, isObject, numberOf } from './json-value.ts';

/** One entry and its index `at` in the list; besides the ID, only fields of the documented form are read. */
export interface ModelEntry {
  readonly id: string;
  readonly at?: number;
  readonly created?: number | undefined;
  readonly owned_by?: string | undefined;
  readonly supported_endpoint_types?: readonly string[] | undefined;
}

function readEntry(entry: unknown, at: number): ModelEntry | undefined {
  const { id, created, owned_by: owner, supported_endpoint_types: types } = fieldsOf(entry);
  if (typeof id !== 'string') return undefined;
  const isTexts = Array.isArray(types) && types.every((type) => typeof type === 'string');
  return {
    id,
    at,
    created: numberOf(created),
    owned_by: typeof owner === 'string' ? owner : undefined,
    supported_endpoint_types: isTexts ? types : undefined,
  };
}

export type ModelList = { readonly data: readonly ModelEntry[] };

function readList(reply: unknown): ModelList | undefined {
  const { data } = fieldsOf(reply);
  if (!Array.isArray(data)) return undefined;
  const entries = data.map(readEntry).filter((entry) => entry !== undefined);
  return entries.length > 0 || data.length === 0 ? { data: entries } : undefined;
}

const modelKinds = ['chat', 'image', 'video'] as const;
export type ModelKind = (typeof modelKinds)[number];

/**
 * The kind of a listed model: by its name ("Naming convention"), or `chat` if it has any documented endpoint type.
 * Undefined if nothing tells its kind.
 */
export function kindOf({ id, supported_endpoint_types: types = [] }: ModelEntry): ModelKind | undefined {
  if (isGeoModel(id)) return 'chat';
  if (/^(alpha|beta|gamma)-/.test(id)) return 'video';
  if (/^(img|delta-image|legacy-image)-|(^|-)image(-|$)/.test(id)) return 'image';
  return types.length > 0 ? 'chat' : undefined;
}

/** The kinds of models, and the values of `supported_endpoint_types` that the document shows; others may come. */
export const modelTypes = [...modelKinds, 'openai', 'anthropic'] as const;

/** `GET /v1/models` ("Model list entry"): the models of the API key, and the cheapest check of the key itself. */
export const modelsList: Endpoint<ModelList> = {
  name: 'models.list',
  method: 'GET',
  path: '/v1/models',
  resend: 'read',
  reply: readBy(readList),
};

// Balance and usage. The document names the path and shows no payload ("Summary"); the known fields are those of the
// public dashboard API that has this path.

/** How a known field is shown to users. */
export type BillingForm = 'text' | 'yes-no' | 'usd' | 'unix-seconds';

interface BillingField {
  /** Path of the field, with dots between nested names. */
  readonly path: string;
  readonly label: string;
  readonly form: BillingForm;
}

/** The known fields in display order; other fields of a reply are shown as they came. */
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

/** `GET /v1/dashboard/billing/subscription` ("Management"): any JSON object that is not an error is accepted. */
export const billingQuery: Endpoint = {
  name: 'billing',
  method: 'GET',
  path: '/v1/dashboard/billing/subscription',
  resend: 'read',
  reply: replyThat((reply) => isObject(reply) && !isObject(reply.error)),
};
