import type { Context } from '../context.ts';
import { GwError, usage } from '../errors.ts';

/** Throws `usage` off a terminal without --yes, before anything is sent. */
export function refuseUnasked(
  what: string,
  yes: boolean | undefined,
  { globals, io }: Pick<Context, 'globals' | 'io'>,
): void {
  if (yes || globals.dryRun || globals.curl || (io.stdinIsTerminal && io.stderrIsTerminal)) return;
  throw usage(
    `deleting ${what} cannot be undone, and gw cannot ask here`,
    'give --yes to delete, or --dry-run to see it',
  );
}

/** Asks before something irreversible; throws `usage` where the answer is no. */
export async function askFirst(question: string, { host }: Pick<Context, 'host'>): Promise<void> {
  const { confirm } = await import('../io/ask.ts');
  if (!(await confirm(host, question))) throw new GwError('usage', 'nothing was deleted');
}
