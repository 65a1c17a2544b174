import * as fs from 'node:fs';
import * as path from 'node:path';
import { diskFault } from '../disk/disk-fault.ts';
import { errorCode, GwError } from '../errors.ts';
import type { Host } from '../host.ts';
import { checkKey } from './check-key.ts';
import { refuseOpenToOthers } from './open-to-others.ts';

const maxKeyFileBytes = 8192;

/**
 * Reads the key of `--api-key-file`: a file, a pipe, or `-` for stdin; one trailing newline is dropped.
 * Throws GwError `auth` naming the path, never the key.
 */
export async function readKeyFile(
  file: string,
  host: Pick<Host, 'stdin' | 'cwd' | 'platform'>,
): Promise<string> {
  if (file === '-') return keyIn(await readStdin(host.stdin), '--api-key-file - (stdin)');
  const from = `--api-key-file ${file}`;
  try {
    return keyIn(readSmallFile(path.resolve(host.cwd, file), file, host.platform), from);
  } catch (error) {
    if (error instanceof GwError || errorCode(error) === undefined) throw error;
    const missing = errorCode(error) === 'ENOENT';
    throw new GwError(
      'auth',
      `${from} ${missing ? 'is missing' : `cannot be read: ${diskFault(error).reason}`}`,
      {
        hint: 'Give the path of a file that holds the key, or set GW_API_KEY.',
      },
    );
  }
}

function readSmallFile(file: string, shown: string, platform: NodeJS.Platform): Buffer {
  const fd = fs.openSync(file, 'r');
  try {
    const stat = fs.fstatSync(fd);
    if (stat.isDirectory()) {
      throw new GwError('auth', `--api-key-file ${shown} is a directory`, {
        hint: 'Give the path of a file that holds the key.',
      });
    }
    refuseOpenToOthers(stat, shown, platform);
    const buffer = Buffer.alloc(maxKeyFileBytes + 1);
    let length = 0;
    while (length < buffer.length) {
      const count = fs.readSync(fd, buffer, length, buffer.length - length, null);
      if (count === 0) break;
      length += count;
    }
    return buffer.subarray(0, length);
  } finally {
    fs.closeSync(fd);
  }
}

async function readStdin(stdin: Host['stdin']): Promise<Buffer> {
  if (stdin.isTTY) {
    throw new GwError(
      'auth',
      '--api-key-file - reads stdin, but that is the terminal, where the key would show',
      {
        hint: 'Pipe the key in, or store it with gw login.',
      },
    );
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length > maxKeyFileBytes) break;
  }
  return Buffer.concat(chunks);
}

function keyIn(bytes: Buffer, from: string): string {
  if (bytes.length > maxKeyFileBytes) {
    throw new GwError('auth', `${from} holds more than ${maxKeyFileBytes} bytes, which is no key`, {
      hint: 'Give a file that holds the key and nothing else.',
    });
  }
  return checkKey(bytes.toString('utf8').replace(/\r?\n$/, ''), from);
}
