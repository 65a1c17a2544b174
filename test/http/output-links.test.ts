import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { insideOf, outputTransport } from '../../src/http/output-links.ts';
import { HttpTransport } from '../../src/http/transport.ts';
import { listening } from '../helpers/listening.ts';

let asked = 0;
const server = createServer((_, response) => {
  asked += 1;
  response.end('film');
});
const { port } = await listening(server, '0.0.0.0');

/** Fetches a link from a gateway. Resolves with the reply, or the reason why nothing was requested, and with the warnings. */
async function fetched(link: string, baseUrl: string) {
  const warnings: string[] = [];
  // The proxy has the address of this server, so a request through the proxy is counted too.
  const plain = new HttpTransport({ proxies: { httpProxy: `http://127.0.0.1:${port}` } });
  const transport = outputTransport(plain, { baseUrl, warn: (text) => warnings.push(text) });
  const request = {
    method: 'GET',
    url: new URL(link),
    headers: {},
    silenceMs: 5000,
    connectMs: 5000,
  } as const;
  const before = asked;
  const get = () => transport.exchange(request).then(({ bytes }) => Buffer.from(bytes).toString());
  const said = await get().catch((error: Error & { code?: string }) => `${error.code}: ${error.message}`);
  await get().catch(() => undefined);
  await plain.close();
  return { said, warnings, asked: asked - before };
}

const away = 'https://gateway.example.com';

test.each([
  ['127.0.0.1', 'this machine'],
  ['127.9.9.9', 'this machine'],
  ['0.0.0.0', 'this machine'],
  ['::1', 'this machine'],
  ['::', 'this machine'],
  ['::ffff:127.0.0.1', 'this machine'],
  ['::ffff:7f00:1', 'this machine'],
  ['169.254.169.254', 'link-local'],
  ['::ffff:169.254.169.254', 'link-local'],
  ['fe80::1', 'link-local'],
  ['febf::1', 'link-local'],
  ['64:ff9b::7f00:1', 'this machine'],
  ['64:ff9b::a9fe:a9fe', 'link-local'],
  ['2002:7f00:1::1', 'this machine'],
  ['fd00:ec2::254', "a cloud's own services"],
  ['100.100.100.200', "a cloud's own services"],
])('%s is %s', (address, inside) => {
  expect(insideOf(address)).toContain(inside);
});

test.each(['8.8.8.8', '10.0.0.1', '192.168.1.1', '128.0.0.1', '169.253.0.1', 'fec0::1', '2001:db8::1'])(
  '%s is outside',
  (address) => {
    expect(insideOf(address)).toBeUndefined();
  },
);

describe('a link that leads to this machine', () => {
  test.each([
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[64:ff9b::7f00:1]',
    'localhost.',
    'foo.localhost',
  ])('as http://%s is refused before a connection is made', async (host) => {
    const { said, asked } = await fetched(`http://${host}:${port}/a.mp4`, away);
    expect(said).toMatch(
      /^REFUSED_ADDRESS: the link is not followed: .* this machine, and the gateway is not there$/,
    );
    expect(asked).toBe(0);
  });

  test.each(['127.0.0.1', 'localhost'])('is followed where the gateway is there too, as %s', async (host) => {
    const { said } = await fetched(`http://127.0.0.1:${port}/a.mp4`, `http://${host}:1`);
    expect(said).toBe('film');
  });
});

test.each(['http://169.254.169.254/latest', 'http://[fe80::1]/x'])(
  '%s is refused, also to a gateway on this machine',
  async (link) => {
    for (const baseUrl of [away, 'http://127.0.0.1:1']) {
      expect((await fetched(link, baseUrl)).said).toMatch(/^REFUSED_ADDRESS: .* link-local address/);
    }
  },
);

test('http from an https gateway is one warning, however often', async () => {
  const { warnings } = await fetched(`http://127.0.0.1:${port}/a.mp4`, 'https://localhost');
  expect(warnings).toEqual([
    `the output's link is http, not https: anyone in between can read or change what comes from 127.0.0.1:${port}`,
  ]);
  expect((await fetched(`http://127.0.0.1:${port}/a.mp4`, 'http://localhost')).warnings).toEqual([]);
});
