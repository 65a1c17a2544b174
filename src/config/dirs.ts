import * as fs from 'node:fs';
import * as path from 'node:path';
import { refuseUntrusted } from '../disk/trust.ts';
import { usage } from '../errors.ts';
import { type Host, quietly } from '../host.ts';
import { type EnvironmentVariable, readVariable } from './environment.ts';

/** The parts of the host that decide where gw keeps its files. */
export type DirHost = Pick<Host, 'env' | 'cwd' | 'platform' | 'homeDir'>;

/** For each directory: the variable that sets it, and its base below the home directory otherwise. */
const places = {
  config: { own: 'GW_CONFIG_DIR', xdg: 'XDG_CONFIG_HOME', home: ['.config'] },
  state: { own: 'GW_STATE_DIR', xdg: 'XDG_STATE_HOME', home: ['.local', 'state'] },
  cache: { own: 'GW_CACHE_DIR', xdg: 'XDG_CACHE_HOME', home: ['.cache'] },
} as const;
type Place = keyof typeof places;

/** The directory of profiles and API keys. Throws GwError `usage` if it cannot be determined. */
export function configDir(host: DirHost, isThere = fs.existsSync): string {
  const dir = resolveDir(host, 'config');
  if (host.platform !== 'win32' || readVariable(host.env, places.config.own) !== undefined) return dir;
  // Keys should not roam between Windows machines; a directory that an older gw made there stays in use.
  const roaming = { base: 'APPDATA', home: ['AppData', 'Roaming'], leaf: ['gw'] } as const;
  const former = resolveDir(host, 'config', roaming);
  return !isThere(dir) && isThere(path.win32.join(former, 'config.json')) ? former : dir;
}

/** The directory of the ledger and its locks. Throws GwError `usage` if it cannot be determined. */
export const stateDir = (host: DirHost): string => resolveDir(host, 'state');

/** The directory of data that can be made again. Throws GwError `usage` if it cannot be determined. */
export const cacheDir = (host: DirHost): string => resolveDir(host, 'cache');

/**
 * As `stateDir`. Throws GwError `usage` with a command to run if other users own or can write the directory, its ledger
 * or a journal: journal lines name files that gw writes.
 */
export function trustedStateDir(host: DirHost): string {
  const dir = stateDir(host);
  const ledger = path.join(dir, 'ledger');
  const trusted = { kind: 'usage', platform: host.platform, setting: 'GW_STATE_DIR' } as const;
  for (const file of [dir, ledger]) {
    const stat = statOf(file);
    if (stat) refuseUntrusted(stat, { ...trusted, file, what: 'the state directory' });
  }
  for (const file of filesIn(ledger)) {
    const stat = statOf(file);
    if (stat?.isFile()) refuseUntrusted(stat, { ...trusted, file, what: "the ledger's file" });
  }
  return dir;
}

// A later access reports why a path cannot be used.
const filesIn = (dir: string): string[] =>
  quietly(() => fs.readdirSync(dir).map((name) => path.join(dir, name))) ?? [];
const statOf = (dir: string): fs.Stats | undefined => quietly(() => fs.statSync(dir));

interface WindowsPlace {
  readonly base: EnvironmentVariable;
  readonly home: readonly string[];
  readonly leaf: readonly string[];
}

const localOnWindows = { base: 'LOCALAPPDATA', home: ['AppData', 'Local'] } as const;

function resolveDir(
  host: DirHost,
  place: Place,
  onWindows: WindowsPlace = { ...localOnWindows, leaf: ['gw', place] },
): string {
  const { own, xdg, home } = places[place];
  const isWindows = host.platform === 'win32';
  const paths = isWindows ? path.win32 : path.posix;
  const named = readVariable(host.env, own);
  if (named !== undefined) return paths.resolve(host.cwd, named);
  const where: WindowsPlace = isWindows ? onWindows : { base: xdg, home, leaf: ['gw'] };
  // The XDG standard says that a relative base is ignored.
  const base = readVariable(host.env, where.base);
  if (base !== undefined && paths.isAbsolute(base)) return paths.join(base, ...where.leaf);
  const { homeDir } = host;
  if (homeDir === undefined || !paths.isAbsolute(homeDir)) {
    const problem = homeDir
      ? `the home directory ${JSON.stringify(homeDir)} is not an absolute path`
      : 'there is no home directory (HOME is not set)';
    throw usage(problem, `set HOME, or set ${own} to the directory to use`);
  }
  return paths.join(homeDir, ...where.home, ...where.leaf);
}
