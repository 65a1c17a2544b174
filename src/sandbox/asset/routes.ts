import { randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import {
  createAsset,
  createGroup,
  deleteAsset,
  deleteGroup,
  getAsset,
  getGroup,
  restAsset,
  updateAsset,
  updateGroup,
  uploadAsset,
} from '../../gateway/asset/actions.ts';
import { ASSET_VERSION, type AssetAction, assetActions } from '../../gateway/asset/envelope.ts';
import {
  type AssetType,
  assetTypes,
  canonical,
  DEFAULT_GROUP_TYPE,
  DEFAULT_PROJECT,
  groupTypes,
} from '../../gateway/asset/fields.ts';
import {
  listAssets,
  listGroups,
  REST_LIST_DEFAULT,
  RestListQuery,
  restList,
} from '../../gateway/asset/list.ts';
import { valueAt } from '../../gateway/body.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { isObject } from '../../gateway/json-value.ts';
import { jsonReply, Refusal, type SandboxReply } from '../reply.ts';
import { checkBody, readAgainst, withoutFlags } from '../request-body.ts';
import type { Call, Route, World } from '../route.ts';
import { makeTaskId } from '../task.ts';
import {
  ASSET,
  allAssets,
  assetRecord,
  dropGroup,
  findAsset,
  findGroup,
  findOwnAsset,
  groupRecord,
  keepAsset,
  keepGroup,
  planProcessing,
  projectOf,
  statusOf,
} from './library.ts';
import { assetPage, groupPage, type ListBody, nameFits } from './pages.ts';

const versionOf = (url: URL) => url.searchParams.get('Version') ?? '';

/** The body is read raw and checked here, because refusals of the library have their own codes. */
const actionRoute = (endpoint: Endpoint, action: AssetAction, needsVersion: boolean): Route => ({
  endpoint,
  checksBody: true,
  refuse: (refusal, { url }) =>
    libraryRefusal(refusal, action, needsVersion ? versionOf(url) : ASSET_VERSION),
  answer({ body, url, passOver }, world) {
    if (needsVersion) checkVersion(url);
    passOver(checkLibraryBody(endpoint.body ?? z.unknown(), body, world));
    const Result = libraryActions[action].answer(body as Body, world);
    return jsonReply(200, { ResponseMetadata: metadata(action, ASSET_VERSION), Result });
  },
});

/** "Another value gives `InvalidParameter.Version`." */
function checkVersion(url: URL): void {
  const version = versionOf(url);
  if (version === ASSET_VERSION) return;
  if (version === '')
    throw new Refusal(400, 'The parameter Version is required.', 'MissingParameter.Version');
  throw new Refusal(400, `Version is ${ASSET_VERSION}, not ${version}.`, 'InvalidParameter.Version');
}

/** Requests to the actions' path that name no known action. */
const otherAction: Route = {
  endpoint: { ...getAsset, name: 'assets.other', path: '/' },
  checksBody: true,
  refuse: (refusal, { url }) => libraryRefusal(refusal, url.searchParams.get('Action') ?? '', versionOf(url)),
  answer({ url }) {
    const action = url.searchParams.get('Action') ?? '';
    if (action === '') throw new Refusal(400, 'The parameter Action is required.', 'MissingParameter.Action');
    throw new Refusal(400, `There is no action ${action}.`, 'InvalidAction');
  },
};

const restRoutes: readonly Route[] = [
  { endpoint: restList, answer: (call, world) => jsonReply(200, restPage(call, world)) },
  {
    endpoint: restAsset,
    answer: ({ params }, world) =>
      jsonReply(200, assetRecord(findAsset(params.asset_id ?? '', DEFAULT_PROJECT, world), world.now())),
  },
];

/** "Envelope of every action response". */
const metadata = (action: string, version: string) => ({
  RequestId: randomBytes(16).toString('hex'),
  Action: action,
  Version: version,
  Service: 'assets',
  Region: 'sandbox',
});

/** A refusal in the library's envelope, without `Result`. */
const libraryRefusal = (refusal: Refusal, action: string, version: string): SandboxReply =>
  jsonReply(
    refusal.status,
    {
      ResponseMetadata: {
        ...metadata(action, version),
        Error: { Code: codeOf(refusal), Message: refusal.message },
      },
    },
    refusal.headers,
  );

/** The library has one code for a body that is not JSON; its own refusals already have codes. */
const codeOf = ({ code, status }: Refusal): string => {
  if (code === 'InvalidContentType' || code === 'RequestTooLarge') return 'InvalidRequest';
  return code ?? (status >= 500 ? 'InternalError' : 'InvalidRequest');
};

/**
 * As `checkBody`, but throws a Refusal (400) whose code names the first field: `MissingParameter.X` or
 * `InvalidParameter.X` ("Errors").
 */
function checkLibraryBody(schema: z.ZodMiniType, body: unknown, world: Pick<World, 'strict'>): string[] {
  if (!isObject(body)) {
    throw new Refusal(400, 'The request body must be a JSON object.', 'InvalidRequest');
  }
  const checked = readAgainst(schema, body, world);
  if ('unlisted' in checked) return checked.unlisted;
  const { issue } = checked;
  const path = [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])];
  // A code does not contain the index of a list item.
  const field = path.filter((part) => typeof part !== 'number').join('.');
  // If one field of a required pair is left out, it counts as missing.
  const isMissing = issue.code !== 'unrecognized_keys' && valueAt(body, issue.path) === undefined;
  const isUnknown = issue.code === 'unrecognized_keys';
  const rule = isUnknown ? 'not a parameter of this action' : withoutFlags(issue.message);
  throw isMissing
    ? new Refusal(400, `The parameter ${field} is required.`, `MissingParameter.${field}`)
    : new Refusal(400, `The parameter ${field} is not valid: ${rule}.`, `InvalidParameter.${field}`);
}

