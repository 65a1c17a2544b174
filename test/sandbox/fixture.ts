import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { makePng } from '../../src/sandbox/media-check.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts';
import { wasmDir } from '../helpers/assets-dir.ts';

export const key = 'sk-test';
export const clipsDir = new URL('../../src/sandbox/clips', import.meta.url).pathname;
export const tasksPath = '/api/v3/contents/generations/tasks';

export const models = {
  standard: 'alpha-video-2-0-260128',
  fast: 'alpha-video-2-0-fast-260128',
  mini: 'alpha-video-2-0-mini-260615',
  '2.5': 'alpha-video-2-5-260628',
} as const;

/** A clock that starts at 2026-11-20T12:00:00Z and that a test moves by hand. */
export function handClock() {
  const clock = {
    nowMs: Date.UTC(2026, 10, 20, 12),
    now: () => clock.nowMs,
    pass(ms: number) {
      clock.nowMs += ms;
    },
  };
  return clock;
}

/** A sandbox that is closed when the test ends. */
export async function sandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const started = await startSandbox({
    key,
    account: 'enterprise',
    speed: 1,
    faults: [],
    clipsDir,
    wasmDir,
    ...options,
  });
  onTestFinished(() => started.close());
  return started;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
}

/** A reply that ended before its announced length. `bytes` has what arrived. */
export class CutReply extends Error {
  readonly code: string | undefined;
  constructor(
    readonly answer: Answer,
    cause: NodeJS.ErrnoException,
  ) {
    super('the reply was cut', { cause });
    this.code = cause.code;
  }
}

/** Sends one request on its own connection. Rejects if the connection breaks: with a CutReply if a reply had begun. */
export function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method: options.method ?? 'GET',
      headers: options.headers ?? {},
      agent: false,
    });
    asked.on('error', reject);
    asked.on('response', (response) => {
      const chunks: Buffer[] = [];
      const soFar = (): Answer => {
        const bytes = Buffer.concat(chunks);
        const headers = response.headers as Record<string, string>;
        return { status: response.statusCode ?? 0, headers, bytes, text: bytes.toString() };
      };
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => reject(new CutReply(soFar(), error)));
      response.on('end', () => resolve(soFar()));
    });
    asked.end(options.body);
  });
}

export const text = (words: string) => ({ type: 'text', text: words });
export const image = (role: string, url = 'https://example.com/a.png') => ({
  type: 'image_url',
  image_url: { url },
  role,
});
export const video = (url = 'https://example.com/a.mp4') => ({
  type: 'video_url',
  video_url: { url },
  role: 'reference_video',
});
export const audio = (url = 'https://example.com/a.mp3') => ({
  type: 'audio_url',
  audio_url: { url },
  role: 'reference_audio',
});

/** A create body for standard 2.0 with a prompt. The fields of `over` are added or replaced. */
export const bodyOf = (over: Record<string, unknown> = {}) => ({
  model: models.standard,
  content: [text('a fox in the snow')],
  ...over,
});

export const auth = { authorization: `Bearer ${key}` };

export const post = (at: Sandbox, path: string, body: unknown) =>
  ask(`${at.baseUrl}${path}`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

export const get = (at: Sandbox, path: string) => ask(`${at.baseUrl}${path}`, { headers: auth });

export const create = (at: Sandbox, body: unknown = bodyOf()) => post(at, tasksPath, body);

export const query = (at: Sandbox, id: string) => get(at, `${tasksPath}/${id}`);

// biome-ignore lint/suspicious/noExplicitAny: replies are looked at field by field, each expectation is the check
export const json = (answer: Answer): any => JSON.parse(answer.text);

export async function createdId(at: Sandbox, body?: unknown): Promise<string> {
  const answer = await create(at, body);
  if (answer.status !== 200) throw new Error(`not created: ${answer.status} ${answer.text}`);
  return json(answer).task_id;
}

/** The record of a new task that has ended at once. Only for sandboxes at infinite speed. */
export async function finished(at: Sandbox, body?: unknown) {
  return json(await query(at, await createdId(at, body)));
}

export async function pngUri(widthPx: number, heightPx: number): Promise<string> {
  const png = await makePng(widthPx, heightPx, (row) => row.fill(90));
  return `data:image/png;base64,${Buffer.from(png).toString('base64')}`;
}

/** A silent WAV of 8 kHz, 8 bit. */
export function wavUri(seconds: number): string {
  const samples = Buffer.alloc(8000 * seconds, 128);
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return `data:audio/wav;base64,${Buffer.concat([head, samples]).toString('base64')}`;
}

export const run = promisify(execFile);

/** The path of a state directory that does not exist yet, in a directory that is removed after the test. */
export async function newStateDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-sandbox-'));
  onTestFinished(async () => {
    await chmod(folder, 0o700);
    await rm(folder, { recursive: true, force: true });
  });
  return join(folder, 'state');
}

export interface Probe {
  readonly streams: readonly Readonly<Record<string, unknown>>[];
  readonly format: Readonly<Record<string, unknown>>;
}

/** Returns what ffprobe reports about a file. */
export async function probe(path: string): Promise<Probe> {
  const args = ['-v', 'error', '-show_streams', '-show_format', '-of', 'json', path];
  return JSON.parse((await run('ffprobe', args)).stdout);
}

/**
 * Reads films or images in one run of ffmpeg, because its start takes longer than one of them. Returns its words about each
 * file, and all packets as `-f framecrc` prints them, with the number of the file.
 */
export async function readAll(paths: readonly string[]): Promise<{ told: string[]; packets: string }> {
  const { stdout, stderr } = await run('ffmpeg', [
    ...['-nostdin', '-hide_banner', ...paths.flatMap((each) => ['-i', each])],
    ...[...paths.flatMap((_, nth) => ['-map', String(nth)]), '-c', 'copy', '-f', 'framecrc', '-'],
  ]);
  const [inputs = ''] = stderr.split(/^(?:Output #|Stream mapping:)/m);
  return { told: inputs.split(/^Input #\d+, /m).slice(1), packets: stdout };
}

/** Decodes every frame. Returns ffmpeg's errors: an empty text if there are none. */
export const decode = async (path: string) =>
  (await run('ffmpeg', ['-v', 'error', '-i', path, '-f', 'null', '-'])).stderr;
