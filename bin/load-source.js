// Runs one TypeScript module of src in this process, for the build.
'use strict';
const path = require('node:path');
const esbuild = require('esbuild');

const root = path.join(__dirname, '..');

/** The exports of a module under src, bundled with its dependencies; `options` go to esbuild. */
async function loadSource(file, options) {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [file],
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20.18',
    logLevel: 'warning',
    logOverride: { 'empty-import-meta': 'silent' },
    ...options,
  });
  const module = { exports: {} };
  new Function('module', 'exports', 'require', outputFiles[0].text)(module, module.exports, require);
  return module.exports;
}

module.exports = { loadSource };
