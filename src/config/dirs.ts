import * as fs from 'node:fs';
import * as path from 'node:path';
import { refuseUntrusted } from '../disk/trust.ts';
import { usage } from '../errors.ts';
import type { Host } from '../host.ts';
import { type EnvironmentVariable, readVariable } from './environment.ts';

/** The parts of the host that decide where gw keeps its files. */
export type DirHost = Pick<Host, 'env' | 'cwd' | 'platform' | 'homeDir'>;

interface Place {
  readonly own: EnvironmentVariable;
  readonly xdg: EnvironmentVariable;
  readonly home: readonly string[];
  readonly windows: EnvironmentVariable;
  readonly windowsHome: readonly string[];
  readonly windowsLeaf: readonly string[];
}

/** Where profiles and keys are kept. Throws GwError `usage` where no directory can be told. */
export function configDir(host: DirHost, isThere = fs.existsSync): string {
  const place = { own: 'GW_CONFIG_DIR', xdg: 'XDG_CONFIG_HOME', home: ['.config'] } as const;
  const windows = { windows: 'LOCALAPPDATA', windowsHome: ['AppData', 'Local'] } as const;
  const dir = resolveDir(host, { ...place, ...windows, windowsLeaf: ['gw', 'config'] });
  if (host.platform !== 'win32' || readVariable(host.env, place.own) !== undefined) return dir;
  // A key does not travel with a roaming profile; where an older gw put it there, it stays in use.
  const roaming = { windows: 'APPDATA', windowsHome: ['AppData', 'Roaming'], windowsLeaf: ['gw'] } as const;
  const former = resolveDir(host, { ...place, ...roaming });
  return !isThere(dir) && isThere(path.win32.join(former, 'config.json')) ? former : dir;
}

/** Where the ledger and its locks are kept. Throws GwError `usage` where no directory can be told. */
export function stateDir(host: DirHost): string {
  return resolveDir(host, {
    own: 'GW_STATE_DIR',
    xdg: 'XDG_STATE_HOME',
    home: ['.local', 'state'],
    windows: 'LOCALAPPDATA',
    windowsHome: ['AppData', 'Local'],
    windowsLeaf: ['gw', 'state'],
  });
}

/**
 * As `stateDir`. Throws GwError `usage` with the command to run where others own it, its ledger or a journal in that, or may
 * write to them: the lines of a journal name files that are written.
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

function filesIn(dir: string): string[] {
  try {
    return fs.readdirSync(dir).map((name) => path.join(dir, name));
  } catch {
    // Who reads it says why it cannot be read.
    return [];
  }
}

function statOf(dir: string): fs.Stats | undefined {
  try {
    return fs.statSync(dir);
  } catch {
    // What cannot be looked at cannot be used either: whoever tries says why.
    return undefined;
  }
}

/** Where things are kept that can be made again. Throws GwError `usage` where no directory can be told. */
export function cacheDir(host: DirHost): string {
  return resolveDir(host, {
    own: 'GW_CACHE_DIR',
    xdg: 'XDG_CACHE_HOME',
    home: ['.cache'],
    windows: 'LOCALAPPDATA',
    windowsHome: ['AppData', 'Local'],
    windowsLeaf: ['gw', 'cache'],
  });
}

function resolveDir(host: DirHost, place: Place): string {
  const windows = host.platform === 'win32';
  const paths = windows ? path.win32 : path.posix;
  const own = readVariable(host.env, place.own);
  if (own !== undefined) return paths.resolve(host.cwd, own);
  // The standard says that a relative base is to be ignored.
  const base = readVariable(host.env, windows ? place.windows : place.xdg);
  const leaf = windows ? place.windowsLeaf : ['gw'];
  if (base !== undefined && paths.isAbsolute(base)) return paths.join(base, ...leaf);
  const { homeDir } = host;
  if (homeDir === undefined || !paths.isAbsolute(homeDir)) {
    const problem = homeDir
      ? `the home directory ${JSON.stringify(homeDir)} is not an absolute path`
      : 'there is no home directory (HOME is not set)';
    throw usage(problem, `set HOME, or set ${place.own} to the directory to use`);
  }
  return paths.join(homeDir, ...(windows ? place.windowsHome : place.home), ...leaf);
}
