import { ShownRequest } from '../command.ts';
import type { Context } from '../context.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { RequestInput } from '../http/client.ts';

/**
 * With --dry-run or --curl: the request, to be printed in place of a result, and nothing is sent. Otherwise undefined.
 */
export async function showInstead(
  endpoint: Endpoint,
  input: RequestInput,
  ctx: Context,
): Promise<ShownRequest | undefined> {
  const { dryRun, curl, sandbox } = ctx.globals;
  if (!dryRun && !curl) return undefined;
  const { client } = await ctx.gateway();
  const { curlCommand, requestJson, showRequest } = await import('../http/show-request.ts');
  const prepared = client.prepare(endpoint, input);
  if (!curl) return new ShownRequest(showRequest(prepared), requestJson(prepared));
  if (sandbox) ctx.io.note('the embedded gateway ends with this run; gw sandbox serve starts one that stays');
  const text = curlCommand(prepared);
  return new ShownRequest(text, { curl: text });
}
