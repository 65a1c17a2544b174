import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

// A test's own process does not wait until data is on the disk: no test cuts the power, and the waits took a tenth of the
// time. The tests of gw's records check whether gw asks for a sync and in which order; a gw process that they start does sync.
const asked = (fd: number): void => void fs.fstatSync(fd);
fs.fsyncSync = asked;
fs.fdatasyncSync = asked;
syncBuiltinESMExports();
