import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import type { GwError } from '../../src/errors.ts';
import type { ExchangeError, WireRequest } from '../../src/http/exchange.ts';
import { isExempt, type Proxies, proxiesFromEnv, proxyFor } from '../../src/http/proxy.ts';
import { HttpTransport, type TransportOptions } from '../../src/http/transport.ts';
import { closing } from '../helpers/closing.ts';
import { dribble, json, replyBytes, reset, startFaultServer } from '../helpers/fault-server.ts';
import { freePort } from '../helpers/free-port.ts';
import { startProxyServer } from '../helpers/proxy-server.ts';
import { makeSelfSigned } from '../helpers/self-signed.ts';
import { errorOf } from './test-client.ts';

const open = (proxies: Proxies | undefined, more: Partial<TransportOptions> = {}) =>
  closing(new HttpTransport({ proxies, ...more }));
const get = (url: string): WireRequest => ({
  method: 'GET',
  url: new URL(url),
  headers: { authorization: 'Bearer sk-canary' },
  silenceMs: 3_000,
  connectMs: 3_000,
});
const failure = (promise: Promise<unknown>) => errorOf<ExchangeError>(promise);

test('the environment is read in both spellings, the lower one first; empty is not set', () => {
  expect(proxiesFromEnv({})).toBeUndefined();
  expect(proxiesFromEnv({ HTTPS_PROXY: '', NO_PROXY: 'x' })).toBeUndefined();
  expect(proxiesFromEnv({ HTTP_PROXY: 'a', http_proxy: 'b', https_proxy: 'c', NO_PROXY: 'd' })).toEqual({
    httpProxy: 'b',
    httpsProxy: 'c',
    noProxy: 'd',
  });
});

test.each([
  ['https://gw.example/', '', false],
  ['https://gw.example/', '*', true],
  ['https://gw.example/', 'other.example, *', true],
  ['https://gw.example/', 'gw.example', true],
  ['https://gw.example/', 'GW.Example.', true],
  ['https://a.gw.example/', 'gw.example', true],
  ['https://a.gw.example/', '.gw.example', true],
  ['https://a.gw.example/', '*.gw.example', true],
  ['https://gw.example/', '.gw.example', true],
  ['https://notgw.example/', 'gw.example', false],
  ['https://gw.example.evil/', 'gw.example', false],
  ['https://gw.example/', 'x gw.example', true],
  ['https://gw.example/', 'gw.example:443', true],
  ['https://gw.example/', 'gw.example:8443', false],
  ['http://gw.example:8080/', 'gw.example:8080', true],
  ['http://127.0.0.1:9/', '127.0.0.1', true],
  ['http://127.0.0.1:9/', '0.0.1', false],
  ['http://10.1.2.3/', '10.0.0.0/8', true],
  ['http://11.1.2.3/', '10.0.0.0/8', false],
  ['http://10.1.2.3/', '10.0.0.0/99', false],
  ['http://[::1]:9/', '::1', true],
  ['http://[::1]:9/', '[::1]:9', true],
  ['http://[fd00::1]/', 'fd00::/8', true],
  ['https://gw.example/', ',.,', false],
])('%s with NO_PROXY %j: exempt %s', (url, noProxy, exempt) => {
  expect(isExempt(new URL(url), noProxy)).toBe(exempt);
});

test('the proxy goes by the scheme of the target; an address without a scheme is HTTP', () => {
  const proxies = { httpProxy: 'plain.example:3128', httpsProxy: 'https://u%40x:p@secure.example' };
  expect(proxyFor(new URL('http://gw.example'), proxies)?.url.origin).toBe('http://plain.example:3128');
  const secure = proxyFor(new URL('https://gw.example'), proxies);
  expect([secure?.url.origin, secure?.authorization]).toEqual([
    'https://secure.example',
    `Basic ${Buffer.from('u@x:p').toString('base64')}`,
  ]);
  expect(proxyFor(new URL('https://gw.example'), { httpProxy: 'x' })).toBeUndefined();
});

test.each([
  'socks5://u:s3cret@proxy:1080',
  'http://',
  'http://u:s3cret@:::',
  'ftp://proxy',
  'u:s3cret@proxy:port',
])('the proxy %j is one usage error, without its password', async (httpProxy) => {
  const error = (await errorOf(
    open({ httpProxy }).exchange(get('http://gw.example/')),
  )) as unknown as GwError;
  expect([error.kind, error.message]).toEqual(['usage', expect.stringMatching(/^HTTP_PROXY /)]);
  expect(`${error.message}${error.facts.hint}`).not.toContain('s3cret');
});

