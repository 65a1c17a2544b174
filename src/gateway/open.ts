import * as z from 'zod/mini';
import { issuesOf, type ObjectMaker, valueAt } from './body.ts';

// Fields and kinds of objects whose shape the document does not show.

/** Checks a value with another schema. Unless the document `states` it, issues only warn and drop the value. */
const saidBy = (schemaOf: (value: unknown) => z.ZodMiniType | undefined, states: boolean) =>
  z.superRefine((value, ctx) => {
    const tell = (path: PropertyKey[], message: string, params: object) =>
      ctx.addIssue({ code: 'custom', path, message, params: { ...params } });
    const schema = schemaOf(value);
    if (!schema) return;
    const { broken, unstated, unshown, read } = issuesOf(schema, value);
    ctx.value = broken.length > 0 && !states ? undefined : read;
    for (const issue of [...unstated, ...unshown, ...(states ? broken : [])])
      tell(issue.path, issue.message, 'params' in issue ? Object(issue.params) : {});
    for (const { path, message } of states ? [] : broken)
      tell(path, `${message} in the public API of this shape`, { isUnshown: true });
  });

/**
 * A field whose type or shape the document does not show. A value that does not fit `known` (the public API) is sent
 * with a warning and left out of the parsed body, unseen by rules and sandbox. A strict body takes only `known`.
 */
export const open = <S extends z.ZodMiniType>(
  object: ObjectMaker,
  known: S,
  any: z.ZodMiniType = z.unknown(),
): S => (object === z.strictObject ? known : (any.check(saidBy(() => known, false)) as unknown as S));

/** A list; items that could not be read are left out. */
export const listOf = <S extends z.ZodMiniType>(item: S) =>
  z.array(item).check(z.overwrite((items) => items.filter((each) => each !== undefined)));

/**
 * An object whose `key` names its kind, if the document shows some kinds and forbids no other. A strict body takes only
 * these and the `known` kinds of the public API. A loose body checks the shown kinds and sends any other with a
 * warning; so too an object without a kind, if it `mayLack` one.
 */
export function anyKind<S extends z.ZodMiniObject, K extends z.ZodMiniObject = never>(
  object: ObjectMaker,
  key: string,
  shown: Readonly<Record<string, S>>,
  known: Readonly<Record<string, K>> = {},
  mayLack = false,
): z.ZodMiniType<z.infer<S | K>> {
  const others = Object.entries(known).map(([kind, schema]) => [kind, open(object, schema)]);
  const kinds: Readonly<Record<string, z.ZodMiniType>> = { ...shown, ...Object.fromEntries(others) };
  if (object === z.strictObject) return z.discriminatedUnion(key, Object.values(kinds) as never) as never;
  const schemaOf = (value: unknown) => {
    const kind = valueAt(value, [key]);
    return typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  };
  const ofOthers = z.superRefine<Record<string, unknown>>((value, ctx) => {
    if (schemaOf(value)) return;
    const kind = String(value[key]);
    const message = kind === 'undefined' ? 'is not given' : `${kind} is none that the document shows`;
    ctx.addIssue({ code: 'custom', path: [key], message, params: { isUnshown: true, kind } });
  });
  const any = z.looseObject({ [key]: mayLack ? z.optional(z.string()) : z.string() });
  return any.check(ofOthers, saidBy(schemaOf, true)) as never;
}
