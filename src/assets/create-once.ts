import { GwError, Interrupted, UnknownOutcome } from '../errors.ts';
import { resultOf } from '../gateway/asset/envelope.ts';
import { canonical, groupTypes } from '../gateway/asset/fields.ts';
import { LIST_MAX, LibraryPage, listAssets, listGroups } from '../gateway/asset/list.ts';
import { CreatedId } from '../gateway/asset/record.ts';
import type { Endpoint } from '../gateway/endpoint.ts';
import type { Clock } from '../host.ts';
import type { Client, Reply } from '../http/client.ts';
import { jsonIn } from '../http/parse-json.ts';
import { askLibrary } from './ask-library.ts';

export interface CreateOnce {
  readonly client: Client;
  readonly endpoint: Endpoint;
  readonly body: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
  /** `asset` or `asset group`, for messages. */
  readonly what: string;
  /** Looks for what a lost create has made since (Unix milliseconds of this machine); undefined where the body cannot be looked for. */
  readonly find: ((sinceMs: number) => Promise<Found>) | undefined;
  /** The command that shows whether it is there. */
  readonly lookCommand: string;
  /** When an earlier run of the same may have sent it that did not learn what became of it, Unix milliseconds of this machine. */
  readonly leftAtMs: number | undefined;
  /** Says that it is being created, until that is released: what is not released is looked for by the next run. */
  take(): { release(): void } | undefined;
}

/** What a look for a lost create brought: it is there, it is not, or something is there that may be it. */
type Found = Created | 'absent' | 'unclear';

export interface Created {
  readonly id: string;
  /** The reply as it came; the record, where the reply was lost and it was found again. */
  readonly record: unknown;
  readonly reply?: Reply;
  /** The reply was lost and it was found again. */
  readonly isFound: boolean;
}

/** Before the first look and the second: what was taken may not be listed at once. */
const LOOK_AFTER_MS = [2_000, 5_000];

/**
 * Creates an asset or a group. Where the answer is lost, now or to an earlier run, it is looked for first: found, it is the
 * one; certainly not there, it is sent once more, unless a whole reply said that it was created; in any other case
 * `unavailable` says that it may exist (promises, section 2). Throws as {@link askLibrary}; an Interrupted after it was sent
 * says how to look for it.
 */
export async function createOnce(request: CreateOnce): Promise<Created> {
  const { client, endpoint, body, clock, signal, note, what, find, leftAtMs, lookCommand } = request;
  let found: Found = 'absent';
  if (find && leftAtMs !== undefined) {
    note(`an earlier run of the same did not learn what became of it; looking for the ${what} first`);
    found = await find(leftAtMs);
  }
  const lock = request.take();
  let sentAtMs: number | undefined;
  const onSend = () => {
    sentAtMs ??= clock.now();
  };
  try {
    for (let sends = 1; found === 'absent'; sends += 1) {
      try {
        const reply = await askLibrary(client, endpoint, { body }, { signal, onSend });
        const { Id: id } = resultOf(CreatedId, reply.json);
        lock?.release();
        return { id, record: reply.json, reply, isFound: false };
      } catch (error) {
        if (!(error instanceof UnknownOutcome) || !find) throw error;
        note(`the answer was lost; looking for the ${what}`);
        found = await lookFor(request, find, sentAtMs ?? clock.now());
        if (found === 'unclear' || (found === 'absent' && (sends === 2 || wasAnswered(error)))) throw error;
        if (found === 'absent') note(`the gateway has no such ${what}; sending it once more`);
      }
    }
  } catch (error) {
    // The lock of one that may exist is left behind, so that the next run looks for it.
    if (error instanceof UnknownOutcome) throw notKnown(error, request);
    if (error instanceof Interrupted && sentAtMs !== undefined) {
      const hint = `look whether it is there: ${lookCommand}`;
      throw new Interrupted(error.signal, hint, `the ${what} may have been created`);
    }
    lock?.release();
    throw error;
  }
  lock?.release();
  if (found === 'unclear')
    throw new GwError('unavailable', `an earlier run may have created this ${what}; nothing was sent`, {
      hint: `look whether it is there: ${lookCommand}; run this again to make it anew`,
    });
  note(`found: the ${what} ${found.id} was created`);
  return found;
}

/** Whether a whole reply of the library came, a success without an ID that can be used: it was created, or something was. */
function wasAnswered({ partialText }: UnknownOutcome): boolean {
  const reply = jsonIn(partialText ?? '');
  return typeof reply === 'object' && reply !== null && Object.hasOwn(reply, 'Result');
}

