import * as z from 'zod/mini';
import { type Endpoint, type Resend, replyThat } from '../endpoint.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';
import { fieldsOf, isObject } from '../json-value.ts';

// "Asset library actions": ten actions share one path and one envelope; a query parameter names the action.

/** "`Version` is fixed at `2024-01-01`". */
export const ASSET_VERSION = '2024-01-01';

export const assetActions = [
  'CreateAssetGroup',
  'ListAssetGroups',
  'GetAssetGroup',
  'UpdateAssetGroup',
  'DeleteAssetGroup',
  'CreateAsset',
  'ListAssets',
  'GetAsset',
  'UpdateAsset',
  'DeleteAsset',
] as const;
export type AssetAction = (typeof assetActions)[number];

/** The error in an envelope. The document only shows it with a status other than 200. */
const refusal = (reply: unknown): GatewayErrorFacts | undefined =>
  isObject(fieldsOf(fieldsOf(reply).ResponseMetadata).Error) ? readGatewayError(reply) : undefined;

/** Accepts an envelope whose `Result` has this shape, or that holds an error. */
export const envelopeOf = (result: z.ZodMiniType) =>
  replyThat((reply) => refusal(reply) ?? z.looseObject({ Result: result }).safeParse(reply).success);

/** Makes the endpoint row of an action. */
export const actionEndpoint = (
  action: AssetAction,
  resend: Resend,
  body: z.ZodMiniType,
  result: z.ZodMiniType,
): Endpoint => ({
  name: `assets.${action}`,
  method: 'POST',
  path: `/?Action=${action}&Version=${ASSET_VERSION}`,
  resend,
  body,
  reply: envelopeOf(result),
  refusal,
});

/** Reads the `Result` of a reply. Throws a ZodError if the reply does not have this shape. */
export const resultOf = <T>(schema: z.ZodMiniType<T>, reply: unknown): T =>
  schema.parse((reply as { Result?: unknown } | null)?.Result);

/** `Result` of an action that returns nothing: an empty object, null or absent. */
export const EmptyResult = z.nullish(z.looseObject({}));

/** The kind of exit for an error of the asset library, from the document's table of codes ("Errors"). */
type AssetErrorKind = 'rejected' | 'not_found' | 'unavailable';

/** "asset or group does not exist". */
export const NOT_FOUND_CODE = 'ResourceNotFound';

const kinds: readonly (readonly [RegExp, AssetErrorKind])[] = [
  [/^(Missing|Invalid)Parameter(\.|$)/, 'rejected'],
  [/^Invalid(Action|Request)$/, 'rejected'],
  [new RegExp(`^${NOT_FOUND_CODE}$`), 'not_found'],
  [/^InternalError$/, 'unavailable'],
];

/** The kind of a documented code; undefined for any other code, for which the HTTP status decides. */
export const assetErrorKind = (code: string | undefined): AssetErrorKind | undefined =>
  kinds.find(([form]) => code !== undefined && form.test(code))?.[1];
