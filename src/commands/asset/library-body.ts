import type * as z from 'zod';
import type { Context } from '../../context.ts';
import { breachesOf, refuseOrWarn } from '../../flags/breaches.ts';
import { applySets, type JsonObject, readJsonBody } from '../../flags/json-body.ts';
import { IdBody } from '../../gateway/asset/actions.ts';

export interface LibraryBody {
  readonly schema: z.ZodType;
  /** What was typed, laid over the body of --body; what is undefined was not. */
  over(base: JsonObject): JsonObject;
  /** What is sent where neither flag, --body nor --set says it. */
  fill?(body: JsonObject): JsonObject;
  /** The flag of a field, by the last name of its path that has one. */
  readonly flagOf: Readonly<Record<string, string>>;
}

/**
 * The body of a library request: --body, flags over it, --set over both, and what is implied; checked once. Throws `usage`
 * for a breach of a documented rule, unless --no-validate turns it into a warning.
 */
export async function libraryBody(
  { schema, over, fill = (body) => body, flagOf }: LibraryBody,
  { globals, host, io, signal }: Context,
): Promise<JsonObject> {
  const base =
    globals.body === undefined
      ? {}
      : await readJsonBody(globals.body, { cwd: host.cwd, stdin: host.stdin, signal });
  const body = fill(applySets(over(base), globals.set ?? []));
  const nameOf = (path: readonly PropertyKey[]) =>
    path
      .map((name) => flagOf[String(name)])
      .filter(Boolean)
      .at(-1);
  refuseOrWarn(breachesOf(schema, body, nameOf), globals.validate === undefined, io);
  return body;
}

/** The body of an action that takes an ID, from --body (read once), --project and --set, for each of several IDs. */
export async function idBodies(
  project: string | undefined,
  ctx: Pick<Context, 'globals' | 'host' | 'io' | 'signal'>,
): Promise<(id: string) => JsonObject> {
  const { globals, host, io, signal } = ctx;
  const base =
    globals.body === undefined
      ? {}
      : await readJsonBody(globals.body, { cwd: host.cwd, stdin: host.stdin, signal });
  return (Id) => {
    const body = applySets({ ...base, ...given({ Id, ProjectName: project }) }, globals.set ?? []);
    const flagOf = ([name]: readonly PropertyKey[]) => (name === 'ProjectName' ? '--project' : undefined);
    refuseOrWarn(breachesOf(IdBody, body, flagOf), globals.validate === undefined, io);
    return body;
  };
}

/** The entries that are not undefined. */
export const given = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