test('a plain target is asked for in absolute form, and the connection to the proxy is kept', async () => {
  const server = await startFaultServer({ steps: [json(200, { id: 'x' })] });
  const proxy = await startProxyServer({ authorization: `Basic ${Buffer.from('u:p').toString('base64')}` });
  const transport = open({ httpProxy: `http://u:p@127.0.0.1:${proxy.port}` });
  for (const _ of [1, 2]) {
    const got = await transport.exchange(get(`http://gateway.test:${server.port}/a?b=c`));
    expect(Buffer.from(got.bytes).toString()).toBe('{"id":"x"}');
  }
  const line = `GET http://gateway.test:${server.port}/a?b=c`;
  expect(proxy.asked).toEqual([line, line]);
  expect(proxy.headers[0]?.host).toBe(`gateway.test:${server.port}`);
  expect(server.requests[0]).toMatchObject({
    target: '/a?b=c',
    headers: { authorization: 'Bearer sk-canary' },
  });
});

test.each([
  'http://127.0.0.1:9/',
  'http://127.9.8.7:9/',
  'https://127.0.0.1/',
  'http://[::1]:9/',
  'http://[::ffff:127.0.0.1]:9/',
  'http://localhost:9/',
  'http://LOCALHOST/',
])('%s is this machine and never proxied', (url) => {
  const proxies = { httpProxy: 'http://proxy.example', httpsProxy: 'http://proxy.example' };
  expect(proxyFor(new URL(url), proxies)).toBeUndefined();
});

test('the key for a gateway on this machine never passes a proxy', async () => {
  const server = await startFaultServer({ steps: [json(200, {})] });
  const proxy = await startProxyServer();
  await open({ httpProxy: proxy.url, httpsProxy: proxy.url }).exchange(get(server.url));
  expect([proxy.asked, server.requests.length]).toEqual([[], 1]);
});

test('an exempt target is reached directly', async () => {
  const server = await startFaultServer({ steps: [json(200, {})] });
  const proxy = await startProxyServer();
  await open({ httpProxy: proxy.url, noProxy: '127.0.0.1' }).exchange(get(server.url));
  expect([proxy.asked, server.requests.length]).toEqual([[], 1]);
});

test('a proxy that is not there, or asks for a password: certainly not sent', async () => {
  const gone = open({ httpProxy: `127.0.0.1:${await freePort()}` });
  expect(await failure(gone.exchange(get('http://gw.example/')))).toMatchObject({
    sent: 'no',
    code: 'PROXY_AWAY',
    message: expect.stringContaining('connection refused'),
  });
  const proxy = await startProxyServer({ refuseWith: 407 });
  const refused = open({ httpProxy: proxy.url, httpsProxy: proxy.url });
  for (const url of ['http://gw.example/', 'https://gw.example/']) {
    expect(await failure(refused.exchange(get(url)))).toMatchObject({ sent: 'no', code: 'PROXY_REFUSED' });
  }
});

test('a tunnel that the proxy cannot open, breaks off or never answers: certainly not sent', async () => {
  const broken = await startProxyServer({ refuseWith: 502 });
  const error = await failure(open({ httpsProxy: broken.url }).exchange(get('https://gw.example/')));
  expect([error.sent, error.code, broken.asked]).toEqual(['no', undefined, ['CONNECT gw.example:443']]);
  expect(error.message).toContain('HTTP 502');
  expect(broken.headers[0]).not.toHaveProperty('authorization');
  for (const [step, says] of [
    [reset, /^the proxy \S+ opened no way to gw\.example:443: /],
    [() => {}, /^no connection to gw\.example:443 through the proxy \S+ within 0\.5 s$/],
  ] as const) {
    const server = await startFaultServer({ steps: [step] });
    const tried = open({ httpsProxy: server.url }).exchange({
      ...get('https://gw.example/'),
      connectMs: 500,
    });
    expect(await failure(tried)).toMatchObject({
      sent: 'no',
      code: 'PROXY_AWAY',
      message: expect.stringMatching(says),
    });
  }
});

const identity = makeSelfSigned();
const withTls = (name: string, holds: () => Promise<void>) => test(name, { tags: ['openssl'] }, holds);

