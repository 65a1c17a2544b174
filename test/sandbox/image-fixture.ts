import { readFile, writeFile } from 'node:fs/promises';
import * as path from 'node:path';
import { imageSize } from 'image-size';
import { makePng } from '../../src/sandbox/media-check.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { newDir } from '../helpers/new-dir.ts';
import { type Answer, ask, auth, json, readAll, run } from './fixture.ts';

export const generationsPath = '/v1/images/generations';
export const editsPath = '/v1/images/edits';
export const nativePath = (model: string) => `/v1/models/${model}:generateContent`;

export const prompt = 'a paper boat on a calm sea at dawn';

export const post = (at: Sandbox, to: string, body: unknown): Promise<Answer> =>
  ask(`${at.baseUrl}${to}`, {
    method: 'POST',
    headers: { ...auth, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

export const generate = (at: Sandbox, body: object) => post(at, generationsPath, { prompt, ...body });

/** Posts a form as a client does. A value of bytes is sent as a file. */
export async function postForm(
  at: Sandbox,
  parts: readonly (readonly [field: string, value: string | Uint8Array])[],
): Promise<Answer> {
  const form = new FormData();
  for (const [field, value] of parts) {
    if (typeof value === 'string') form.append(field, value);
    else form.append(field, new Blob([new Uint8Array(value)], { type: 'image/png' }), 'image.png');
  }
  const request = new Request('http://sandbox', { method: 'POST', body: form });
  return ask(`${at.baseUrl}${editsPath}`, {
    method: 'POST',
    headers: { ...auth, 'content-type': request.headers.get('content-type') ?? '' },
    body: new Uint8Array(await request.arrayBuffer()),
  });
}

/** A PNG of one colour. */
export const png = (widthPx = 320, heightPx = 200) => makePng(widthPx, heightPx, (row) => row.fill(90));

/** The images of a reply with status 200, in the format of any endpoint. */
export async function imagesOf(answer: Answer): Promise<Buffer[]> {
  if (answer.status !== 200) throw new Error(`refused: ${answer.status} ${answer.text}`);
  const { data, candidates } = json(answer);
  const found: Buffer[] = [];
  for (const item of data ?? []) {
    found.push(item.b64_json ? Buffer.from(item.b64_json, 'base64') : (await ask(item.url)).bytes);
  }
  for (const part of candidates?.[0].content.parts ?? []) {
    if (part.inlineData) found.push(Buffer.from(part.inlineData.data, 'base64'));
    if (part.fileData) found.push((await ask(part.fileData.fileUri)).bytes);
  }
  return found;
}

/** The type and size of each image by an image library, ffmpeg and the program `file`, each as `png 1024x1024`. */
export async function judged(images: readonly Uint8Array[]): Promise<readonly (readonly string[])[]> {
  const paths = await Promise.all(images.map(saved));
  const { packets } = await readAll(paths);
  const { stdout } = await run('file', ['--brief', ...paths]);
  const words = stdout.split('\n');
  return images.map((image, nth) => {
    const { type, width, height } = imageSize(image);
    const [, codec] = new RegExp(`^#codec_id ${nth}: (\\w+)$`, 'm').exec(packets) ?? [];
    const [, size] = new RegExp(`^#dimensions ${nth}: (\\w+)$`, 'm').exec(packets) ?? [];
    const said = words[nth] ?? '';
    const kind = { PNG: 'png', JPEG: 'jpg', 'Web/P': 'webp' }[/PNG|JPEG|Web\/P/.exec(said)?.[0] ?? ''];
    const [, across, down] = [...said.matchAll(/(\d+) ?x ?(\d+)/g)].at(-1) ?? [];
    return [
      `${type} ${width}x${height}`,
      `${codec === 'mjpeg' ? 'jpg' : codec} ${size}`,
      `${kind} ${across}x${down}`,
    ];
  });
}

async function saved(bytes: Uint8Array): Promise<string> {
  const dir = newDir();
  const at = path.join(dir, 'image');
  await writeFile(at, bytes);
  return at;
}

/** The pixels of an image as RGBA. */
export async function pixels(bytes: Uint8Array): Promise<Buffer> {
  const at = await saved(bytes);
  await run('ffmpeg', ['-v', 'error', '-i', at, '-f', 'rawvideo', '-pix_fmt', 'rgba', `${at}.raw`]);
  return readFile(`${at}.raw`);
}
