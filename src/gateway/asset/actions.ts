import * as z from 'zod/mini';
import { described, withRules } from '../body.ts';
import { stated } from '../checks.ts';
import type { Endpoint } from '../endpoint.ts';
import { actionEndpoint, EmptyResult, envelopeOf } from './envelope.ts';
import {
  anyCase,
  assetTypes,
  DEFAULT_GROUP_TYPE,
  groupTypes,
  LibraryId,
  MAX_DESCRIPTION,
  MAX_NAME,
  nameText,
  projectField,
  textUpTo,
} from './fields.ts';
import { CreatedId, LibraryRecord } from './record.ts';
import { assetUrlBreach } from './url.ts';

// Creating, reading, renaming and deleting one asset ("Asset library actions", "REST aliases").

const publicUrl = z.string().check(
  z.superRefine((address, ctx) => {
    const breach = assetUrlBreach(address);
    if (breach !== undefined) ctx.addIssue({ code: 'custom', message: breach });
  }),
);

export const CreateAssetBody = withRules((object) =>
  object({
    GroupId: described(LibraryId, 'asset group that it goes into'),
    URL: described(publicUrl, 'public http:// or https:// address of one file'),
    AssetType: described(anyCase(assetTypes), "what the file is (default: what the URL's ending says)"),
    Name: described(nameText(), `name to find it by in lists, up to ${MAX_NAME} characters`),
    ProjectName: projectField,
  }),
);
export const UpdateAssetBody = withRules((object) =>
  object({
    Id: LibraryId,
    Name: described(z.optional(textUpTo(MAX_NAME)), `new name, up to ${MAX_NAME} characters`),
    ProjectName: projectField,
  }),
);
/** The body of every action that takes an ID and nothing else. */
export const IdBody = withRules((object) => object({ Id: LibraryId, ProjectName: projectField }));

export const createAsset: Endpoint = actionEndpoint('CreateAsset', 'upload', CreateAssetBody, CreatedId);
export const getAsset: Endpoint = actionEndpoint('GetAsset', 'read', IdBody, LibraryRecord);
export const updateAsset: Endpoint = actionEndpoint('UpdateAsset', 'change', UpdateAssetBody, EmptyResult);
export const deleteAsset: Endpoint = actionEndpoint('DeleteAsset', 'change', IdBody, EmptyResult);

/** `POST /api/assets/upload`: "same parameters and response as CreateAsset". */
export const uploadAsset: Endpoint = {
  ...createAsset,
  name: 'assets.upload',
  path: '/api/assets/upload',
  reply: envelopeOf(CreatedId),
};

/** `GET /api/assets/{asset_id}`: the asset object without the envelope. */
export const restAsset: Endpoint<LibraryRecord> = {
  name: 'assets.get',
  method: 'GET',
  path: '/api/assets/{asset_id}',
  resend: 'read',
  reply: LibraryRecord,
};

// Creating, reading, changing and deleting one asset group ("Asset library actions").

export const CreateGroupBody = withRules((object) =>
  object({
    Name: described(nameText(), `name of the group, up to ${MAX_NAME} characters`),
    Description: described(
      z.optional(textUpTo(MAX_DESCRIPTION)),
      `what it is for, up to ${MAX_DESCRIPTION} characters`,
    ),
    GroupType: described(
      z.optional(anyCase(groupTypes)),
      `what kind of assets it holds (the service: ${DEFAULT_GROUP_TYPE})`,
    ),
    ProjectName: projectField,
  }),
);
const newName = textUpTo(MAX_NAME).check(stated((name) => name !== '', 'is empty', 'non-empty, max 64'));
export const UpdateGroupBody = withRules((object) =>
  object({
    Id: LibraryId,
    Name: described(z.optional(newName), `new name, up to ${MAX_NAME} characters`),
    Description: described(
      z.optional(textUpTo(MAX_DESCRIPTION)),
      `new description, up to ${MAX_DESCRIPTION} characters`,
    ),
    ProjectName: projectField,
  }),
);

export const createGroup: Endpoint = actionEndpoint('CreateAssetGroup', 'upload', CreateGroupBody, CreatedId);
export const getGroup: Endpoint = actionEndpoint('GetAssetGroup', 'read', IdBody, LibraryRecord);
export const updateGroup: Endpoint = actionEndpoint(
  'UpdateAssetGroup',
  'change',
  UpdateGroupBody,
  EmptyResult,
);
export const deleteGroup: Endpoint = actionEndpoint('DeleteAssetGroup', 'change', IdBody, EmptyResult);