withTls('TLS: a trusted server is reached, kept, and its bytes count', async () => {
  const server = await startFaultServer({
    steps: [json(200, { id: 'x' })],
    ...(identity ? { tls: identity } : {}),
  });
  const transport = open(undefined, { ca: identity && [identity.cert] });
  for (const host of ['127.0.0.1', '127.0.0.1', 'localhost']) {
    const got = await transport.exchange(get(`https://${host}:${server.port}/`));
    expect(got.status).toBe(200);
  }
  expect(server.connections()).toBe(2);
});

withTls('TLS: an unknown certificate is never sent anything', async () => {
  const server = await startFaultServer({ steps: [json(200, {})], ...(identity ? { tls: identity } : {}) });
  const error = await failure(open(undefined).exchange(get(server.url)));
  expect([error.sent, error.code, server.requests.length]).toEqual(['no', 'DEPTH_ZERO_SELF_SIGNED_CERT', 0]);
});

withTls('TLS: plain HTTP behind the port, and a reset in the handshake: not sent', async () => {
  const plain = await startFaultServer({
    steps: [],
    onConnection: (socket) => socket.end('HTTP/1.1 400 X\r\n\r\n') !== undefined,
  });
  const resetting = await startFaultServer({
    steps: [],
    onConnection: (socket) => socket.resetAndDestroy() !== undefined,
  });
  const silent = await startFaultServer({ steps: [], onConnection: () => true });
  for (const { port } of [plain, resetting, silent]) {
    const tried = open(undefined).exchange({ ...get(`https://127.0.0.1:${port}/`), connectMs: 100 });
    expect((await failure(tried)).sent).toBe('no');
  }
});

withTls(
  'TLS: after the request a reset may have been sent; silence and dribbling are told apart',
  async () => {
    const tls = identity ? { tls: identity } : {};
    const server = await startFaultServer({
      steps: [reset, () => {}, dribble(replyBytes(200, '{}'), 20)],
      ...tls,
    });
    const transport = open(undefined, { ca: identity && [identity.cert] });
    const request = { ...get(server.url), silenceMs: 400 };
    expect((await failure(transport.exchange(request))).sent).toBe('maybe');
    expect(await failure(transport.exchange(request))).toMatchObject({ sent: 'maybe', code: 'SILENCE' });
    expect(await transport.exchange(request)).toMatchObject({ status: 200 });
  },
);

withTls('TLS: a large upload arrives exactly', async () => {
  const server = await startFaultServer({
    steps: [json(200, {})],
    readDelayMs: 1,
    ...(identity ? { tls: identity } : {}),
  });
  const body = Buffer.alloc(2 * 1024 * 1024, 'upload-');
  await open(undefined, { ca: identity && [identity.cert] }).exchange({
    ...get(server.url),
    method: 'POST',
    body,
  });
  expect(server.requests[0]?.body.equals(body)).toBe(true);
});

withTls('a secure target goes through a tunnel: the proxy sees its name and nothing else', async () => {
  const server = await startFaultServer({
    steps: [json(200, { id: 'x' })],
    ...(identity ? { tls: identity } : {}),
  });
  const proxy = await startProxyServer({ authorization: `Basic ${Buffer.from('u:p').toString('base64')}` });
  const transport = open(
    { httpsProxy: `http://u:p@127.0.0.1:${proxy.port}` },
    { ca: identity && [identity.cert] },
  );
  for (const _ of [1, 2])
    expect(await transport.exchange(get(`https://gateway.test:${server.port}/a`))).toMatchObject({
      status: 200,
    });
  expect(proxy.asked).toEqual([`CONNECT gateway.test:${server.port}`]);
  expect(JSON.stringify(proxy.headers)).not.toContain('canary');
  expect(server.requests[0]).toMatchObject({ target: '/a' });
  expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
});

withTls("a client's certificate goes to its own origin and to no other", async () => {
  const asking = async () => {
    const shown: boolean[] = [];
    const server = await startFaultServer({
      steps: [json(200, {})],
      tls: { ...identity, requestCert: true, rejectUnauthorized: false },
      onConnection: (socket) => {
        shown.push((socket as TLSSocket).getPeerCertificate().fingerprint256 !== undefined);
        return false;
      },
    });
    return { ...server, shown };
  };
  const [gateway, output] = [await asking(), await asking()];
  const transport = open(undefined, {
    ca: identity && [identity.cert],
    ...(identity && { identity: { ...identity, origin: gateway.url } }),
  });
  for (const { url } of [gateway, output]) await transport.exchange(get(url));
  expect([gateway.shown, output.shown]).toEqual([[true], [false]]);
});
