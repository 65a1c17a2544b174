import * as z from 'zod/mini';
import { type Endpoint, type Resend, replyThat } from '../endpoint.ts';
import { type GatewayErrorFacts, readGatewayError } from '../gateway-error.ts';
import { fieldsOf, isObject } from '../json-value.ts';

// "Asset library actions": ten actions of one path, each told by its query, each reply in one envelope.

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

/** The envelope with an error in it, which the document only shows with another status than 200. */
const refusal = (reply: unknown): GatewayErrorFacts | undefined =>
  isObject(fieldsOf(fieldsOf(reply).ResponseMetadata).Error) ? readGatewayError(reply) : undefined;

/** An envelope whose `Result` has this shape, or that refuses. */
export const envelopeOf = (result: z.ZodMiniType) =>
  replyThat((reply) => refusal(reply) ?? z.looseObject({ Result: result }).safeParse(reply).success);

/** The row of an action. */
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

/** What stands in `Result`. Throws a ZodError where the reply has none of this shape. */
export const resultOf = <T>(schema: z.ZodMiniType<T>, reply: unknown): T =>
  schema.parse((reply as { Result?: unknown } | null)?.Result);

/** As `Result` of what returns nothing: an empty object, or nothing at all. */
export const EmptyResult = z.nullish(z.looseObject({}));

/** What an error of the library means: an exit kind, as the document's table of codes has it ("Errors"). */
export type AssetErrorKind = 'rejected' | 'not_found' | 'unavailable';

/** "asset or group does not exist". */
export const NOT_FOUND_CODE = 'ResourceNotFound';

const kinds: readonly (readonly [RegExp, AssetErrorKind])[] = [
  [/^(Missing|Invalid)Parameter(\.|$)/, 'rejected'],
  [/^Invalid(Action|Request)$/, 'rejected'],
  [new RegExp(`^${NOT_FOUND_CODE}$`), 'not_found'],
  [/^InternalError$/, 'unavailable'],
];

/** The kind of a documented code; undefined for any other, whose status says it. */
export const assetErrorKind = (code: string | undefined): AssetErrorKind | undefined =>
  kinds.find(([form]) => code !== undefined && form.test(code))?.[1];
