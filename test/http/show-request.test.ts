import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellQuote } from '../../src/errors.ts';
import type { PreparedRequest } from '../../src/http/client.ts';
import { curlCommand, showRequest } from '../../src/http/show-request.ts';
import { json, startFaultServer } from '../helpers/fault-server.ts';
import { KEY } from './test-client.ts';

const request = (body?: unknown, url = 'https://gw.example/v1/tasks?a=b'): PreparedRequest => ({
  method: body === undefined ? 'GET' : 'POST',
  url: new URL(url),
  headers: { authorization: `Bearer ${KEY}`, accept: 'application/json' },
  body: body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body)),
});

test('a dry run shows method, URL, headers with the key hidden, and the body', () => {
  expect(showRequest(request({ prompt: 'a fox' }))).toBe(
    'POST https://gw.example/v1/tasks?a=b\nauthorization: Bearer ***\naccept: application/json\n\n{\n  "prompt": "a fox"\n}\n',
  );
  for (const name of ['x-api-key', 'X-Geo-Api-Key', 'Authorization']) {
    expect(showRequest({ ...request(), headers: { [name]: KEY } })).toBe(
      `GET https://gw.example/v1/tasks?a=b\n${name}: ***\n`,
    );
  }
});

test('a curl command reads the key from the environment', () => {
  const command = curlCommand(request({ prompt: "it's" }));
  expect(command).toBe(
    "curl --silent --show-error --request POST 'https://gw.example/v1/tasks?a=b'" +
      " --header 'accept: application/json' --config - --data-binary '{\"prompt\":\"it'\\''s\"}' <<GW_CURL\n" +
      'header = "authorization: Bearer $GW_API_KEY"\nGW_CURL\n',
  );
  expect(command).not.toContain(KEY);
});

test('what is quoted comes through sh as it was', () => {
  const text = fc
    .string({ unit: 'binary', maxLength: 60 })
    .filter((value) => !/[\0\ud800-\udfff]/.test(value));
  const nasty = fc.string({
    unit: fc.constantFrom("'", '"', '\\', '$', '`', '!', '\n', ' ', '*', '-', '~', '#', 'a'),
  });
  const words = fc.sample(fc.oneof(text, nasty), 300);
  const script = `printf '%s\\0' ${words.map(shellQuote).join(' ')}`;
  const out = execFileSync('sh', ['-c', script], { encoding: 'utf8' });
  expect(out.split('\0').slice(0, -1)).toEqual(words);
});

test.each([
  ['short', { prompt: `it's $HOME \`id\` "x" \\ \n 🦊`, at: '@/etc/passwd' }],
  ['beyond one argument', { prompt: "it's $HOME `id`\nGW_BODY\n", media: 'A'.repeat(300_000) }],
])('the command runs, and sends the same request: %s body', { tags: ['curl'] }, async (_name, body) => {
  const server = await startFaultServer({ steps: [json(200, { id: 'x' })] });
  const command = curlCommand(request(body, `${server.url}/v1/[x]/{y}?q=1`));
  const { execFile } = await import('node:child_process');
  const out = await new Promise<string>((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? '', GW_API_KEY: KEY, NO_PROXY: '*' };
    const child = execFile('sh', { env }, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    child.stdin?.end(command);
  });
  expect(out).toBe('{"id":"x"}');
  const [seen] = server.requests;
  expect(seen?.method).toBe('POST');
  expect(seen?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, accept: 'application/json' });
  expect(seen?.target).toBe(`${new URL(`${server.url}/v1/[x]/{y}`).pathname}?q=1`);
  expect(JSON.parse(String(seen?.body))).toEqual(body);
});
