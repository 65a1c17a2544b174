// Builds a module of src with its dependencies as one script, outside the bundle.
'use strict';
const path = require('node:path');
const esbuild = require('esbuild');

exports.buildAlone = (entryPoint) =>
  esbuild.build({
    absWorkingDir: path.join(__dirname, '..'),
    entryPoints: [entryPoint],
    // Only a name for the output; the caller writes the file.
    outdir: 'dist',
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.18',
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    logOverride: { 'empty-import-meta': 'silent' },
    // The script must not be strict, because sixel creates a global.
    tsconfigRaw: { compilerOptions: { alwaysStrict: false } },
  });
