// Required before anything that `npm ci` installs, so that a bare checkout gets a sentence instead of a stack trace.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

if (!fs.existsSync(path.join(__dirname, '../node_modules'))) {
  console.error(
    'error: the packages that build gw are not here\nhint: run npm ci in this folder first, then the same again',
  );
  process.exit(1);
}
