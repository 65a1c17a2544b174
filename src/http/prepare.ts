import { GwError, usage } from '../errors.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { Gateway, PreparedRequest, RequestInput } from './client.ts';
import { credentialFor } from './credential.ts';
import { formBytes } from './multipart-body.ts';

/**
 * Builds a request. Throws `usage` for an unusable base URL or path parameter and for a body over the endpoint's limit,
 * and `auth` for a key that cannot be sent. A missing key becomes `***`, and the client refuses to send it.
 */
export function prepareRequest(
  gateway: Gateway,
  endpoint: Endpoint,
  input: RequestInput,
  userAgent: string,
): PreparedRequest {
  const url = urlOf(gateway.baseUrl, endpoint, input);
  const { multipart } = input;
  const body =
    input.bodyText !== undefined
      ? encodeText(input.bodyText, endpoint)
      : input.body === undefined
        ? undefined
        : encodeBody(input.body, endpoint);
  if (multipart) checkLength(formBytes(multipart), endpoint);
  return {
    method: endpoint.method,
    url,
    headers: {
      ...credentialFor(endpoint.credential ?? 'bearer', gateway.key, gateway.providerVersion),
      accept: input.stream ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': userAgent,
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(multipart ? { 'content-type': `multipart/form-data; boundary=${multipart.boundary}` } : {}),
    },
    body,
    ...(multipart && { multipart }),
  };
}

function urlOf(baseUrl: string, endpoint: Endpoint, { params = {}, query = {} }: RequestInput): URL {
  // An address in force was checked where it was read; a job of a damaged ledger may have none.
  if (!URL.canParse(baseUrl))
    throw usage(
      `the base URL ${JSON.stringify(baseUrl)} is not a URL`,
      'give it as https://host, with --base-url or GW_BASE_URL',
    );
  const url = new URL(baseUrl);
  const { origin } = url;
  const [route = '', fixedQuery = ''] = endpoint.path.split('?');
  const path = route.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, params[name]));
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  if (fixedQuery) url.search = fixedQuery;
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value);
  if (url.origin !== origin) throw new GwError('internal', `the path of ${endpoint.name} leaves the gateway`);
  return url;
}

/** Encodes a path parameter as one segment, so that it cannot change the route. */
function segment(name: string, value: string | undefined): string {
  if (value === undefined) throw new GwError('internal', `the path parameter ${name} is missing`);
  // URL parsers treat encoded dots as dots, so `.` and `..` cannot be sent at all.
  if (value === '' || value === '.' || value === '..')
    throw usage(`${JSON.stringify(value)} is not a usable ${name}`, 'give the ID as the gateway printed it');
  try {
    return encodeURIComponent(value);
  } catch {
    throw usage(`the ${name} holds half a character`, 'give the ID as the gateway printed it');
  }
}

function encodeBody(body: unknown, endpoint: Endpoint): Uint8Array {
  let text: string | undefined;
  try {
    text = JSON.stringify(body);
  } catch (error) {
    if (error instanceof RangeError)
      throw usage('the request body is nested too deeply, or too large, to be written as JSON');
    throw error;
  }
  if (text === undefined)
    throw new GwError('internal', `the body of ${endpoint.name} cannot be written as JSON`);
  return encodeText(text, endpoint);
}

function encodeText(text: string, endpoint: Endpoint): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  checkLength(bytes.byteLength, endpoint);
  return bytes;
}

function checkLength(bodyBytes: number, { maxBodyBytes }: Endpoint): void {
  if (maxBodyBytes === undefined || bodyBytes <= maxBodyBytes) return;
  throw usage(
    `the request body has ${bodyBytes} bytes; this endpoint takes at most ${maxBodyBytes}`,
    'give large media by URL, or as an asset, instead of as a file',
  );
}
