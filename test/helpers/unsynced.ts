import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// A test's own process does not wait until the disk has what it wrote: no test cuts the power, and the waits were a tenth of
// the time. Whether gw asks for a sync, and in which order, the tests of its records say; a gw that they start does sync.
const asked = (fd: number): void => void fs.fstatSync(fd);
fs.fsyncSync = asked;
fs.fdatasyncSync = asked;
syncBuiltinESMExports();
