import * as z from 'zod/mini';
import { askLibrary } from '../../assets/ask-library.ts';
import type { Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { GwError, Interrupted, usage } from '../../errors.ts';
import { fromField } from '../../flags/body-flags.ts';
import { checkBody, setOver } from '../../flags/breaches.ts';
import { type Flag, flagName, list, whole } from '../../flags/flag.ts';
import { applySets, type JsonObject } from '../../flags/json-body.ts';
import { baseBody } from '../../flags/prompt.ts';
import { saidIn, type WithStored, withoutYielding } from '../../flags/yielding.ts';
import { getAsset } from '../../gateway/asset/actions.ts';
import { bareId, canonical, LibraryId, projectField } from '../../gateway/asset/fields.ts';
import { helpOf } from '../../gateway/body.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Reply, RequestInput } from '../../http/client.ts';
import { fieldLines, leavesOf } from '../../io/layout.ts';
import { asWritten } from '../../jobs/watch/exact-record.ts';
import { compactJson } from '../../json-text.ts';
import { showInstead } from '../show-instead.ts';

/** A command line that creates the asset which the examples of other commands name. */
export const assetExample =
  'gw asset create --sandbox --group "$(gw asset group create --sandbox --name foxes)" --url https://example.com/fox.png --name fox --wait';

/**
 * The IDs of a command line without scheme or duplicates, in order. Throws `usage` for an invalid ID. If `run` is given
 * and --no-validate is set, it does not throw: that is for IDs in a body, not in a path.
 */
export function libraryIds(args: readonly string[], run?: Pick<Context, 'globals'>): string[] {
  const ids = args.map((typed) => {
    const [id, told] = [bareId(typed), typed || '""'];
    const [issue] = LibraryId.safeParse(id).error?.issues ?? [];
    // An ID in a body is checked with the body, which prints the warning.
    if (issue && (run?.globals.validate === undefined || id === ''))
      throw usage(`${told}: ${issue.message}`, 'give the ID as gw asset list prints it, or asset://ID');
    return id;
  });
  return [...new Set(ids)];
}

/** The only ID of a command line. Throws `usage` if there are several. */
export function libraryId(args: readonly string[], run?: Pick<Context, 'globals'>): string {
  const [id = '', ...others] = libraryIds(args, run);
  if (others.length > 0) throw usage(`${others.join(', ')}: give one ID`, 'run it once for each');
  return id;
}

/** Yields one outcome per ID, in turn. A failed ID does not stop the others; an interrupt or a refused API key does. */
export async function* oneByOne<R>(
  ids: readonly string[],
  run: (id: string) => Promise<Outcome<R>>,
): AsyncGenerator<Outcome<R>> {
  for (const id of ids) {
    try {
      yield await run(id);
    } catch (thrown) {
      const lacksId = thrown instanceof GwError && thrown.facts.taskId === undefined;
      const error = lacksId ? thrown.told({ taskId: id }, `${id}: ${thrown.message}`) : thrown;
      // An API key that is refused for one ID is refused for all.
      const isOver = error instanceof GwError && error.kind === 'auth';
      if (error instanceof Interrupted || isOver || ids.length === 1) throw error;
      yield { error };
    }
  }
}

/** Maps each field of a library body to its flag. */
const flagOfField = {
  Name: 'name',
  Description: 'description',
  ProjectName: 'project',
  GroupId: 'group',
  URL: 'url',
  AssetType: 'type',
  GroupType: 'type',
  GroupIds: 'groupId',
  Statuses: 'status',
  SortBy: 'sortBy',
  SortOrder: 'order',
  MaxResults: 'limit',
  NextToken: 'token',
  PageNumber: 'page',
  PageSize: 'pageSize',
} as const satisfies Readonly<Record<string, string>>;

/** The typed values of these fields; duplicates in a list are removed. */
export const typedFields = (
  flags: Readonly<Record<string, unknown>>,
  ...fields: readonly (keyof typeof flagOfField)[]
): JsonObject =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const typed = flags[flagOfField[field]];
      return typed === undefined ? [] : [[field, Array.isArray(typed) ? [...new Set(typed)] : typed]];
    }),
  );

