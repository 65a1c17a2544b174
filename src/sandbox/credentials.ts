import type { IncomingHttpHeaders } from 'node:http';
import type { Credential } from '../gateway/endpoint.ts';
import { Refusal } from './reply.ts';

const header = (headers: IncomingHttpHeaders, name: string) => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
};

const bearer = (headers: IncomingHttpHeaders) =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]?.trim();

interface CredentialForm {
  /** How it is sent, in words. */
  readonly form: string;
  readonly read: (headers: IncomingHttpHeaders) => string | undefined;
  /** Checks what must be sent beside the key; throws Refusal. */
  readonly checkRest?: (headers: IncomingHttpHeaders) => void;
}

/** How each credential is sent ("Authentication"), in words and in headers. */
const credentials: Readonly<Record<Credential, CredentialForm>> = {
  bearer: { form: 'Authorization: Bearer <API_KEY>', read: bearer },
  messages: {
    form: 'x-api-key: <API_KEY>',
    read: (headers) => header(headers, 'x-api-key') ?? bearer(headers),
    checkRest: checkProviderVersion,
  },
  geo: { form: 'x-geo-api-key: <API_KEY>', read: (headers) => header(headers, 'x-geo-api-key') },
};

/** `x-api-key` goes with `provider-version: <date string>`; `Authorization: Bearer` is accepted by itself. */
function checkProviderVersion(headers: IncomingHttpHeaders): void {
  if (header(headers, 'x-api-key') === undefined) return;
  const version = header(headers, 'provider-version');
  if (version === undefined) {
    const said = 'The header provider-version is missing: send a date such as 2023-06-01.';
    throw new Refusal(400, said, 'MissingParameter');
  }
  if (!/^\d{4}-\d\d-\d\d$/.test(version) || Number.isNaN(Date.parse(version))) {
    const said = 'The header provider-version is not a date string such as 2023-06-01.';
    throw new Refusal(400, said, 'InvalidParameter');
  }
}

/** A key with this end is known but may not do anything, so that the 403 can be seen. */
export const RESTRICTED_KEY_END = '-restricted';

/**
 * Lets a request in or throws the Refusal: 401 without the key or with another, 403 for a restricted one, 400 where
 * a header is missing that goes with the key.
 */
export function checkCredential(credential: Credential, headers: IncomingHttpHeaders, key: string): void {
  const { form, read, checkRest } = credentials[credential];
  const given = read(headers);
  if (given === undefined)
    throw new Refusal(401, `No API key was sent: send the header ${form}.`, 'MissingApiKey');
  if (given.endsWith(RESTRICTED_KEY_END)) {
    throw new Refusal(403, 'The API key has no permission for this model or endpoint.', 'AccessDenied');
  }
  if (given !== key) throw new Refusal(401, 'The API key is not valid.', 'InvalidApiKey');
  checkRest?.(headers);
}
