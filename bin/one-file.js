// What `gw` as one file begins with: bin/gw.js without what looks for a Node and for dist/, which are inside.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const { functions, load } = require('./parts.js');

const argv = process.argv.slice(2);
// GW_BUILD is set by bin/binaries.js. Beside the entry lies in the file what lies in dist/.
const { version, build } = GW_BUILD;
const distDir = path.dirname(Bun.main);
if (argv[0] === 'complete' && /^--(at|line)=/.test(argv[1])) {
  require('./complete.js').answer(argv.slice(1), () => ({
    complete: require('../src/completion/complete.ts').complete,
    table: JSON.parse(fs.readFileSync(path.join(distDir, 'complete.json'), 'utf8')),
  }));
} else {
  for (const [name, part] of require('all-parts')) functions.set(name, part);
  load('main.js').run({ version, build, distDir });
}
