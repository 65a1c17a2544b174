// The start of the single-file gw: bin/gw.js without the search for Node and dist/, which are inside the file.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const { functions, load } = require('./parts.js');

const argv = process.argv.slice(2);
// bin/binaries.js sets GW_BUILD. Within the file, the content of dist/ is beside the entry.
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