async function lookFor(
  { clock, signal }: CreateOnce,
  find: NonNullable<CreateOnce['find']>,
  sinceMs: number,
): Promise<Found> {
  for (const pauseMs of LOOK_AFTER_MS) {
    await clock.sleep(pauseMs, signal);
    try {
      const found = await find(sinceMs);
      if (found !== 'absent') return found;
    } catch (error) {
      if (!(error instanceof GwError)) throw error;
      return 'unclear';
    }
  }
  return 'absent';
}

/** Assets cost nothing, so its outcome is not called unknown; but it may exist, and nobody is told to send it again. */
function notKnown(lost: UnknownOutcome, { what, lookCommand }: CreateOnce): GwError {
  return new GwError('unavailable', `${lost.message}; the ${what} may have been created`, {
    ...lost.facts,
    hint: `look whether it is there: ${lookCommand}`,
  });
}

// How an asset or a group is found whose create was sent and not answered: by its name, the newest first.

interface FindRequest {
  readonly client: Client;
  readonly body: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

type Find = (sinceMs: number) => Promise<Found>;

/** How to find an asset by its group, name, type and URL; undefined where the body has no such texts. */
export function findAsset(request: FindRequest): Find | undefined {
  const { body } = request;
  const { GroupId: groupId, Name: name } = body;
  if (typeof groupId !== 'string' || typeof name !== 'string') return undefined;
  const isIt = same(body, ['Name', 'URL', 'AssetType', 'GroupId']);
  return async (sinceMs) => {
    // A list needs the type of the group, and the body does not name it.
    for (const GroupType of groupTypes) {
      const reply = await ask(listAssets, { GroupType, GroupIds: [groupId], Name: name }, request);
      const found = judge(reply, isIt, sinceMs, request.clock);
      if (found !== 'absent') return found;
    }
    return 'absent';
  };
}

/** How to find a group by its name and description; undefined where the body has no name. */
export function findGroup(request: FindRequest): Find | undefined {
  const { body } = request;
  const { Name: name } = body;
  if (typeof name !== 'string') return undefined;
  const GroupType = canonical(groupTypes, body.GroupType) ?? groupTypes[0];
  const isIt = same(body, ['Name', 'Description']);
  return async (sinceMs) => {
    const reply = await ask(listGroups, { GroupType, Name: name }, request);
    return judge(reply, isIt, sinceMs, request.clock);
  };
}

function ask(endpoint: typeof listAssets, Filter: object, { client, body, signal }: FindRequest) {
  const { ProjectName } = body;
  const asked = { Filter, MaxResults: LIST_MAX, ...(ProjectName !== undefined && { ProjectName }) };
  return askLibrary(client, endpoint, { body: asked }, { signal });
}

/** Whether a record says what the body said, in the fields that the gateway shows. */
const same =
  (body: FindRequest['body'], fields: readonly string[]) =>
  (record: Readonly<Record<string, unknown>>): boolean =>
    fields.every((field) => {
      const [told, sent] = [record[field] ?? '', body[field] ?? ''];
      return field === 'AssetType'
        ? String(told).toLowerCase() === String(sent).toLowerCase()
        : told === sent;
    });

/** Times on the wire are whole seconds, and clocks of one service differ a little. */
const SLACK_MS = 2_000;

/** Tells what was created after our send from what was there before, by the gateway's own clock where it shows it. */
function judge(reply: Reply, isIt: ReturnType<typeof same>, sinceMs: number, clock: Clock): Found {
  const candidates = resultOf(LibraryPage, reply.json).Items.filter(isIt);
  if (candidates.length === 0) return 'absent';
  // Without the gateway's clock nothing tells a new one from an old one.
  if (reply.serverDateMs === undefined) return 'unclear';
  const aheadMs = reply.serverDateMs - clock.now();
  const isNew = candidates.map(({ CreateTime: time }) => {
    const createdAtMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return Number.isNaN(createdAtMs) ? undefined : createdAtMs >= sinceMs + aheadMs - SLACK_MS;
  });
  const newest = candidates[isNew.indexOf(true)];
  if (newest && isNew.filter((each) => each === true).length === 1)
    return { id: newest.Id, record: newest, isFound: true };
  return isNew.every((each) => each === false) ? 'absent' : 'unclear';
}
