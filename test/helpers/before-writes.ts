import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished } from 'vitest';

const { writeSync } = fs;

/** Until the test ends, `act` gets the text of each `fs.writeSync` of bytes before it; what it throws is the write's error. */
export function beforeWrites(act: (text: string) => void): void {
  fs.writeSync = ((fd: number, bytes: Buffer, ...rest: [number, number]) => {
    act(Buffer.from(bytes).toString());
    return writeSync(fd, bytes, ...rest);
  }) as typeof writeSync;
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
  });
}
