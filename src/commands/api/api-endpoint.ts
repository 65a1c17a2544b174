import * as z from 'zod';
import { allEndpoints, credentialByPrefix } from '../../gateway/all-endpoints.ts';
import type { Endpoint, HttpMethod } from '../../gateway/endpoint.ts';
import { matchPath } from '../../gateway/match-path.ts';
import type { ApiPath } from './read-path.ts';

/**
 * The row by which a request by hand is sent: credential and what may be sent again as the gateway's own row for that
 * path says. Where there is none: reads may be repeated, everything else never on a guess.
 */
export function apiEndpoint(method: HttpMethod, { path, query }: ApiPath): Endpoint {
  const action = new URLSearchParams(query).get('Action');
  const samePath = allEndpoints.filter((row) => {
    const [pattern = '', fixed] = row.path.split('?');
    const named = new URLSearchParams(fixed).get('Action');
    return matchPath(pattern, path) !== undefined && (named === null || named === action);
  });
  const row = samePath.find((each) => each.method === method);
  return {
    name: row?.name ?? 'api',
    method,
    path: query === '' ? path : `${path}?${query}`,
    credential: (row ?? samePath[0])?.credential ?? credentialOf(path),
    resend: method === 'GET' ? 'read' : (row?.resend ?? 'upload'),
    reply: z.unknown(),
    ...(row?.maxBodyBytes !== undefined && { maxBodyBytes: row.maxBodyBytes }),
    ...(row?.notFoundStatus !== undefined && { notFoundStatus: row.notFoundStatus }),
    ...(row?.refusal && { refusal: row.refusal }),
  };
}

const credentialOf = (path: string): Endpoint['credential'] =>
  credentialByPrefix.find(({ prefix }) => path.startsWith(prefix))?.credential ?? 'bearer';
