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
  /** When a wait for a 429 ends, in ms of the steady clock; two minutes for each request if absent. */
  readonly deadlineMs?: number | undefined;
  readonly note: (text: string) => void;
  /** `asset` or `asset group`, for messages. */
  readonly what: string;
  /** Looks for an asset made by a lost create since that time (Unix ms, this machine); undefined if impossible. */
  readonly find: ((sinceMs: number) => Promise<Found>) | undefined;
  /** The command that shows whether it exists. */
  readonly lookCommand: string;
  /** When an earlier run may have sent the same create without an answer, in Unix milliseconds of this machine. */
  readonly leftAtMs: number | undefined;
  /** Marks the create as in progress until released; the next run looks for a create whose mark remains. */
  take(): { release(): void } | undefined;
}

/** The result of looking for a lost create: found, absent, or a record that may be it. */
type Found = Created | 'absent' | 'unclear';

interface Created {
  readonly id: string;
  /** The unchanged reply; or the record, if the reply was lost and the asset was found again. */
  readonly record: unknown;
  readonly reply?: Reply;
  /** True if the reply was lost and the asset was found again. */
  readonly isFound: boolean;
}

/** Pauses before the first and the second lookup: a new asset may not be listed at once. */
const LOOK_AFTER_MS = [2_000, 5_000];

/**
 * Creates an asset or a group. If the answer is lost, in this run or an earlier one, gw first looks for it: if it is
 * found, that is the result; if it is certainly absent, the create is sent once more, unless a complete reply said
 * that it was created. Otherwise `unavailable` says that it may exist (promises, section 2). Throws as {@link
 * askLibrary}; an Interrupted after the send says how to look for it.
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
  let mayExist = false;
  let sends = 1;
  const onExchange = (isUnderWay: boolean) => {
    sentAtMs ??= clock.now();
    // A refusal settles only its own sending: a second one follows a lost answer.
    mayExist = sends > 1 || isUnderWay || signal.aborted;
  };
  try {
    for (; found === 'absent'; sends += 1) {
      try {
        const { deadlineMs } = request;
        const reply = await askLibrary(client, endpoint, { body }, { signal, deadlineMs, onExchange });
        const { Id: id } = resultOf(CreatedId, reply.json);
        lock?.release();
        return { id, record: reply.json, reply, isFound: false };
      } catch (error) {
        if (!(error instanceof UnknownOutcome) || !find) throw error;
        mayExist = true;
        note(`the answer was lost; looking for the ${what}`);
        found = await lookFor(request, find, sentAtMs ?? clock.now());
        if (found === 'unclear' || (found === 'absent' && (sends === 2 || wasAnswered(error)))) throw error;
        if (found === 'absent') note(`the gateway has no such ${what}; sending it once more`);
      }
    }
  } catch (error) {
    // The lock of an asset that may exist is kept, so that the next run looks for it.
    if (error instanceof UnknownOutcome) throw notKnown(error, request);
    if (error instanceof Interrupted && mayExist) {
      const hint = `look whether it is there: ${lookCommand}`;
      throw new Interrupted(error.signal, { hint }, `the ${what} may have been created`);
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

/** True if a complete successful reply came without a usable ID: the library has created something. */
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

/** Assets are free, so the kind is `unavailable`; but the asset may exist, so no hint says to send it again. */
function notKnown(lost: UnknownOutcome, { what, lookCommand }: CreateOnce): GwError {
  return new GwError('unavailable', `${lost.message}; the ${what} may have been created`, {
    ...lost.facts,
    hint: `look whether it is there: ${lookCommand}`,
  });
}

// Finds an asset or a group whose create was not answered: by its name, the newest first.

export type FindRequest = Pick<CreateOnce, 'client' | 'body' | 'clock' | 'signal' | 'deadlineMs'>;

/** Finds an asset by its group, name, type and URL; undefined if the body lacks group or name. */
export function findAsset(request: FindRequest): CreateOnce['find'] {
  const { body } = request;
  const { GroupId: groupId, Name: name } = body;
  if (typeof groupId !== 'string' || typeof name !== 'string') return undefined;
  const isIt = same(body, ['Name', 'URL', 'AssetType', 'GroupId']);
  return async (sinceMs) => {
    // A list needs the group's type, which the body does not contain.
    for (const GroupType of groupTypes) {
      const reply = await ask(listAssets, { GroupType, GroupIds: [groupId], Name: name }, request);
      const found = judge(reply, isIt, sinceMs, request.clock);
      if (found !== 'absent') return found;
    }
    return 'absent';
  };
}

/** Finds a group by its name and description; undefined if the body has no name. */
export function findGroup(request: FindRequest): CreateOnce['find'] {
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

function ask(endpoint: typeof listAssets, Filter: object, { client, body, signal, deadlineMs }: FindRequest) {
  const { ProjectName } = body;
  const asked = { Filter, MaxResults: LIST_MAX, ...(ProjectName !== undefined && { ProjectName }) };
  return askLibrary(client, endpoint, { body: asked }, { signal, deadlineMs });
}

/** True if a record matches the body in the fields that the gateway returns. */
const same =
  (body: FindRequest['body'], fields: readonly string[]) =>
  (record: Readonly<Record<string, unknown>>): boolean =>
    fields.every((field) => {
      const [told, sent] = [record[field] ?? '', body[field] ?? ''];
      return field === 'AssetType'
        ? String(told).toLowerCase() === String(sent).toLowerCase()
        : told === sent;
    });

/** Times in replies are whole seconds, and the clocks of one service may differ a little. */
const SLACK_MS = 2_000;

/** Decides by the gateway's clock, if known, which matching records were created after our send. */
function judge(reply: Reply, isIt: ReturnType<typeof same>, sinceMs: number, clock: Clock): Found {
  const candidates = resultOf(LibraryPage, reply.json).Items.filter(isIt);
  if (candidates.length === 0) return 'absent';
  // Without the gateway's clock, new and old records cannot be told apart.
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
