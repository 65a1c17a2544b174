import { GwError } from '../errors.ts';
import { assetErrorKind } from '../gateway/asset/envelope.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { Client, Reply, RequestInput, SendOptions } from '../http/client.ts';
import { UnknownOutcome } from '../http/retry.ts';

/**
 * Sends a request of the asset library. Throws as `Client.send`, with the library's own words: the action, its code and
 * its request ID in the sentence, and the kind that the document's table gives the code ("Errors").
 */
export async function askLibrary<T>(
  client: Client,
  endpoint: Endpoint<T>,
  input: RequestInput,
  options: SendOptions,
): Promise<Reply<T>> {
  try {
    return await client.send(endpoint, input, options);
  } catch (error) {
    throw inLibraryWords(error, endpoint);
  }
}

function inLibraryWords(error: unknown, endpoint: Endpoint): unknown {
  if (!(error instanceof GwError) || error instanceof UnknownOutcome) return error;
  const { code, requestId } = error.facts;
  if (code === undefined) return error;
  const known = [code, requestId && `request ${requestId}`].filter(Boolean).join(', ');
  // A refusal's sentence names the path, which all actions share.
  const action = endpoint.name.slice(endpoint.name.indexOf('.') + 1);
  return new GwError(
    assetErrorKind(code) ?? error.kind,
    `${action}: ${error.message} [${known}]`,
    error.facts,
  );
}