/** Merges flags over the body of --body. */
type Lay = (base: JsonObject, flags: WithStored) => JsonObject;

/** Returns a function that merges the typed values of these fields over a body. */
export const layOf =
  (...fields: Parameters<typeof typedFields>[1][]): Lay =>
  (base, flags) => ({ ...base, ...typedFields(flags, ...fields) });

/**
 * Makes the bodies of library requests: --body (read once), then flags, then --set, then implied fields. Each body is
 * checked: throws `usage` for a breach of a documented rule, or warns with --no-validate.
 */
export async function bodyMaker(
  { body: schema, name }: Endpoint,
  lay: Lay,
  given: WithStored,
  ctx: Context,
  fill = (body: JsonObject) => body,
) {
  if (!schema) throw new Error(`${name} has no body`);
  const base = await baseBody(ctx);
  const { set: sets = [] } = ctx.globals;
  const flagOf = (path: readonly PropertyKey[]): string | undefined => {
    const field = path.findLast((each) => Object.hasOwn(flagOfField, each));
    return field === undefined ? undefined : flagName(flagOfField[field as keyof typeof flagOfField]);
  };
  const asked = (flags: WithStored, under: JsonObject, over: readonly string[]) => {
    return { schema, fields: { flagAt: flagOf }, body: fill(applySets(lay(under, flags), over)) };
  };
  const flags = withoutYielding(given, asked, ctx.io.note, saidIn(base, sets), base, sets);
  const withSets = setOver(base, () => flagOf, ctx);
  return (over: JsonObject = {}): JsonObject => {
    const body = fill(withSets({ ...lay(base, flags), ...over }));
    checkBody(schema, body, flagOf, base, ctx)();
    return body;
  };
}

/** The named IDs, and for each the checked body and input of an action, with a given project. Throws as `libraryIds`. */
export async function idBodies(args: readonly string[], given: WithStored, ctx: Context) {
  const ids = libraryIds(args, ctx);
  const make = await bodyMaker(getAsset, layOf('ProjectName'), given, ctx);
  const bodies = new Map(ids.map((Id) => [Id, make({ Id })]));
  const bodyOf = (id: string): JsonObject => bodies.get(id) ?? {};
  return { ids, bodyOf, inputOf: (id: string) => ({ body: bodyOf(id) }) };
}

/** Removes profile defaults that `pairs` excludes beside a typed flag. */
export function withoutPairs<F extends WithStored>(given: F, pairs: readonly Pair[], { io }: Context): F {
  const refine = z.superRefine<JsonObject>((flags, { addIssue }) => {
    const broken = pairs.filter((pair) => pair.every((key) => flags[key] !== undefined));
    for (const [key, by] of broken.flatMap(([one, other]) => [[one, other] as const, [other, one] as const]))
      addIssue({ code: 'custom', path: [key], message: `it does not go with ${flagName(by)}` });
  });
  const schema = z.looseObject({}).check(refine);
  const fields = { flagAt: ([key]: readonly PropertyKey[]) => flagName(String(key)) };
  return withoutYielding(given, (body) => ({ schema, fields, body }), io.note) as F;
}

/** Two flags that exclude each other. */
type Pair = readonly [string, string];

/** The REST lookups support neither projects nor bodies. Throws `usage` if one is given. */
export function refuseActionFlags(project: string | undefined, { globals }: Pick<Context, 'globals'>): void {
  for (const key of ['set', 'body'] as const)
    if (globals[key] !== undefined)
      throw usage(`--${key}: with --rest there is no request body`, 'leave it out');
  if (project === undefined) return;
  const hint = 'leave --rest out: the action looks into one project';
  throw usage(`--project ${project}: GET /api/assets takes no project`, hint);
}

