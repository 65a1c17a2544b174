import { type AskedBody, ShownRequest } from '../command.ts';
import type { Context } from '../context.ts';
import { usage } from '../errors.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { RequestInput } from '../http/client.ts';
import { RawJson } from '../io/escape.ts';
import { compactJson } from '../json-text.ts';

// Every request passes through here before it is sent and before a job is recorded for it.

/**
 * With --dry-run or --curl, returns the request to print in place of a result, and nothing is sent. Otherwise undefined.
 * Throws as {@link refuseKeyIn}.
 */
export async function showInstead(
  endpoint: Endpoint,
  input: RequestInput,
  ctx: Context,
  asked?: AskedBody,
): Promise<ShownRequest | undefined> {
  const { dryRun, curl, sandbox } = ctx.globals;
  await refuseKeyIn(input, ctx);
  if (!dryRun && !curl) return undefined;
  const { client } = await ctx.gateway();
  const { curlCommand, requestJson, showRequest } = await import('../http/show-request.ts');
  const prepared = client.prepare(endpoint, input);
  if (curl && sandbox)
    ctx.io.note('the embedded gateway ends with this run; gw sandbox serve starts one that stays');
  const text = () => (curl ? curlCommand : showRequest)(prepared);
  const body = () => new RawJson(compactJson(new TextDecoder().decode(prepared.body)));
  const json = () =>
    curl ? { curl: text() } : { ...requestJson(prepared), ...(prepared.body && { body: body() }) };
  return new ShownRequest(text, json, asked);
}

/**
 * An API key belongs in a header: in a body, the gateway, its logs and all who see the output could read it (the
 * contract, section 2). Throws `usage` naming the field if a body contains a known API key of 16 characters or more.
 */
export async function refuseKeyIn(
  { body, bodyText, multipart }: Pick<RequestInput, 'body' | 'bodyText' | 'multipart'>,
  { io, gateway }: Pick<Context, 'io' | 'gateway'>,
): Promise<void> {
  if (body === undefined && bodyText === undefined && multipart === undefined) return;
  // The current API keys are known only once the gateway has been resolved.
  await gateway();
  const fields = multipart?.fields.map((field) => ('file' in field ? {} : { [field.name]: field.value }));
  // A body that is sent as text may be nested too deeply to walk as a value.
  const written = bodyText?.replace(/\\u00[2-7][\da-f]/gi, (escaped) => JSON.parse(`"${escaped}"`));
  const where = placeOf(written ?? fields ?? body, (text) => io.holdsSecret(text));
  if (where === undefined) return;
  throw usage(
    `${where.slice(fields ? 1 : 0, 8).join('.') || 'the request body'}: holds an API key that is in force, and no body may`,
    'take it out, and look at the file or the command that the text came from; where others have seen it, have the key replaced',
  );
}

/** The path of the first string in a body for which `isIt` is true; undefined if there is none. */
function placeOf(value: unknown, isIt: (text: string) => boolean): string[] | undefined {
  if (typeof value === 'string') return isIt(value) ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    if (isIt(name)) return [];
    const below = placeOf(inner, isIt);
    if (below) return [name, ...below];
  }
  return undefined;
}
