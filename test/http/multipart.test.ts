import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import type * as net from 'node:net';
import * as path from 'node:path';
import { expect, test } from 'vitest';
import type { GwError } from '../../src/errors.ts';
import { formBytes, type MultipartBody, multipartBody } from '../../src/http/multipart-body.ts';
import { curlCommand, requestJson, showRequest } from '../../src/http/show-request.ts';
import { streamForm } from '../../src/http/stream-form.ts';
import { close, json, reset, type Step, silence, startFaultServer } from '../helpers/fault-server.ts';
import { newDir } from '../helpers/new-dir.ts';
import { errorOf, paidEndpoint, testClient } from './test-client.ts';

const endpoint = { ...paidEndpoint, path: '/v1/images/edits', maxBodyBytes: 64 * 1024 * 1024 };
const MB = 1024 * 1024;
const fine = json(200, { id: 't-1' });

async function serve(steps: readonly Step[], more = {}) {
  const server = await startFaultServer({ steps, ...more });
  return server;
}

const clientOf = (url: string, settings = {}) => testClient(url, settings).client;

/** A form of a text and one file of this content. */
function formOf(content: Uint8Array, name = 'fox.png'): { form: MultipartBody; file: string } {
  const file = path.join(newDir(), 'input');
  fs.writeFileSync(file, content);
  const fields = [
    { name: 'model', value: 'img-2' },
    { name: 'prompt', value: 'ein Füchslein\nim "Schnee"' },
    { name: 'image[]', file: { path: file, name, type: 'image/png', bytes: content.length } },
  ];
  return { form: { boundary: 'gw-0', fields }, file };
}

test('the bytes are those of a form, to the letter', async () => {
  const server = await serve([fine]);
  const { form } = formOf(Buffer.from('PNG\r\n--gw\0bytes'), 'a "fox"\n.png');
  await clientOf(server.url).send(endpoint, { multipart: form });
  const [request] = server.requests;
  expect(String(request?.body)).toBe(
    [
      '--gw-0',
      'content-disposition: form-data; name="model"',
      '',
      'img-2',
      '--gw-0',
      'content-disposition: form-data; name="prompt"',
      '',
      'ein Füchslein\nim "Schnee"',
      '--gw-0',
      'content-disposition: form-data; name="image[]"; filename="a %22fox%22%0A.png"',
      'content-type: image/png',
      '',
      'PNG',
      '--gw\0bytes',
      '--gw-0--',
      '',
    ].join('\r\n'),
  );
  expect(request?.headers).toMatchObject({
    'content-type': 'multipart/form-data; boundary=gw-0',
    'content-length': String(formBytes(form)),
  });
});

test('a parser that nobody here wrote finds the same fields', async () => {
  const server = await serve([fine]);
  const content = Buffer.alloc(300_000, 'fox\r\n--');
  const { form } = formOf(content);
  const own = { ...form, boundary: multipartBody([]).boundary };
  await clientOf(server.url).send(endpoint, { multipart: own });
  const [{ body, headers } = { body: Buffer.alloc(0), headers: {} as Record<string, string> }] =
    server.requests;
  const parsed = await new Response(Uint8Array.from(body), {
    headers: { 'content-type': headers['content-type'] ?? '' },
  }).formData();
  const file = parsed.get('image[]') as File;
  expect([parsed.get('model'), file.name, file.type]).toEqual(['img-2', 'fox.png', 'image/png']);
  expect(Buffer.from(await file.arrayBuffer()).equals(content)).toBe(true);
});

test('every form has a boundary of its own', () => {
  expect(multipartBody([]).boundary).toMatch(/^gw-[0-9a-f]{32}$/);
  expect(multipartBody([]).boundary).not.toBe(multipartBody([]).boundary);
});

test('a 429 is sent again with the files read anew', async () => {
  const server = await serve([json(429, {}, { 'retry-after': '1' }), fine]);
  const { form } = formOf(Buffer.alloc(200_000, 7));
  await clientOf(server.url).send(endpoint, { multipart: form });
  expect(server.requests).toHaveLength(2);
  expect(server.requests[0]?.body.equals(server.requests[1]?.body ?? Buffer.alloc(0))).toBe(true);
});

test.each<[string, Step]>([
  ['reset', reset],
  ['close', close],
  ['silence', silence],
  ['HTTP 502', json(502, {})],
])('%s: a paid form is taken once', async (_, step) => {
  const server = await serve([step, fine]);
  const { form } = formOf(Buffer.alloc(100_000, 7));
  const error = await errorOf<GwError>(
    clientOf(server.url, { silenceMs: 400 }).send(endpoint, { multipart: form }),
  );
  expect([error.kind, server.requests.length]).toEqual(['unknown_outcome', 1]);
});

