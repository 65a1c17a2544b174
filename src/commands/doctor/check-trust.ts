import * as fs from 'node:fs';
import { readConfig } from '../../config/config-file.ts';
import { configDir, stateDir, trustedStateDir } from '../../config/dirs.ts';
import { keyOrigin } from '../../config/keys.ts';
import { defaultProfile } from '../../config/profile-name.ts';
import type { Settings } from '../../config/settings.ts';
import type { Context } from '../../context.ts';
import { type Finding, failed, ok, skipped, warning } from './finding.ts';

/** What gw trusts: owners and modes of its directories, the roots of TLS, and the compiled code it loads. */
export const checkTrust = (settings: Settings | undefined, { host }: Context): Finding[] => [
  ...checkOwners(host),
  checkTls(settings, host),
  checkCodeCache(host),
];

type TrustHost = Context['host'];

function checkOwners(host: TrustHost): Finding[] {
  const of = (check: string, dirOf: () => string, look: () => void): Finding => {
    try {
      const dir = dirOf();
      look();
      const stat = fs.statSync(dir, { throwIfNoEntry: false });
      if (!stat) return ok(check, `${dir} is not there yet`);
      const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
      return ok(check, `${dir} is this user's, mode ${mode}, and nobody else may write to it`);
    } catch (error) {
      return failed(check, error);
    }
  };
  return [
    of(
      'config owner',
      () => configDir(host),
      () => {
        readConfig(host);
        keyOrigin(host, defaultProfile);
      },
    ),
    of(
      'state owner',
      () => stateDir(host),
      () => trustedStateDir(host),
    ),
  ];
}

/** Variables by which other programs choose what to trust, and gw does not. */
const ignoredRoots = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE'] as const;

function checkTls(settings: Settings | undefined, { env }: TrustHost): Finding {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== undefined) {
    return warning(
      'tls',
      `NODE_TLS_REJECT_UNAUTHORIZED=${env.NODE_TLS_REJECT_UNAUTHORIZED} is ignored: certificates are always checked`,
      'trust a root of your own with --cacert FILE, and unset the variable',
    );
  }
  const added = [
    env.NODE_EXTRA_CA_CERTS && `${env.NODE_EXTRA_CA_CERTS} (NODE_EXTRA_CA_CERTS)`,
    settings?.cacert.value,
  ].filter((each) => each);
  const ignored = ignoredRoots.filter((name) => env[name]);
  return ok(
    'tls',
    [
      'certificates are checked',
      ...(added.length > 0 ? [`also trusted: ${added.join(', ')}`] : []),
      ...(ignored.length > 0 ? [`not read by gw: ${ignored.join(', ')} (--cacert FILE adds roots)`] : []),
    ].join('; '),
  );
}

function checkCodeCache({ codeCache }: TrustHost): Finding {
  if (codeCache === undefined) return skipped('code cache', 'not started by the launcher');
  const { dir, problem } = codeCache;
  if (problem !== undefined) {
    return warning(
      'code cache',
      `not used: ${problem}`,
      'each start takes longer; remove it, or set GW_CACHE_DIR',
    );
  }
  const isThere = dir !== undefined && fs.existsSync(dir);
  return ok('code cache', isThere ? dir : `${dir} is not there yet, or cannot be made`);
}
