#!/usr/bin/env node
// The launcher. Written for any Node, so that one that is too old gets a sentence instead of a syntax error.
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
    if (error.code !== 'EPIPE') process.exitCode = 1;
  });
  process.stdout.write(`${require('../package.json').version}\n`);
} else if (!require('node:fs').existsSync(`${__dirname}/../dist/parts.json`)) {
  process.stderr.write('error: gw is not built yet\nhint: run npm run build in its folder, and gw again\n');
  process.exitCode = 1;
} else if (argv[0] === 'complete' && /^--(at|line)=/.test(argv[1])) {
  complete(argv.slice(1));
} else {
  require('./start.js');
}

// Answers a shell's completion script without the bundle. A fault offers nothing: a command line is still being typed.
function complete(asked) {
  process.stdout.on('error', () => {});
  try {
    process.stdout.write(
      require('../dist/complete.js').complete(asked, {
        table: require('../dist/complete.json'),
        env: process.env,
        get cwd() {
          return process.cwd();
        },
        platform: process.platform,
        homeDir: process.env.HOME || process.env.USERPROFILE,
      }),
    );
  } catch (_) {
    // Nothing to offer.
  }
}
