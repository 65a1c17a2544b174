import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

// Makes a certificate for an address of this machine (RFC 5280). Node can sign, but has no function that makes a
// certificate.

const DAY_MS = 86_400_000;
/** Clients accept no longer validity. */
const LIFE_MS = 397 * DAY_MS;

export interface ServerCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A new self-signed certificate for localhost, both loopback addresses and `host`. */
export function makeCertificate(host: string, nowMs: number): ServerCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('gw sandbox')))));
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  const time = (ms: number) =>
    der(0x17, Buffer.from(`${new Date(ms).toISOString().replaceAll(/\D/g, '').slice(2, 14)}Z`));
  const alternatives = [...new Set(['localhost', '127.0.0.1', '::1', host])].map((each) =>
    isIP(each) ? der(0x87, addressBytes(each)) : der(0x82, Buffer.from(each)),
  );
  const isAuthority = sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.of(0xff)))));
  const subjectAltName = sequence(oid('551d11'), der(0x04, sequence(...alternatives)));
  const toBeSigned = sequence(
    der(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ecdsaWithSha256,
    name,
    sequence(time(nowMs - DAY_MS), time(nowMs + LIFE_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(isAuthority, subjectAltName)),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', toBeSigned, privateKey));
  const lines =
    sequence(toBeSigned, ecdsaWithSha256, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  };
}

/** A value in DER: its tag, the length of its content, and its content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : long)), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const integer = (bytes: Uint8Array) => der(0x02, bytes);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((each) => each));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
