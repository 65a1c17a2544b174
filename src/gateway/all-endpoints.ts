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

/**
 * The row by which a request by hand is sent: credential and what may be sent again as the gateway's own row for that
 * path says. Where there is none: reads may be repeated, everything else never on a guess.
 */
export function apiEndpoint(
  method: HttpMethod,
  { path, query }: { readonly path: string; readonly query: string },
): Endpoint {
  const action = new URLSearchParams(query).get('Action');
  // A gateway undoes what need not have been encoded.
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

/** Which credential a path takes where no row says so ("Authentication", "Versioning"). */
function credentialOf(path: string): Credential {
  if (path.startsWith('/v1beta/')) return 'geo';
  return path.startsWith('/v1/messages/') ? 'messages' : 'bearer';
}