test.each([
  ['gone', (file: string) => fs.rmSync(file), /went away before it was sent/],
  ['longer', (file: string) => fs.appendFileSync(file, 'x'), /changed before it was sent/],
])('a file that is %s before it is sent: nothing is sent', async (_, change, message) => {
  const server = await serve([fine]);
  const { form, file } = formOf(Buffer.alloc(1_000, 7));
  change(file);
  const error = await errorOf<GwError>(clientOf(server.url).send(endpoint, { multipart: form }));
  expect([error.kind, server.connections()]).toEqual(['usage', 0]);
  expect(error.message).toMatch(message);
});

test.each([
  ['shrinks', (file: string) => fs.truncateSync(file, 100_000), /became shorter|changed/],
  ['is written anew', (file: string) => fs.utimesSync(file, 1, 1), /changed/],
])(
  'a file that %s while it is sent: the form never ends, and its outcome is not known',
  async (_, change, message) => {
    // Larger than the kernel's buffers, so that gw has not read the end of the file when the first bytes arrive.
    const { form, file } = formOf(Buffer.alloc(48 * 1024 * 1024, 7));
    const server = await serve([fine], {
      onConnection: (socket: net.Socket) => {
        let received = 0;
        socket.on('data', (chunk: Buffer) => {
          // gw has opened the file by then.
          if (received < MB && received + chunk.length >= MB) change(file);
          received += chunk.length;
        });
        return false;
      },
    });
    const error = await errorOf<GwError>(clientOf(server.url).send(endpoint, { multipart: form }));
    expect(error.kind).toBe('unknown_outcome');
    expect(error.message).toMatch(message);
    expect([server.requests.length, server.connections()]).toEqual([0, 1]);
  },
);

test('a changed file breaks the stream off before its end', async () => {
  const { form, file } = formOf(Buffer.alloc(400_000, 7));
  let sent = 0;
  const read = async () => {
    for await (const piece of streamForm(form).open()) {
      if (sent === 0) sent += 1;
      else if (piece.length > 60_000 && sent++ === 1) fs.utimesSync(file, 1, 1);
    }
  };
  await expect(read()).rejects.toThrow(/changed while it was sent/);
});

test('a form is shown with its parts, and as curl', async () => {
  const { form, file } = formOf(Buffer.from('bytes'), 'it\'s "a" fox.png');
  const request = clientOf('http://127.0.0.1:1').prepare(endpoint, { multipart: form });
  expect(showRequest(request)).toContain(
    [
      '',
      'model: img-2',
      'prompt: "ein Füchslein\\nim \\"Schnee\\""',
      `image[]: it's "a" fox.png (image/png, 5 bytes) from ${file}`,
      '',
    ].join('\n'),
  );
  expect(requestJson(request).multipart).toEqual(form.fields);
});

test('the curl command sends the same fields', { tags: ['curl'] }, async () => {
  const server = await serve([fine]);
  const { form } = formOf(Buffer.from('by\0tes'), 'it\'s "a" fox.png');
  const command = curlCommand(clientOf(server.url).prepare(endpoint, { multipart: form }));
  expect(command).not.toContain('boundary');
  const child = spawn('sh', ['-c', command], {
    env: { PATH: process.env.PATH, GW_API_KEY: 'k' },
    stdio: 'ignore',
  });
  await new Promise((resolve) => child.on('exit', resolve));
  const [{ body, headers } = { body: Buffer.alloc(0), headers: {} as Record<string, string> }] =
    server.requests;
  const parsed = await new Response(Uint8Array.from(body), {
    headers: { 'content-type': headers['content-type'] ?? '' },
  }).formData();
  expect([parsed.get('model'), parsed.get('prompt')]).toEqual(['img-2', 'ein Füchslein\nim "Schnee"']);
  expect(await (parsed.get('image[]') as File).text()).toBe('by\0tes');
});

test('a form over the limit of its endpoint is refused', () => {
  const { form } = formOf(Buffer.alloc(2_000));
  const client = clientOf('http://127.0.0.1:1');
  expect(() => client.prepare({ ...endpoint, maxBodyBytes: 1_000 }, { multipart: form })).toThrow(
    /takes at most 1000/,
  );
});
