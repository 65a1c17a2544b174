import * as fs from 'node:fs';

/**
 * The descriptor behind a stream that is a file or a device other than a terminal, where Node writes once and does not
 * look at how much was taken: a nearly full disk would cut the output in silence. `undefined` for pipes and all else.
 */
export function plainFileDescriptor(stream: object): number | undefined {
  const fd = 'fd' in stream ? stream.fd : undefined;
  if (typeof fd !== 'number' || fd < 0 || ('isTTY' in stream && stream.isTTY === true)) return undefined;
  try {
    const stat = fs.fstatSync(fd);
    return stat.isFile() || stat.isCharacterDevice() ? fd : undefined;
  } catch {
    return undefined; // the stream's own write will say what is wrong
  }
}

/** Writes all bytes to a descriptor, however many calls it takes; throws the system's error. */
export function writeWhole(fd: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) {
    const count = fs.writeSync(fd, bytes, written, bytes.length - written);
    if (count === 0) throw Object.assign(new Error('nothing was written'), { code: 'EIO' });
    written += count;
  }
}
