import { ASSET_VERSION } from '../../gateway/asset/envelope.ts';
import { jsonReply, Refusal, type SandboxReply } from '../reply.ts';
import { type BodySchemas, readAgainst } from '../request-body.ts';
import type { World } from '../world.ts';
import { libraryRequestId } from './library.ts';

const SERVICE = 'assets';
const REGION = 'sandbox';

const metadata = (action: string, version: string) => ({
  RequestId: libraryRequestId(),
  Action: action,
  Version: version,
  Service: SERVICE,
  Region: REGION,
});

/** A success in the envelope of the library ("Envelope of every action response"). */
export const libraryReply = (action: string, result: object): SandboxReply =>
  jsonReply(200, { ResponseMetadata: metadata(action, ASSET_VERSION), Result: result });

/** A refusal in the envelope: `Result` is left out. */
export const libraryRefusal = (refusal: Refusal, action: string, version: string): SandboxReply =>
  jsonReply(
    refusal.status,
    {
      ResponseMetadata: {
        ...metadata(action, version),
        Error: { Code: codeOf(refusal), Message: refusal.message },
      },
    },
    refusal.headers,
  );

/** The library has one word for a body that is not JSON; refusals of its own come with their codes. */
const codeOf = ({ code, status }: Refusal): string => {
  if (code === 'InvalidContentType' || code === 'RequestTooLarge') return 'InvalidRequest';
  return code ?? (status >= 500 ? 'InternalError' : 'InvalidRequest');
};

/**
 * As `checkBody`; throws the Refusal (400) whose code names the first field: `MissingParameter.X`
 * or `InvalidParameter.X` ("Errors").
 */
export function checkLibraryBody(
  schemas: BodySchemas,
  body: unknown,
  world: Pick<World, 'strict'>,
): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal(400, 'The request body must be a JSON object.', 'InvalidRequest');
  }
  const checked = readAgainst(schemas, body, world);
  if ('unlisted' in checked) return checked.unlisted;
  const { issue } = checked;
  const path = [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])];
  // Items of a list are not told apart in a code.
  const field = path.filter((part) => typeof part !== 'number').join('.');
  // The half of a pair that was left out is missing too.
  const isMissing = issue.code !== 'unrecognized_keys' && valueAt(body, issue.path) === undefined;
  const rule = issue.code === 'unrecognized_keys' ? 'not a parameter of this action' : issue.message;
  throw isMissing
    ? new Refusal(400, `The parameter ${field} is required.`, `MissingParameter.${field}`)
    : new Refusal(400, `The parameter ${field} is not valid: ${rule}.`, `InvalidParameter.${field}`);
}

const valueAt = (body: object, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], body);
