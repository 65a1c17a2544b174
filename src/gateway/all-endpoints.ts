import { alphaCreate } from './alpha/create.ts';
import { alphaQuery } from './alpha/task.ts';
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
} from './asset/actions.ts';
import { listAssets, listGroups, restList } from './asset/list.ts';
import { betaCreates } from './beta/create.ts';
import { betaList } from './beta/list.ts';
import { betaTasks } from './beta/task.ts';
import { chatCompletions } from './chat/completions.ts';
import { geoGenerate, geoStream } from './chat/geo.ts';
import { chatMessages } from './chat/messages.ts';
import { type Credential, type Endpoint, type HttpMethod, matchPath, replyThat } from './endpoint.ts';
import { gammaCreate } from './gamma/create.ts';
import { gammaQuery } from './gamma/task.ts';
import { imageEdit, imageGenerate } from './image/create.ts';
import { imageNative } from './image/native.ts';
import { billingQuery, modelsList } from './models.ts';

/** All documented endpoints ("Summary"). This file loads all families: import it only if any endpoint may be needed. */
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

/**
 * The endpoint row of a raw request (`gw api`). A documented path keeps the credential and the resend rule of its own
 * row. For any other path, a read may be sent again and every other request is sent once.
 */
export function apiEndpoint(
  method: HttpMethod,
  { path, query }: { readonly path: string; readonly query: string },
): Endpoint {
  const action = new URLSearchParams(query).get('Action');
  // Gateways decode percent-encoded ASCII except %2F, so the path must match its row in either spelling.
  const plain = path.replace(/%(?!2f)[2-7][0-9a-f]/gi, decodeURIComponent);
  const samePath = allEndpoints.filter((row) => {
    const [pattern = '', fixed] = row.path.split('?');
    const named = new URLSearchParams(fixed).get('Action');
    return matchPath(pattern, plain) !== undefined && (named === null || named === action);
  });
  const row = samePath.find((each) => each.method === method);
  return {
    name: row?.name ?? 'api',
    method,
    path: query === '' ? path : `${path}?${query}`,
    credential: (row ?? samePath[0])?.credential ?? credentialOf(plain),
    resend: ['GET', 'HEAD', 'OPTIONS'].includes(method) ? 'read' : (row?.resend ?? 'upload'),
    reply: replyThat(() => true),
    ...(row?.maxBodyBytes !== undefined && { maxBodyBytes: row.maxBodyBytes }),
    ...(row?.notFoundStatus !== undefined && { notFoundStatus: row.notFoundStatus }),
    ...(row?.refusal && { refusal: row.refusal }),
  };
}

/** The credential of a path that has no row ("Authentication", "Versioning"). */
function credentialOf(path: string): Credential {
  if (path.startsWith('/v1beta/')) return 'geo';
  return path.startsWith('/v1/messages/') ? 'messages' : 'bearer';
}
