// Writes completions/ again from src/completion.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { loadSource } = require('./load-source.js');

const dir = path.join(__dirname, '..', 'completions');

loadSource('src/completion/build.ts')
  .then(({ scriptFiles }) => {
    fs.mkdirSync(dir, { recursive: true });
    for (const [name, text] of Object.entries(scriptFiles())) fs.writeFileSync(path.join(dir, name), text);
  })
  .catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
