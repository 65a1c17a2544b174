import { isGeoModel } from './chat/models.ts';
import { type Endpoint, readBy, replyThat } from './endpoint.ts';
import { fieldsOf, isObject, numberOf } from './json-value.ts';

/** One entry, and its place `at` in the list; beside the ID only what has the documented form is read. */
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

/** What a model makes. */
const modelKinds = ['chat', 'image', 'video'] as const;
export type ModelKind = (typeof modelKinds)[number];

/**
 * What a listed model makes: by its table, else by its name ("Naming convention"); another one that has a documented endpoint
 * type chats. Undefined where nothing tells.
 */
export function kindOf({ id, supported_endpoint_types: types = [] }: ModelEntry): ModelKind | undefined {
  if (isGeoModel(id)) return 'chat';
  if (/^(alpha|beta|gamma)-/.test(id)) return 'video';
  if (/^(img|delta-image|legacy-image)-|(^|-)image(-|$)/.test(id)) return 'image';
  return types.length > 0 ? 'chat' : undefined;
}

/** What a model makes, and values of `supported_endpoint_types` that the document has seen; others may come. */
export const modelTypes = [...modelKinds, 'openai', 'anthropic'] as const;

/** `GET /v1/models` ("Model list entry"): what the key may call; also the cheapest question that a key can answer. */
export const modelsList: Endpoint<ModelList> = {
  name: 'models.list',
  method: 'GET',
  path: '/v1/models',
  resend: 'read',
  reply: readBy(readList),
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

/** `GET /v1/dashboard/billing/subscription` ("Management"): any JSON object but an error is one. */
export const billingQuery: Endpoint = {
  name: 'billing',
  method: 'GET',
  path: '/v1/dashboard/billing/subscription',
  resend: 'read',
  reply: replyThat((reply) => isObject(reply) && !isObject(reply.error)),
};
