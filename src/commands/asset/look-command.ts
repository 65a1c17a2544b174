import { type Context, commandFor } from '../../context.ts';
import { shellQuote } from '../../http/show-request.ts';

/** A list command that finds what a request named: its filters, as they can be typed into a shell. */
export function lookCommand(
  words: string,
  filters: Readonly<Record<string, unknown>>,
  ctx: Pick<Context, 'globals'>,
): string {
  const typed = Object.entries(filters).flatMap(([flag, value]) =>
    typeof value === 'string' ? [flag, shellQuote(value)] : [],
  );
  return commandFor([words, ...typed].join(' '), ctx);
}
