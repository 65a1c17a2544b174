import type * as z from 'zod';
import { askLibrary } from '../../assets/ask-library.ts';
import type { Outcome } from '../../command.ts';
import { type Context, commandFor } from '../../context.ts';
import { GwError, Interrupted, usage } from '../../errors.ts';
import { breachesOf, refuseOrWarn } from '../../flags/breaches.ts';
import { type Flag, fromField, list, parsed } from '../../flags/flag.ts';
import { applySets, type JsonObject, readJsonBody } from '../../flags/json-body.ts';
import { IdBody } from '../../gateway/asset/actions.ts';
import { bareId, LibraryId, projectField } from '../../gateway/asset/fields.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import type { Reply, RequestInput } from '../../http/client.ts';
import { shellQuote } from '../../http/show-request.ts';
import { fieldLines, leavesOf } from '../../io/field-lines.ts';
import { compactJson } from '../../json-text.ts';
import { showInstead } from '../show-instead.ts';

/**
 * The IDs of a command line, bare and each once, in order. Throws `usage` for what is none; with --no-validate, where the
 * run is given, that is a warning: for IDs that stand in a body, not in a path.
 */
export function libraryIds(args: readonly string[], run?: Pick<Context, 'globals'>): string[] {
  return [
    ...new Set(
      args.map((typed) => {
        const id = bareId(typed);
        const [issue] = LibraryId.safeParse(id).error?.issues ?? [];
        // What is sent as it stands in a body is judged, and warned of, with the body.
        if (issue && (run?.globals.validate === undefined || id === ''))
          throw usage(`${typed}: ${issue.message}`, 'give the ID as gw asset list prints it, or asset://ID');
        return id;
      }),
    ),
  ];
}

/** The one ID of a command line. Throws `usage` where there are more. */
export function libraryId(args: readonly string[], run?: Pick<Context, 'globals'>): string {
  const [id = '', ...others] = libraryIds(args, run);
  if (others.length > 0) throw usage(`${others.join(', ')}: give one ID`, 'run it once for each');
  return id;
}

/** One outcome an ID, one after the other. What fails for one does not stop the others; an interrupt and a key that is not accepted do. */
export async function* oneByOne<R>(
  ids: readonly string[],
  run: (id: string) => Promise<Outcome<R>>,
): AsyncGenerator<Outcome<R>> {
  for (const id of ids) {
    try {
      yield await run(id);
    } catch (error) {
      // A key that is not accepted for one is not accepted for the others.
      const isOver = error instanceof GwError && error.kind === 'auth';
      if (error instanceof Interrupted || isOver || ids.length === 1) throw ofAsset(error, id);
      yield { error: ofAsset(error, id) };
    }
  }
}

function ofAsset(error: unknown, id: string): unknown {
  if (!(error instanceof GwError) || error.facts.taskId !== undefined) return error;
  return new GwError(error.kind, `${id}: ${error.message}`, { ...error.facts, taskId: id });
}

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

/** What a command that creates, waits for or changes something in the library prints (the contract, section 1). */
export interface LibraryResult {
  readonly family: 'asset' | 'asset-group';
  readonly id: string;
  /** The gateway's word; of a group, which has none, and of a change, what was done. */
  readonly status: string;
  /** The gateway's last record or reply as it came. */
  readonly record: unknown;
  /** Nothing in the library is saved as a file. */
  readonly files: readonly never[];
}

export const libraryResult = (
  family: LibraryResult['family'],
  id: string,
  status: string,
  record: unknown,
): LibraryResult => ({ family, id, status, record, files: [] });

/** For people: the ID, where it went well. */
export const idLine = ({ id }: LibraryResult, _ctx: unknown, failed: boolean): string =>
  failed ? '' : `${id}\n`;

// What the flags of the asset commands have in common; texts and choices come from the schemas of src/gateway/asset*.

export const projectFlag = { project: fromField(projectField, 'NAME') } as const;

/** As {@link projectFlag}, of a command that has --rest too. */
export const actionProjectFlag = {
  project: { ...projectFlag.project, summary: `${projectFlag.project.summary}; not with --rest` },
} as const;

/** A flag for a field whose words may be typed in any case. */
export const anyCaseFlag = (
  field: Parameters<typeof fromField>[0],
  choices: readonly string[],
): Flag<string> => ({
  ...fromField(field, choices.join('|')),
  choices,
});

/** A flag for an ID; `asset://ID` is taken as well. */
export const idFlag = (field: Parameters<typeof fromField>[0]): Flag<string> => ({
  ...fromField(field, 'ID'),
  parse: bareId,
});

export const idListFlag = (field: Parameters<typeof fromField>[0]): Flag<readonly string[]> => ({
  ...list('ID', field.description ?? ''),
  parse: (raw) => [bareId(raw)],
});

/** A flag for a whole number; its bounds are the schema's. */
export const countFlag = (field: Parameters<typeof fromField>[0]): Flag<number> =>
  parsed('N', field.description ?? '', (raw, flag) => {
    if (!/^\d{1,9}$/.test(raw)) throw usage(`${flag} ${raw}: not a whole number`, field.description);
    return Number(raw);
  });

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

/** A record that was looked up. */
export interface SeenRecord {
  readonly reply: Reply;
  readonly record: unknown;
  /** Whether there are others: then each reply stays on a line of its own. */
  readonly many: boolean;
}

/** One look-up an ID. */
export const getRecords = (
  ids: readonly string[],
  request: {
    readonly endpoint: Endpoint;
    input(id: string): RequestInput;
    recordOf(reply: unknown): unknown;
  },
  ctx: Context,
): AsyncGenerator<Outcome<SeenRecord>> =>
  oneByOne<SeenRecord>(ids, async (id) => {
    const shown = await showInstead(request.endpoint, request.input(id), ctx);
    if (shown !== undefined) return { value: shown };
    const { client } = await ctx.gateway();
    const reply = await askLibrary(client, request.endpoint, request.input(id), { signal: ctx.signal });
    return { value: { reply, record: request.recordOf(reply.json), many: ids.length > 1 } };
  });

export const recordJson = ({ reply, many }: SeenRecord): string | Uint8Array =>
  many ? `${compactJson(reply.text)}\n` : reply.bytes;

/** A record for people: one field a line; the query of an address, which may be its key, left out. */
export function recordText({ record }: SeenRecord): string {
  const values = [...leavesOf(record)].filter(([, value]) => value !== '');
  const withoutQuery = (value: unknown) => String(value).replace(/^(https?:\/\/[^?]*\?).*$/s, '$1…');
  return fieldLines(
    values.map(([name, value]) => [name, withoutQuery(value)]),
    LONGEST_SHOWN,
  );
}

const LONGEST_SHOWN = 500;
