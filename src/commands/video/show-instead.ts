import type { Context } from '../../context.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { RequestInput } from '../../http/client.ts';

/**
 * With --dry-run or --curl: the request as text, for stdout, and nothing is sent. Otherwise undefined.
 */
export async function showInstead(
  endpoint: Endpoint,
  input: RequestInput,
  ctx: Context,
): Promise<string | undefined> {
  const { dryRun, curl } = ctx.globals;
  if (!dryRun && !curl) return undefined;
  const { client } = await ctx.gateway();
  const { curlCommand, showRequest } = await import('../../http/show-request.ts');
  const prepared = client.prepare(endpoint, input);
  return curl ? curlCommand(prepared) : showRequest(prepared);
}
