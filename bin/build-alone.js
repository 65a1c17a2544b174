// Builds a module of src with all that it loads as one script, no part of the bundle.
'use strict';
const path = require('node:path');
const esbuild = require('esbuild');

exports.buildAlone = (entryPoint) =>
  esbuild.build({
    absWorkingDir: path.join(__dirname, '..'),
    entryPoints: [entryPoint],
    // Written by the caller; the name is what is made of it.
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
    // A strict script has no place for the global that sixel makes.
    tsconfigRaw: { compilerOptions: { alwaysStrict: false } },
  });
