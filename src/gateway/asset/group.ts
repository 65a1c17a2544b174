import { type ObjectMaker, withRules } from '../body.ts';
import type { Endpoint } from '../endpoint.ts';
import { IdBody } from './actions.ts';
import { actionEndpoint, EmptyResult } from './envelope.ts';
import {
  anyCase,
  DEFAULT_GROUP_TYPE,
  groupTypes,
  LibraryId,
  MAX_DESCRIPTION,
  MAX_NAME,
  projectField,
  textUpTo,
  wordsUpTo,
} from './fields.ts';
import { AssetGroup, CreatedId } from './record.ts';

// Creating, reading, changing and deleting one asset group ("Asset library actions").

const createGroupFields = (object: ObjectMaker) =>
  object({
    Name: wordsUpTo(MAX_NAME).describe(`name of the group, up to ${MAX_NAME} characters`),
    Description: textUpTo(MAX_DESCRIPTION)
      .optional()
      .describe(`what it is for, up to ${MAX_DESCRIPTION} characters`),
    GroupType: anyCase(groupTypes)
      .optional()
      .describe(`what kind of assets it holds (the service: ${DEFAULT_GROUP_TYPE})`),
    ProjectName: projectField,
  });
const updateGroupFields = (object: ObjectMaker) =>
  object({
    Id: LibraryId,
    Name: wordsUpTo(MAX_NAME).optional().describe(`new name, up to ${MAX_NAME} characters`),
    Description: textUpTo(MAX_DESCRIPTION)
      .optional()
      .describe(`new description, up to ${MAX_DESCRIPTION} characters`),
    ProjectName: projectField,
  });

/** Each body; the strict one refuses what the document does not list. */
export const [CreateGroupBody, CreateGroupStrictBody] = withRules(createGroupFields, []);
export const [UpdateGroupBody, UpdateGroupStrictBody] = withRules(updateGroupFields, []);

export const createGroup: Endpoint = actionEndpoint('CreateAssetGroup', 'upload', CreateGroupBody, CreatedId);
export const getGroup: Endpoint = actionEndpoint('GetAssetGroup', 'read', IdBody, AssetGroup);
export const updateGroup: Endpoint = actionEndpoint(
  'UpdateAssetGroup',
  'change',
  UpdateGroupBody,
  EmptyResult,
);
export const deleteGroup: Endpoint = actionEndpoint('DeleteAssetGroup', 'change', IdBody, EmptyResult);
