// `import { gw } from 'gw-cli'`, as dist/gw-cli.d.ts describes it: one run of gw in the caller's process.
'use strict';
let library;

exports.gw = (words, options) => {
  if (library === undefined) {
    const { load, open } = require('./parts.js');
    const { bundle, distDir } = open();
    // Other entries do not include the parts of main, which the command line has loaded at its start.
    load('main.js');
    const processEnv = () => process.env;
    library = load('gw.js').openLibrary({ version: bundle.version, distDir, processEnv });
  }
  return library(words, options);
};
