import type * as z from 'zod/mini';
import { unlistedFields } from '../gateway/unlisted.ts';
import type { CheckedRun } from './breaches.ts';
import { nearest } from './nearest.ts';

/**
 * Warns once of all fields that only --set, --body or --messages can have said and the document does not list, each with the
 * nearest that it lists: a misspelt one buys something else. With --no-validate nothing is said.
 */
export function warnOfUnlisted(schema: z.ZodMiniType, body: unknown, ctx: CheckedRun): void {
  if (ctx.globals.validate !== undefined) return;
  const { unlisted, listed } = unlistedFields(schema, body);
  if (unlisted.length === 0) return;
  const named = unlisted.slice(0, MOST_UNLISTED).map((field) => {
    const near = nearestField(field, listed);
    return near === undefined ? field : `${field} (did you mean ${near}?)`;
  });
  const more = unlisted.length > MOST_UNLISTED ? `, and ${unlisted.length - MOST_UNLISTED} more` : '';
  ctx.io.warn(
    `sent as given, though the document does not list ${unlisted.length === 1 ? 'it' : 'them'}: ${named.join(', ')}${more}`,
  );
}

const MOST_UNLISTED = 20;

/** The listed field that was meant: of the same name elsewhere, else a like one beside it, else a like one anywhere. */
function nearestField(field: string, listed: readonly string[]): string | undefined {
  const [name, above] = nameAndPlace(field);
  const places = listed.map((each) => [each, ...nameAndPlace(each)] as const);
  const named = (of: typeof places, word?: string) => of.find(([, other]) => other === word)?.[0];
  const names = (of: typeof places) => of.map(([, other]) => other);
  const near = (of: typeof places) => named(of, nearest(name, names(of))[0]);
  // To a name of three letters everything is near.
  const mayBeNear = name.length > 3 ? places : [];
  return named(places, name) ?? near(mayBeNear.filter(([, , place]) => place === above)) ?? near(mayBeNear);
}

/** `settings.duration` -> `duration`, `settings`. */
function nameAndPlace(field: string): readonly [name: string, above: string] {
  const at = field.lastIndexOf('.');
  return [field.slice(at + 1), field.slice(0, Math.max(0, at))];
}
