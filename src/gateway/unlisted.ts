import * as z from 'zod/mini';
import { strictOf } from './body.ts';

/**
 * Yields the fields that only the strict schema refuses, without list indexes (`tools.function.strict`), and the values
 * of a kind that the document does not show (`tools.type web_search`).
 */
export function* unlistedIn(
  issues: readonly z.core.$ZodIssue[],
  above: readonly PropertyKey[] = [],
): Generator<string> {
  const named = (path: readonly PropertyKey[]) => path.filter((part) => typeof part !== 'number').join('.');
  for (const issue of issues) {
    const path = [...above, ...issue.path];
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) yield named([...path, key]);
    if (issue.code === 'custom' && issue.params?.isUnshown)
      yield `${named(path)} ${String(issue.params.kind ?? '').slice(0, 40)}`.trim();
    if (issue.code === 'invalid_union') for (const each of issue.errors) yield* unlistedIn(each, path);
  }
}

/**
 * The fields of a body that the document does not list, and, if there are any, all fields that it lists, as names such
 * as `settings.duration`. Both are empty for a body that the document does not show.
 */
export function unlistedFields(
  schema: z.ZodMiniType,
  body: unknown,
): { readonly unlisted: readonly string[]; readonly listed: readonly string[] } {
  const strict = strictOf(schema);
  const unlisted = new Set(unlistedIn(strict.safeParse(body).error?.issues ?? []));
  return { unlisted: [...unlisted], listed: unlisted.size === 0 ? [] : namesIn(strict) };
}

/** The names of all fields that a schema declares, including those within lists and alternatives. */
function namesIn(schema: z.ZodMiniType, above = ''): string[] {
  if (schema instanceof z.ZodMiniLazy) return namesIn(schema.def.getter() as z.ZodMiniType, above);
  if (schema instanceof z.ZodMiniObject)
    return Object.entries(schema.shape as Record<string, z.ZodMiniType>).flatMap(([name, inner]) => [
      above + name,
      ...namesIn(inner, `${above}${name}.`),
    ]);
  if (schema instanceof z.ZodMiniOptional || schema instanceof z.ZodMiniNullable)
    return namesIn(schema.def.innerType as z.ZodMiniType, above);
  if (schema instanceof z.ZodMiniArray) return namesIn(schema.def.element as z.ZodMiniType, above);
  if (schema instanceof z.ZodMiniUnion)
    return schema.def.options.flatMap((option) => namesIn(option as z.ZodMiniType, above));
  return [];
}
