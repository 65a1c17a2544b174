import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CompleterResult } from 'node:readline';
import type { Host } from '../../host.ts';
import { visible } from '../../io/escape.ts';
import { matchingCommands } from './commands.ts';

/** A directory of a million files is not read out on a terminal. */
const MAX_MATCHES = 200;

/** Completion of a line: the commands, the models behind `/model`, and paths behind those that take one. */
export function completerFor(
  host: Pick<Host, 'cwd' | 'homeDir'>,
  models: readonly string[] = [],
): (line: string) => CompleterResult {
  return (line) => {
    if (/^\/[a-z]*$/.test(line)) {
      const matches = matchingCommands(line);
      return [matches.length === 1 ? matches.map((match) => `${match} `) : matches, line];
    }
    const model = /^\/model\s+(\S*)$/.exec(line)?.[1];
    if (model !== undefined) return [models.filter((id) => id.startsWith(model)), model];
    const typed = /^\/(?:image|save)\s+(?:(?:\\.|[^\s\\])+\s+)*((?:\\.|[^\s\\])*)$/.exec(line)?.[1];
    return typed === undefined ? [[], line] : [pathsLike(typed, host), typed];
  };
}

/** Paths that begin as typed, blanks and quotes in them behind a backslash, a slash behind directories. */
function pathsLike(typed: string, host: Pick<Host, 'cwd' | 'homeDir'>): string[] {
  const plain = typed.replace(/\\(.)/g, '$1');
  const slash = plain.lastIndexOf('/') + 1;
  const [dir, start] = [plain.slice(0, slash), plain.slice(slash)];
  let entries: fs.Dirent[];
  try {
    entries = fs.readdirSync(path.resolve(host.cwd, expandHome(dir, host.homeDir)), { withFileTypes: true });
  } catch {
    return [];
  }
  return entries
    .filter(({ name }) => name.startsWith(start) && (start !== '' || !name.startsWith('.')))
    .filter(({ name }) => visible(name) === name && !/[\n\t]/.test(name))
    .slice(0, MAX_MATCHES)
    .map((entry) => `${dir}${entry.name}`.replace(/[\s"'\\]/g, '\\$&') + (entry.isDirectory() ? '/' : ''));
}

/** A path with `~/` at its beginning, which no shell is there to expand. */
export function expandHome(file: string, homeDir: string | undefined): string {
  return homeDir !== undefined && /^~(?=\/|$)/.test(file) ? homeDir + file.slice(1) : file;
}
