import * as z from 'zod';
import { createAssetBody, idBody, updateAssetBody } from '../../gateway/asset/actions.ts';
import type { AssetAction } from '../../gateway/asset/envelope.ts';
import {
  type AssetType,
  assetTypes,
  canonical,
  DEFAULT_GROUP_TYPE,
  groupTypes,
} from '../../gateway/asset/fields.ts';
import { createGroupBody, updateGroupBody } from '../../gateway/asset/group.ts';
import { listAssetsBody, listGroupsBody } from '../../gateway/asset/list.ts';
import type { World } from '../world.ts';
import {
  dropAsset,
  dropGroup,
  findAsset,
  findGroup,
  findOwnAsset,
  keepAsset,
  keepGroup,
  makeLibraryId,
  projectOf,
} from './library.ts';
import { assetPage, groupPage, type ListBody } from './pages.ts';
import { planProcessing } from './processing.ts';
import { assetRecord, groupRecord } from './records.ts';

/** What the library does for an action. */
export interface LibraryAction {
  /** Refuses fields that the document does not list. */
  readonly body: z.ZodType;
  /** The `Result`, from a checked body. May throw Refusal. */
  answer(body: Body, world: World): object;
}

/** A checked body: every action has some of these. */
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

const strict = z.strictObject;

/** The ten actions ("Asset library actions"). */
export const libraryActions: Readonly<Record<AssetAction, LibraryAction>> = {
  CreateAssetGroup: {
    body: createGroupBody(strict),
    answer(body, world) {
      const nowMs = world.now();
      const id = makeLibraryId('group', nowMs);
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
    body: listGroupsBody(strict),
    answer: (body, world) => groupPage(body as unknown as ListBody, world),
  },
  GetAssetGroup: {
    body: idBody(strict),
    answer: (body, world) => groupRecord(findGroup(body.Id, projectOf(body), world)),
  },
  UpdateAssetGroup: {
    body: updateGroupBody(strict),
    answer(body, world) {
      const group = findGroup(body.Id, projectOf(body), world);
      const { Name: name = group.name, Description: description = group.description } = body;
      keepGroup({ ...group, name, description, updatedAtMs: world.now() }, world);
      return { Id: group.id };
    },
  },
  DeleteAssetGroup: {
    body: idBody(strict),
    answer(body, world) {
      dropGroup(findGroup(body.Id, projectOf(body), world).id, world);
      return {};
    },
  },
  CreateAsset: {
    body: createAssetBody(strict),
    answer(body, world) {
      const group = findGroup(body.GroupId, projectOf(body), world);
      const nowMs = world.now();
      const asset = {
        id: makeLibraryId('asset', nowMs),
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
    body: idBody(strict),
    answer: (body, world) => assetRecord(findAsset(body.Id, projectOf(body), world), world.now()),
  },
  ListAssets: {
    body: listAssetsBody(strict),
    answer: (body, world) => assetPage(body as unknown as ListBody, world),
  },
  UpdateAsset: {
    body: updateAssetBody(strict),
    answer(body, world) {
      const asset = findOwnAsset(body.Id, projectOf(body), world);
      keepAsset({ ...asset, name: body.Name ?? asset.name, updatedAtMs: world.now() }, world);
      return { Id: asset.id };
    },
  },
  DeleteAsset: {
    body: idBody(strict),
    answer(body, world) {
      dropAsset(findOwnAsset(body.Id, projectOf(body), world).id, world);
      return {};
    },
  },
};
