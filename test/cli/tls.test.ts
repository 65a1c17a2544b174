import * as fs from 'node:fs';
import * as https from 'node:https';
import * as path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { listening } from '../helpers/listening.ts';
import { makeSelfSigned } from '../helpers/self-signed.ts';
import { NearPlace } from './near-place.ts';
import { KEY, Place, until } from './place.ts';

// @module-tag openssl
// Certificates are always checked; flags set additional roots and the client certificate.

const made = makeSelfSigned();
const theirs = makeSelfSigned();

/** A gateway whose certificate no built-in root knows; it requests a client certificate and records its fingerprint. */
async function secureGateway(place = new Place()) {
  const clients: string[] = [];
  let requests = 0;
  const server = https.createServer(
    { key: made?.key, cert: made?.cert, requestCert: true, rejectUnauthorized: false },
    (request, reply) => {
      requests += 1;
      clients.push((request.socket as TLSSocket).getPeerCertificate().fingerprint256 ?? 'none');
      reply.setHeader('content-type', 'application/json').end('{"object":"list","data":[]}');
    },
  );
  const { port } = await listening(server);
  const files = { root: made?.cert, cert: theirs?.cert, key: theirs?.key };
  for (const [name, text] of Object.entries(files))
    fs.writeFileSync(path.join(place.cwd, `${name}.pem`), text ?? '', { mode: 0o600 });
  const url = `https://127.0.0.1:${port}`;
  const run = (argv: string[], env: Record<string, string> = {}) =>
    place.run(['models', '--retries', '0', ...argv], { env: { GW_BASE_URL: url, GW_API_KEY: KEY, ...env } });
  return { place, url, clients, run, requests: () => requests };
}

test('NODE_TLS_REJECT_UNAUTHORIZED is not obeyed, and Node does not say that it is', async () => {
  const { run, requests } = await secureGateway();
  for (const value of ['0', '']) {
    const refused = await run([], { NODE_TLS_REJECT_UNAUTHORIZED: value });
    expect(refused).toMatchObject({ code: 8, out: '' });
    expect(refused.err).toMatch(/self[- ]signed certificate/);
    expect(refused.err).not.toContain('Warning');
  }
  expect(requests()).toBe(0);
});

test('--cacert, GW_CACERT and the setting cacert add a root', async () => {
  const { place, url, run, requests } = await secureGateway();
  expect(await run(['--cacert', 'root.pem'])).toMatchObject({ code: 0 });
  expect(await run([], { GW_CACERT: 'root.pem' })).toMatchObject({ code: 0 });
  expect(await run([], { NODE_EXTRA_CA_CERTS: path.join(place.cwd, 'root.pem') })).toMatchObject({ code: 0 });
  // An added root does not disable the others.
  const both = { NODE_EXTRA_CA_CERTS: path.join(place.cwd, 'root.pem'), GW_CACERT: 'cert.pem' };
  expect(await run([], both)).toMatchObject({ code: 0 });
  expect(await place.run(['config', 'set', 'cacert', 'root.pem'])).toMatchObject({ code: 0 });
  expect((await place.run(['config', 'get', 'cacert'])).out).toBe(`${path.join(place.cwd, 'root.pem')}\n`);
  expect(await run([])).toMatchObject({ code: 0 });
  const { err } = place.start(['listen', '--forward', `${url}/hook`, '--cacert', 'root.pem']);
  await until('it listens', () => /^listening at /m.test(err()));
  await fetch(/^listening at (\S+?),/m.exec(err())?.[1] ?? '', { method: 'POST', body: '{"id":"x"}' });
  await until('the callback is passed on', () => requests() === 6);
  expect(await run(['--cacert', 'cert.pem'])).toMatchObject({ code: 8 });
  // The error names the variable or setting that holds the path.
  expect((await run([], { GW_CACERT: 'gone.pem' })).err).toContain('error: GW_CACERT gone.pem: no such file');
  fs.rmSync(path.join(place.cwd, 'root.pem'));
  expect((await run([])).err).toMatch(/^error: the setting cacert .*root\.pem: no such file/);
});

test("a client's certificate is shown to its gateway", async () => {
  const { run, clients } = await secureGateway(new NearPlace());
  const trusted = ['--cacert', 'root.pem'];
  expect(await run(trusted)).toMatchObject({ code: 0 });
  expect(await run(cmd`${trusted} --client-cert cert.pem --client-key key.pem`)).toMatchObject({
    code: 0,
  });
  expect(clients).toEqual(['none', expect.stringMatching(/^[0-9A-F:]+$/)]);
});

test.each([
  [cmd`--cacert gone.pem`, 2, '--cacert gone.pem: no such file'],
  [cmd`--cacert key.pem`, 2, '--cacert key.pem holds no certificate'],
  [cmd`--cacert broken.pem`, 2, '--cacert broken.pem holds no certificate that can be read'],
  [cmd`--client-cert cert.pem`, 2, '--client-cert goes with --client-key'],
  [cmd`--client-key key.pem`, 2, '--client-key goes with --client-cert'],
  [cmd`--client-cert cert.pem --client-key other.pem`, 2, 'do not belong together'],
  [cmd`--client-cert cert.pem --client-key open.pem`, 3, 'the private key open.pem is open to other users'],
])('%j is refused before anything is sent', async (argv, code, words) => {
  const { place, run, requests } = await secureGateway(new NearPlace());
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  fs.writeFileSync(path.join(place.cwd, 'broken.pem'), broken);
  fs.writeFileSync(path.join(place.cwd, 'other.pem'), made?.key ?? '', { mode: 0o600 });
  fs.writeFileSync(path.join(place.cwd, 'open.pem'), theirs?.key ?? '', { mode: 0o644 });
  const got = await run(argv);
  expect(got).toMatchObject({ code, out: '' });
  expect(got.err).toContain(words);
  expect(requests()).toBe(0);
});

test('--cacert system is the store of the system, or says which Node has one', {
  tags: ['node'],
}, async () => {
  const { run } = await secureGateway();
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const hasStore = major > 22 || (major === 22 && minor >= 15);
  const got = await run(['--cacert', 'system']);
  expect(got.code).toBe(hasStore ? 8 : 2);
  if (!hasStore) expect(got.err).toContain('needs Node 22.15');
});
