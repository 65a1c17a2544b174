import { randomBytes } from 'node:crypto';
import { errorObject, jsonReply, type Refusal, type SandboxReply } from '../reply.ts';

const requestId = () => randomBytes(16).toString('hex');

/** A success in family B's envelope: `code` 0. */
export const betaReply = (data: unknown): SandboxReply =>
  jsonReply(200, { code: 0, message: 'SUCCEED', request_id: requestId(), data });

/** Codes other than 0 are not documented; these are plausible ones. */
const codes: Readonly<Record<string, number>> = {
  InvalidParameter: 1201,
  InvalidRequest: 1200,
  DuplicateExternalTaskId: 1204,
};
const OTHER_CODE = 1200;

/**
 * A refusal in family B's envelope, with the error object of every error body ("Errors").
 * @param codeOnly answers with status 200, so that only `code` says it
 */
export function betaRefusalReply(refusal: Refusal, codeOnly: boolean): SandboxReply {
  const code = codes[refusal.code ?? ''] ?? OTHER_CODE;
  const body = { code, message: refusal.message, request_id: requestId() };
  if (codeOnly) return jsonReply(200, body, refusal.headers);
  const { status, message, code: word } = refusal;
  const error = errorObject(status, { message, ...(word !== undefined && { code: word }) });
  return jsonReply(status, { ...body, error }, refusal.headers);
}
