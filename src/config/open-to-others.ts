import type * as fs from 'node:fs';
import { GwError } from '../errors.ts';

/** Throws GwError `auth` with the chmod to run where a regular file can be read or written by others (POSIX only). */
export function refuseOpenToOthers(stat: fs.Stats, file: string, platform: NodeJS.Platform): void {
  if (platform === 'win32' || !stat.isFile() || (stat.mode & 0o077) === 0) return;
  const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
  throw new GwError('auth', `the key file ${file} is open to other users (mode ${mode})`, {
    hint: `Run: chmod 600 ${quoted(file)}`,
  });
}

function quoted(file: string): string {
  return /^[\w./@%+=:,-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
}
