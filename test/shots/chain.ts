import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Sandbox } from '../../src/sandbox/server.ts';

// An image, and four shots that each begin with the last frame of the one before.

/** The shots have different shapes, so that each ends with a different picture; they are listed from the last to the first. */
export const story = [
  ...['1:1', '4:3', '9:16', '16:9'].map((ratio, at) => ({
    ...{ command: 'video alpha', id: `s${4 - at}`, prompt: `shot s${4 - at}.`, ratio },
    ...{ model: '2.0-fast', resolution: '480p', duration: 4, 'first-frame': `row:s${3 - at}` },
  })),
  { command: 'image create', id: 's0', prompt: 'shot s0.', size: '256x256' },
];
export const ids = ['s0', 's1', 's2', 's3', 's4'] as const;

/** The requests that made a row or may have made it: all that the gateway did not refuse. */
export const createsOf = ({ requests }: Pick<Sandbox, 'requests'>, id: string) =>
  requests.filter(
    ({ server, method, body, status }) =>
      server === 'api' &&
      method === 'POST' &&
      !(status !== undefined && status >= 400) &&
      JSON.stringify(body ?? '').includes(`shot ${id}.`),
  );

/** The picture that was sent in the create of a row. */
export function sentPicture(sandbox: Pick<Sandbox, 'requests'>, id: string): Buffer {
  const [create] = createsOf(sandbox, id);
  const [, data = ''] = /data:image\/\w+;base64,([\w+/=]+)/.exec(JSON.stringify(create?.body ?? '')) ?? [];
  return Buffer.from(data, 'base64');
}

/** Digests of the decoded pictures in a file. */
const picturesIn = (file: string): string[] =>
  execFileSync('ffmpeg', ['-loglevel', 'error', '-i', file, '-pix_fmt', 'rgb24', '-f', 'framemd5', '-'])
    .toString()
    .trim()
    .split('\n')
    .flatMap((line) => (line.startsWith('#') ? [] : (line.split(', ').at(-1) ?? [])));

/** The last picture of each saved output, and the picture that was sent with the next shot; the two must be equal. */
export function framesOf(sandbox: Pick<Sandbox, 'requests'>, saved: readonly string[], dir: string) {
  const sent = ids.slice(1).map((id) => {
    const file = path.join(dir, `sent-${id}`);
    fs.writeFileSync(file, sentPicture(sandbox, id));
    return picturesIn(file);
  });
  const last = saved.slice(0, -1).map((file) => picturesIn(file).slice(-1));
  return { sent, last, different: new Set(last.flat()).size };
}