/** Sends a library request and parses the result; with --dry-run or --curl it returns the request. */
export async function askOrShow<R>(
  endpoint: Endpoint,
  input: RequestInput,
  ctx: Context,
  read: (reply: Reply) => R,
): Promise<Outcome<R>> {
  const shown = await showInstead(endpoint, input, ctx);
  if (shown !== undefined) return { value: shown };
  const { client } = await ctx.gateway();
  return { value: read(await askLibrary(client, endpoint, input, { signal: ctx.signal })) };
}

/** The output of a command that creates, waits for or changes a library entry (the contract, section 1). */
export interface LibraryResult {
  readonly family: 'asset' | 'asset-group';
  readonly id: string;
  /** The gateway's status; for a group or a change, which has none, the completed action. */
  readonly status: string;
  /** The gateway's last record or reply, unchanged. */
  readonly record: unknown;
  /** Always empty: library entries are not saved as files. */
  readonly files: readonly never[];
}

export const libraryResult = (
  family: LibraryResult['family'],
  id: string,
  status: string,
  reply: Reply | undefined,
  record: unknown = reply?.json ?? {},
): LibraryResult => ({ family, id, status, record: asWritten(record, reply), files: [] });

/** For people: the ID, if the command succeeded. */
export const idLine = ({ id }: LibraryResult, _ctx: unknown, failed: boolean): string =>
  failed ? '' : `${id}\n`;

// Flags that the asset commands share; their texts and choices come from the schemas in src/gateway/asset*.

export const projectFlag = { project: fromField(projectField, 'NAME') } as const;

/** As {@link projectFlag}, for a command that also has --rest. */
export const actionProjectFlag = {
  project: { ...projectFlag.project, summary: `${projectFlag.project.summary}; not with --rest` },
} as const;

/** A flag that accepts its choices in any case; the schema refuses other values. */
export const anyCaseFlag = (
  field: Parameters<typeof fromField>[0],
  choices: readonly string[],
): Flag<string> => ({
  ...fromField(field, choices.join('|')),
  choices,
  parse: (raw) => canonical(choices, raw) ?? raw,
});

/** A flag for an ID, which also accepts `asset://ID`. */
export const idFlag = (field: Parameters<typeof fromField>[0]): Flag<string> => ({
  ...fromField(field, 'ID'),
  parse: bareId,
});

export const idListFlag = (field: Parameters<typeof fromField>[0]): Flag<readonly string[]> => ({
  ...list('ID', helpOf(field)),
  parse: (raw) => [bareId(raw)],
});

/** A flag for a whole number; the schema checks its limits. */
export const countFlag = (field: Parameters<typeof fromField>[0]): Flag<number> =>
  whole('N', helpOf(field), { hint: helpOf(field) });

/** A record from a lookup. */
export interface SeenRecord {
  readonly reply: Reply;
  readonly record: unknown;
  /** True if there are several records: each reply is then printed on one line. */
  readonly many: boolean;
}

/** Looks up each ID with one request. */
export const getRecords = (
  ids: readonly string[],
  endpoint: Endpoint,
  inputOf: (id: string) => RequestInput,
  recordOf: (reply: unknown) => unknown,
  ctx: Context,
): AsyncGenerator<Outcome<SeenRecord>> =>
  oneByOne(ids, (id) =>
    askOrShow(endpoint, inputOf(id), ctx, (reply) => ({
      reply,
      record: recordOf(reply.json),
      many: ids.length > 1,
    })),
  );

export const recordJson = ({ reply, many }: SeenRecord): string | Uint8Array =>
  many ? `${compactJson(reply.text)}\n` : reply.bytes;

/** A record for people, one field a line. The query of an address is left out, because it may contain a key. */
export function recordText({ record }: SeenRecord): string {
  const values = [...leavesOf(record)].filter(([, value]) => value !== '');
  const withoutQuery = (value: unknown) => String(value).replace(/^(https?:\/\/[^?]*\?).*$/s, '$1…');
  return fieldLines(
    values.map(([name, value]) => [name, withoutQuery(value)]),
    LONGEST_SHOWN,
  );
}

const LONGEST_SHOWN = 500;
