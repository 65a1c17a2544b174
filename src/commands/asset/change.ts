import * as path from 'node:path';
import { askLibrary } from '../../assets/ask-library.ts';
import { type CreateOnce, createOnce, type FindRequest } from '../../assets/create-once.ts';
import { digestOf } from '../../batch/rows.ts';
import { defineCommand, type Outcome } from '../../command.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import { type Context, commandFor } from '../../context.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { leftBehindMs, tryLock } from '../../disk/lock-file.ts';
import { GwError, shellQuote, usage } from '../../errors.ts';
import { type FlagSet, flagName, on } from '../../flags/flag.ts';
import type { JsonObject } from '../../flags/json-body.ts';
import { NOT_FOUND_CODE } from '../../gateway/asset/envelope.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { quietly } from '../../host.ts';
import type { Reply } from '../../http/client.ts';
import { showInstead } from '../show-instead.ts';
import {
  askOrShow,
  bodyMaker,
  idLine,
  type LibraryResult,
  layOf,
  libraryId,
  libraryResult,
  projectFlag,
} from './library.ts';

// Creates, changes and deletes library entries: assets and groups share this code.

/** Creates an asset or a group; with --dry-run or --curl it returns the request. Throws as `createOnce`. */
export async function create(
  entry: Pick<CreateOnce, 'endpoint' | 'body' | 'what' | 'lookCommand' | 'deadlineMs'> & {
    /** Turns the body that is shown into the body that is sent. */
    readonly finish?: (told: CreateOnce['body']) => Promise<CreateOnce['body']>;
  },
  findOf: (request: FindRequest) => CreateOnce['find'],
  ctx: Context,
) {
  const { endpoint, body: told, finish, what, lookCommand, deadlineMs } = entry;
  const shown = await showInstead(endpoint, { body: told }, ctx);
  if (shown !== undefined) return shown;
  const { client } = await ctx.gateway();
  const { clock, io, signal } = ctx;
  const body = (await finish?.(told)) ?? told;
  const request = { client, body, clock, signal, deadlineMs };
  const digest = digestOf(JSON.stringify([client.gateway.baseUrl, endpoint.name, told]));
  const sending = { ...request, ...markOf(`asset-${digest}`, ctx), endpoint, what, lookCommand };
  return createOnce({ ...sending, note: io.note, find: findOf(request) });
}

/** The upper bound for a create's duration; the lock of a live create is touched now and then. */
const LONGEST_CREATE_MS = 600_000;

/** A lock that marks a create in progress, and the time an old one was left behind. Disk errors are ignored. */
function markOf(name: string, { host, clock }: Context): Pick<CreateOnce, 'leftAtMs' | 'take'> {
  const ofFile = <T>(act: (file: string) => T) =>
    quietly(() => {
      const locks = path.join(trustedStateDir(host), 'locks');
      ensureDirectory(locks);
      return act(path.join(locks, `${name}.lock`));
    });
  const agoMs = ofFile(leftBehindMs);
  const leftAtMs = agoMs === undefined ? undefined : clock.now() - agoMs - LONGEST_CREATE_MS;
  return { leftAtMs, take: () => ofFile((file) => tryLock(file)) };
}

/** A list command that finds the entry of a request: its filters, quoted for a shell. */
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

/** `gw asset update ID` and `gw asset group update ID` change only the given fields. */
export const updateCommand = (of: {
  readonly family: LibraryResult['family'];
  readonly summary: string;
  readonly flags: FlagSet;
  readonly examples: readonly string[];
  readonly endpoint: Endpoint;
}) =>
  defineCommand<FlagSet, LibraryResult>({
    args: { name: 'ID', summary: of.summary, required: true },
    flags: { ...of.flags, ...projectFlag },
    examples: of.examples,
    sends: 'body',
    human: idLine,
    async run({ args, flags: typed }, ctx) {
      const lay = layOf('Name', 'Description', 'ProjectName');
      const make = await bodyMaker(of.endpoint, lay, typed, ctx);
      const Id = libraryId(args, ctx);
      const body = make({ Id });
      if (Object.keys(body).every((field) => field === 'Id' || field === 'ProjectName')) {
        const changes = Object.keys(of.flags).map(flagName).join(' or ');
        throw usage('nothing would change', `say what is new with ${changes}`);
      }
      return askOrShow(of.endpoint, { body }, ctx, (reply) =>
        libraryResult(of.family, String(body.Id), 'updated', reply),
      );
    },
  });

export const deleteFlags = { yes: on('do not ask'), ...projectFlag } as const;

/**
 * Sends a delete. A delete whose reply was lost is sent again; `ResourceNotFound` then means that it succeeded (promises,
 * section 2). A 404 without that code may come from any server on the way.
 */
export async function remove(
  family: LibraryResult['family'],
  endpoint: Endpoint,
  body: JsonObject,
  ctx: Context,
): Promise<Outcome<LibraryResult>> {
  const shown = await showInstead(endpoint, { body }, ctx);
  if (shown !== undefined) return { value: shown };
  const { client } = await ctx.gateway();
  let isLost = false;
  const onLost = () => {
    isLost = true;
  };
  const deleted = (reply?: Reply) => ({ value: libraryResult(family, String(body.Id), 'deleted', reply) });
  try {
    return deleted(await askLibrary(client, endpoint, { body }, { signal: ctx.signal, onLost }));
  } catch (error) {
    if (!isLost || !(error instanceof GwError) || error.facts.code !== NOT_FOUND_CODE) throw error;
    ctx.io.note(`${String(body.Id)} is gone: the delete whose answer was lost has worked`);
    return deleted();
  }
}
