import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

/** Makes a key and a certificate for 127.0.0.1 and localhost with openssl; undefined when openssl is missing. */
export function makeSelfSigned(days = 2): { readonly key: string; readonly cert: string } | undefined {
  const dir = mkdtempSync(path.join(tmpdir(), 'gw-tls-'));
  const keyFile = path.join(dir, 'key.pem');
  const certFile = path.join(dir, 'cert.pem');
  try {
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    args.push(
      '-subj',
      '/CN=gw-test',
      '-addext',
      'subjectAltName=IP:127.0.0.1,DNS:gateway.test,DNS:localhost',
      '-days',
      String(days),
    );
    execFileSync('openssl', [...args, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  } catch {
    return undefined;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
