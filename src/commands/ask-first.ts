import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';

/** True if the user can see a question on a terminal and answer it. */
export const canAsk = ({ host, io }: Pick<Context, 'host' | 'io'>): boolean =>
  host.stdin.isTTY === true && io.stderrIsTerminal;

/** Throws `usage` off a terminal without --yes, before anything is sent. `what` is a sentence without its full stop. */
export function refuseUnasked(
  what: string,
  yes: boolean | undefined,
  ctx: Pick<Context, 'globals' | 'host' | 'io'>,
  hint = 'give --yes to do it, or --dry-run to see it',
): void {
  if (yes || ctx.globals.dryRun || ctx.globals.curl || canAsk(ctx)) return;
  throw usage(`${what}, and gw cannot ask here`, hint);
}

/** Asks before an irreversible action; throws `usage` if the answer is no. */
export async function askFirst(
  question: string,
  { host }: Pick<Context, 'host'>,
  otherwise = 'nothing was deleted',
): Promise<void> {
  const { confirm } = await import('../io/ask.ts');
  if (!(await confirm(host, question))) throw new GwError('usage', otherwise);
}
