import type { IncomingHttpHeaders } from 'node:http';
import type { Credential } from '../gateway/endpoint.ts';
import { Refusal } from './reply.ts';

const header = (headers: IncomingHttpHeaders, name: string) => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
};

const bearer = (headers: IncomingHttpHeaders) =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]?.trim();

/** How each credential is sent ("Authentication"), in words and in headers. */
const credentials: Readonly<
  Record<
    Credential,
    { readonly form: string; readonly read: (headers: IncomingHttpHeaders) => string | undefined }
  >
> = {
  bearer: { form: 'Authorization: Bearer <API_KEY>', read: bearer },
  messages: {
    form: 'x-api-key: <API_KEY>',
    read: (headers) => header(headers, 'x-api-key') ?? bearer(headers),
  },
  geo: { form: 'x-geo-api-key: <API_KEY>', read: (headers) => header(headers, 'x-geo-api-key') },
};

/** A key with this end is known but may not do anything, so that the 403 can be seen. */
export const RESTRICTED_KEY_END = '-restricted';

/** Lets a request in or throws the Refusal: 401 without the key or with another, 403 for a restricted one. */
export function checkCredential(credential: Credential, headers: IncomingHttpHeaders, key: string): void {
  const { form, read } = credentials[credential];
  const given = read(headers);
  if (given === undefined)
    throw new Refusal(401, `No API key was sent: send the header ${form}.`, 'MissingApiKey');
  if (given.endsWith(RESTRICTED_KEY_END)) {
    throw new Refusal(403, 'The API key has no permission for this model or endpoint.', 'AccessDenied');
  }
  if (given !== key) throw new Refusal(401, 'The API key is not valid.', 'InvalidApiKey');
}
