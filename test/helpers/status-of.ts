import { get } from 'node:http';

/** What the server of a URL answers where it is asked for a path that no URL could hold. */
export const statusOf = (url: string, path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, { path }, (reply) => resolve(reply.resume().statusCode)).on('error', reject);
  });
