import * as path from 'node:path';
import { readRegular } from '../disk/small-file.ts';
import { refuseUntrusted } from '../disk/trust.ts';
import { fileFault } from '../disk/typed-input.ts';
import { GwError, usage } from '../errors.ts';
import { type Host, quietly } from '../host.ts';
import type { Source, Sourced } from './settings.ts';
import { SYSTEM_STORE } from './table.ts';

/** PEM texts: roots trusted beside the built-in ones, and the client's own certificate and key. */
export interface Certificates {
  readonly ca?: readonly string[];
  readonly identity?: { readonly cert: string; readonly key: string };
}

interface Named {
  /** A path, or `system` for the system's store. */
  readonly cacert?: Sourced<string | undefined>;
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
}

type PemHost = Pick<Host, 'env' | 'cwd' | 'platform'>;

/** Reads the files of --cacert, --client-cert and --client-key. Throws `usage`, or `auth` for an exposed private key. */
export async function readCertificates(named: Named, host: PemHost): Promise<Certificates> {
  const { cacert, clientCert, clientKey } = named;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    const [given, missing] = clientCert
      ? ['--client-cert', '--client-key']
      : ['--client-key', '--client-cert'];
    throw usage(`${given} goes with ${missing}`, 'give both, or none');
  }
  return {
    ...(cacert?.value !== undefined && { ca: await rootsOf(cacert.value, cacert.source, host) }),
    ...(clientCert !== undefined &&
      clientKey !== undefined && { identity: await identityOf(clientCert, clientKey, host) }),
  };
}

async function rootsOf(cacert: string, source: Source, host: PemHost): Promise<readonly string[]> {
  const ofProfile = source === 'environment' ? 'GW_CACERT' : 'the setting cacert';
  const named = source === 'flag' ? '--cacert' : ofProfile;
  const tls = (await import('node:tls')) as typeof import('node:tls') & {
    getCACertificates?: (kind: 'default' | 'system') => string[];
  };
  const builtIn = tls.getCACertificates?.('default') ?? [...tls.rootCertificates, ...extraRoots(host)];
  if (cacert === SYSTEM_STORE) {
    if (tls.getCACertificates) return [...builtIn, ...tls.getCACertificates('system')];
    throw usage(
      `${named} ${SYSTEM_STORE} needs Node 22.15 or later, and this is Node ${process.versions.node}`,
      "name the file of the system's certificates, such as --cacert /etc/ssl/certs/ca-certificates.crt",
    );
  }
  const pem = readPem(cacert, named, 'CERTIFICATE', host);
  const { X509Certificate } = await import('node:crypto');
  try {
    new X509Certificate(pem);
  } catch {
    throw usage(
      `${named} ${cacert} holds no certificate that can be read`,
      'give a file of PEM certificates',
    );
  }
  return [...builtIn, pem];
}

/** Reads NODE_EXTRA_CA_CERTS: Node adds these to its own roots, but not to an explicit list. */
function extraRoots({ env }: PemHost): string[] {
  const file = env.NODE_EXTRA_CA_CERTS;
  // Node itself has warned at its start of a file that cannot be read.
  return (file && quietly(() => [readRegular(file, MAX_PEM_BYTES).toString()])) || [];
}

async function identityOf(clientCert: string, clientKey: string, host: PemHost) {
  const cert = readPem(clientCert, '--client-cert', 'CERTIFICATE', host);
  const key = readPem(clientKey, '--client-key', 'PRIVATE KEY', host, true);
  const { createSecureContext } = await import('node:tls');
  try {
    createSecureContext({ cert, key });
  } catch {
    throw usage(
      `--client-cert ${clientCert} and --client-key ${clientKey} do not belong together or cannot be read`,
      'give a PEM certificate and its private key without a passphrase',
    );
  }
  return { cert, key };
}

function readPem(
  file: string,
  flag: string,
  holds: string,
  { cwd, platform }: PemHost,
  secret = false,
): string {
  const full = path.resolve(cwd, file);
  let text: string;
  try {
    const what = 'the private key';
    const trusted = { file, what, kind: 'auth', platform, secret, ownedByUser: false } as const;
    text = readRegular(full, MAX_PEM_BYTES, (stats) => secret && refuseUntrusted(stats, trusted)).toString();
  } catch (error) {
    if (error instanceof GwError) throw error;
    throw fileFault(error, `${flag} ${file}`, 'give the path of a PEM file');
  }
  if (text.includes(`${holds}-----`)) return text;
  throw usage(`${flag} ${file} holds no ${holds.toLowerCase()} in PEM`, 'give the path of a PEM file');
}

/** A store of all public roots has about 250 kB. */
const MAX_PEM_BYTES = 8 * 1024 * 1024;