// The two lookups without an envelope ("REST aliases"); they see only the default project.

/** `GET /api/assets`, by creation time descending. Throws Refusal. */
function restPage({ url, passOver }: Call, world: World): object {
  const asked = Object.fromEntries(url.searchParams);
  passOver(checkBody(RestListQuery, asked, world).unlisted);
  const nowMs = world.now();
  const matches = allAssets(world)
    .filter(
      (asset) =>
        asset.project === DEFAULT_PROJECT &&
        nameFits(asset.name, asked.name) &&
        (asked.status === undefined || statusOf(asset, nowMs) === asked.status),
    )
    .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
  const offset = Number(asked.offset ?? 0);
  const items = matches
    .slice(offset, offset + Number(asked.limit ?? REST_LIST_DEFAULT))
    .map((asset) => assetRecord(asset, nowMs));
  return { items, data: items, total: matches.length };
}

interface LibraryAction {
  readonly endpoint: Endpoint;
  /** Makes the `Result` from a checked body. May throw Refusal. */
  answer(body: Body, world: World): object;
}

/** The fields of checked bodies; every action uses some of them. */
interface Body {
  readonly Id: string;
  readonly Name?: string;
  readonly Description?: string;
  readonly GroupId: string;
  readonly URL: string;
  readonly AssetType: string;
  readonly GroupType?: string;
  readonly ProjectName?: string;
}

/** The ten actions ("Asset library actions"). */
const libraryActions: Readonly<Record<AssetAction, LibraryAction>> = {
  CreateAssetGroup: {
    endpoint: createGroup,
    answer(body, world) {
      const nowMs = world.now();
      const id = makeTaskId('group', nowMs);
      keepGroup(
        {
          id,
          name: body.Name ?? '',
          description: body.Description ?? '',
          type: canonical(groupTypes, body.GroupType) ?? DEFAULT_GROUP_TYPE,
          project: projectOf(body),
          createdAtMs: nowMs,
          updatedAtMs: nowMs,
        },
        world,
      );
      return { Id: id };
    },
  },
  ListAssetGroups: {
    endpoint: listGroups,
    answer: (body, world) => groupPage(body as unknown as ListBody, world),
  },
  GetAssetGroup: {
    endpoint: getGroup,
    answer: (body, world) => groupRecord(findGroup(body.Id, projectOf(body), world)),
  },
  UpdateAssetGroup: {
    endpoint: updateGroup,
    answer(body, world) {
      const group = findGroup(body.Id, projectOf(body), world);
      const { Name: name = group.name, Description: description = group.description } = body;
      keepGroup({ ...group, name, description, updatedAtMs: world.now() }, world);
      return { Id: group.id };
    },
  },
  DeleteAssetGroup: {
    endpoint: deleteGroup,
    answer(body, world) {
      dropGroup(findGroup(body.Id, projectOf(body), world).id, world);
      return {};
    },
  },
  CreateAsset: {
    endpoint: createAsset,
    answer(body, world) {
      const group = findGroup(body.GroupId, projectOf(body), world);
      const nowMs = world.now();
      const asset = {
        id: makeTaskId('asset', nowMs),
        name: body.Name ?? '',
        groupId: group.id,
        project: group.project,
        type: canonical(assetTypes, body.AssetType) as AssetType,
        url: body.URL,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      keepAsset({ ...asset, ...planProcessing(asset, world) }, world);
      return { Id: asset.id };
    },
  },
  GetAsset: {
    endpoint: getAsset,
    answer: (body, world) => assetRecord(findAsset(body.Id, projectOf(body), world), world.now()),
  },
  ListAssets: {
    endpoint: listAssets,
    answer: (body, world) => assetPage(body as unknown as ListBody, world),
  },
  UpdateAsset: {
    endpoint: updateAsset,
    answer(body, world) {
      const asset = findOwnAsset(body.Id, projectOf(body), world);
      keepAsset({ ...asset, name: body.Name ?? asset.name, updatedAtMs: world.now() }, world);
      return { Id: asset.id };
    },
  },
  DeleteAsset: {
    endpoint: deleteAsset,
    answer(body, world) {
      world.store.drop(ASSET, findOwnAsset(body.Id, projectOf(body), world).id);
      return {};
    },
  },
};

/** The asset library: ten actions and three REST aliases ("Asset library actions"). */
export const assetRoutes: readonly Route[] = [
  ...assetActions.map((action) => actionRoute(libraryActions[action].endpoint, action, true)),
  otherAction,
  actionRoute(uploadAsset, 'CreateAsset', false),
  ...restRoutes,
];
