import { get } from 'node:http';

/** The status that a server returns for a path that no URL could contain. */
export const statusOf = (url: string, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { path }, (reply) => resolve(reply.resume().statusCode)).on('error', reject);
  });
