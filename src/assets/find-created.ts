import { resultOf } from '../gateway/asset/envelope.ts';
import { canonical, groupTypes } from '../gateway/asset/fields.ts';
import { AssetPage, GroupPage, LIST_MAX, listAssets, listGroups } from '../gateway/asset/list.ts';
import type { Clock } from '../host.ts';
import type { Client, Reply } from '../http/client.ts';
import { askLibrary } from './ask-library.ts';
import type { Found } from './create-once.ts';

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
      const found = judge(resultOf(AssetPage, reply.json).Items.filter(isIt), reply, sinceMs, request.clock);
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
    return judge(resultOf(GroupPage, reply.json).Items.filter(isIt), reply, sinceMs, request.clock);
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
function judge(
  candidates: readonly { readonly Id: string; readonly CreateTime?: unknown }[],
  reply: Reply,
  sinceMs: number,
  clock: Clock,
): Found {
  if (candidates.length === 0) return 'absent';
  // Without the gateway's clock nothing tells a new one from an old one.
  if (reply.serverDateMs === undefined) return 'unclear';
  const aheadMs = reply.serverDateMs - clock.now();
  const isNew = candidates.map(({ CreateTime: time }) => {
    const createdAtMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return Number.isNaN(createdAtMs) ? undefined : createdAtMs >= sinceMs + aheadMs - SLACK_MS;
  });
  const newest = candidates[isNew.indexOf(true)];
  if (newest && isNew.filter((each) => each === true).length === 1) return { id: newest.Id, record: newest };
  return isNew.every((each) => each === false) ? 'absent' : 'unclear';
}
