import { alphaCreate } from './alpha/create.ts';
import { alphaQuery } from './alpha/task.ts';
import { createAsset, deleteAsset, getAsset, restAsset, updateAsset, uploadAsset } from './asset/actions.ts';
import { createGroup, deleteGroup, getGroup, updateGroup } from './asset/group.ts';
import { listAssets, listGroups, restList } from './asset/list.ts';
import { betaCreates } from './beta/create.ts';
import { betaList } from './beta/list.ts';
import { betaTasks } from './beta/task.ts';
import { billingQuery } from './billing.ts';
import { chatCompletions } from './chat/completions.ts';
import { geoGenerate, geoStream } from './chat/geo.ts';
import { chatMessages } from './chat/messages.ts';
import type { Credential, Endpoint } from './endpoint.ts';
import { gammaCreate } from './gamma/create.ts';
import { gammaQuery } from './gamma/task.ts';
import { imageEdit } from './image/edit.ts';
import { imageGenerate } from './image/generate.ts';
import { imageNative } from './image/native.ts';
import { modelsList } from './models.ts';

/** Every endpoint that gw knows as a row ("Summary"); loads all families, so only for what may ask any of them. */
export const allEndpoints: readonly Endpoint[] = [
  chatCompletions,
  chatMessages,
  geoGenerate,
  geoStream,
  imageGenerate,
  imageEdit,
  imageNative,
  alphaCreate,
  alphaQuery,
  ...betaCreates,
  betaTasks,
  betaList,
  gammaCreate,
  gammaQuery,
  createGroup,
  listGroups,
  getGroup,
  updateGroup,
  deleteGroup,
  createAsset,
  listAssets,
  getAsset,
  updateAsset,
  deleteAsset,
  uploadAsset,
  restAsset,
  restList,
  modelsList,
  billingQuery,
];

/** Which credential a path below these takes, where no row says so ("Authentication", "Versioning"). */
export const credentialByPrefix: readonly { readonly prefix: string; readonly credential: Credential }[] = [
  { prefix: '/v1beta/', credential: 'geo' },
  { prefix: '/v1/messages/', credential: 'messages' },
];
