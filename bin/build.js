// Builds dist/: the bundle in parts, one for each command and shared ones between them, as CommonJS so that the
// launcher can load each part through V8's code cache. esbuild splits ES modules only, hence the second pass.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const esbuild = require('esbuild');

const root = path.join(__dirname, '..');
const distDir = path.join(root, 'dist');
const target = 'node20.18';

async function build() {
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { main: 'src/entry.ts' },
    chunkNames: '[name]-[hash]',
    outdir: distDir,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target,
    minify: true,
    legalComments: 'none',
    metafile: true,
    // The whole of undici costs 40 ms at start; gw needs three files of it.
    alias: { undici: './src/http/lean-undici.ts' },
    logLevel: 'warning',
  });
  fs.rmSync(distDir, { recursive: true, force: true });
  fs.mkdirSync(distDir, { recursive: true });
  fs.writeFileSync(path.join(distDir, 'package.json'), '{ "type": "commonjs" }\n');
  for (const { path: file, text } of outputFiles) {
    const { code } = await esbuild.transform(text, {
      format: 'cjs',
      platform: 'node',
      target,
      minify: true,
      legalComments: 'none',
      supported: { 'dynamic-import': false },
    });
    fs.writeFileSync(file, code);
  }
  fs.cpSync(path.join(root, 'src', 'sandbox', 'clips'), path.join(distDir, 'clips'), {
    recursive: true,
    filter: (file) => !file.endsWith('.md'),
  });
  fs.writeFileSync(path.join(distDir, 'LICENSES.txt'), licencesOf(Object.keys(metafile.inputs)));
}

/** The licence texts of what is bundled, as those licences ask. */
function licencesOf(inputs) {
  const packages = new Set(
    inputs
      .map((input) => input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1])
      .filter((name) => name !== undefined),
  );
  const texts = [...packages].sort().map((name) => {
    const dir = path.join(root, 'node_modules', name);
    const { version, license, homepage } = JSON.parse(
      fs.readFileSync(path.join(dir, 'package.json'), 'utf8'),
    );
    const file = fs.readdirSync(dir).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
    const text = file ? fs.readFileSync(path.join(dir, file), 'utf8') : `Licence: ${license}\n`;
    return `${name} ${version} (${license}) ${homepage ?? ''}\n\n${text}`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

build().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
