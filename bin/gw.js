#!/usr/bin/env node
// The launcher. It is written for any Node, so that an outdated one gets a sentence instead of a syntax error.
'use strict';
var required = [20, 18];
var have = process.versions.node.split('.').map(Number);
var argv = process.argv.slice(2);
if (have[0] < required[0] || (have[0] === required[0] && have[1] < required[1])) {
  process.stderr.write(
    'error: gw needs Node ' +
      required.join('.') +
      ' or later; this is Node ' +
      process.versions.node +
      '\nhint: install a current Node from your system or https://nodejs.org and run gw again\n',
  );
  process.exitCode = 1;
} else if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
  process.stdout.on('error', (error) => {
    if (error.code === 'EPIPE') return;
    process.exitCode = 1;
    process.stderr.write(`error: could not write to stdout: ${error.message}\n`);
  });
  process.stdout.write(`${require('../package.json').version}\n`);
} else if (!require('node:fs').existsSync(`${__dirname}/../dist/parts.json`)) {
  process.stderr.write('error: gw is not built yet\nhint: run npm run build in its folder, and gw again\n');
  process.exitCode = 1;
} else if (argv[0] === 'complete' && /^--(at|line)=/.test(argv[1])) {
  require('./complete.js').answer(argv.slice(1), () => ({
    complete: require('../dist/complete.js').complete,
    table: require('../dist/complete.json'),
  }));
} else {
  require('./start.js');
}
