import * as z from 'zod';
import { createAsset, deleteAsset, getAsset, updateAsset, uploadAsset } from '../../gateway/asset/actions.ts';
import { ASSET_VERSION, type AssetAction, assetActions } from '../../gateway/asset/envelope.ts';
import { createGroup, deleteGroup, getGroup, updateGroup } from '../../gateway/asset/group.ts';
import { listAssets, listGroups } from '../../gateway/asset/list.ts';
import type { Endpoint } from '../../gateway/endpoint.ts';
import { Refusal } from '../reply.ts';
import type { Route } from '../route.ts';
import { libraryActions } from './actions.ts';
import { checkLibraryBody, libraryRefusal, libraryReply } from './envelope.ts';
import { restRoutes } from './rest.ts';

const endpoints: Readonly<Record<AssetAction, Endpoint>> = {
  CreateAssetGroup: createGroup,
  ListAssetGroups: listGroups,
  GetAssetGroup: getGroup,
  UpdateAssetGroup: updateGroup,
  DeleteAssetGroup: deleteGroup,
  CreateAsset: createAsset,
  ListAssets: listAssets,
  GetAsset: getAsset,
  UpdateAsset: updateAsset,
  DeleteAsset: deleteAsset,
};

const versionOf = (url: URL) => url.searchParams.get('Version') ?? '';

/** The body is read as it comes and checked here, because its refusals have codes of their own. */
const actionRoute = (endpoint: Endpoint, action: AssetAction, needsVersion: boolean): Route => ({
  endpoint,
  body: z.unknown(),
  refuse: (refusal, { url }) =>
    libraryRefusal(refusal, action, needsVersion ? versionOf(url) : ASSET_VERSION),
  answer({ body, url, passOver }, world) {
    if (needsVersion) checkVersion(url);
    const { body: strict, answer } = libraryActions[action];
    passOver(checkLibraryBody({ strict, loose: endpoint.body }, body, world));
    return libraryReply(action, answer(body as Parameters<typeof answer>[0], world));
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

/** What comes to the path of the actions and names none of them. */
const otherAction: Route = {
  endpoint: { ...getAsset, name: 'assets.other', path: '/' },
  body: z.unknown(),
  refuse: (refusal, { url }) => libraryRefusal(refusal, url.searchParams.get('Action') ?? '', versionOf(url)),
  answer({ url }) {
    const action = url.searchParams.get('Action') ?? '';
    if (action === '') throw new Refusal(400, 'The parameter Action is required.', 'MissingParameter.Action');
    throw new Refusal(400, `There is no action ${action}.`, 'InvalidAction');
  },
};

/** The asset library: ten actions and three REST aliases ("Asset library actions"). */
export const assetRoutes: readonly Route[] = [
  ...assetActions.map((action) => actionRoute(endpoints[action], action, true)),
  otherAction,
  actionRoute(uploadAsset, 'CreateAsset', false),
  ...restRoutes,
];
