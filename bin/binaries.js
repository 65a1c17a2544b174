// `npm run binaries [PLATFORM-ARCH…]`: makes gw with its runtime as a single file per platform in dist/binaries/, from
// dist/ and the sources, with Bun. Bun's runtimes come from the package registry and are checked by digest. One commit
// gives the same bytes on every machine.
'use strict';
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const esbuild = require('esbuild');
const { buildAlone } = require('./build-alone.js');
const { wrongPages } = require('./mach-o.js');
const { writeSums } = require('./release.js');

const root = path.join(__dirname, '..');
const distDir = path.join(root, 'dist');
const outDir = path.join(distDir, 'binaries');
const { version } = require('../package.json');

const BUN = '1.4.5';
/** The runtime of each platform. Those called baseline run on every 64-bit processor. */
const runtimes = {
  'linux-x64': {
    name: 'linux-x64-baseline',
    sha512: 's8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==',
  },
  'linux-arm64': {
    name: 'linux-aarch64',
    sha512: '4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
  },
  'macos-x64': {
    name: 'darwin-x64-baseline',
    sha512: 'zqfLA5A4B+hYMh5WYzYSot3uZ06FzhdP0OEwQisEzdirYtXGj5cQFlfy31BGfNsAsk1Gd/w/OxJ/jqqJ3cMclw==',
  },
  'macos-arm64': {
    name: 'darwin-aarch64',
    sha512: '4MIFXHmctH2EhAxLXm2/qxNtv17dFtLJylvaOCsrgq6KSqHTs6eW5YSrJjRbJxYUJaR901fsN8JfZOa+CsWpWQ==',
  },
  'windows-x64': {
    name: 'windows-x64-baseline',
    sha512: '/U3Dc74uGqE6EUqef7mPtg9KwJs7iJH4JHRMfIZIn18MrJh6Xz4gVvWDXRvzCL2j8wPlTnJVyrO4n7Qq4uM7TQ==',
  },
};

const packageOf = (name) => `@oven/bun-${name}`;
const digestOf = (algorithm, bytes, form) => createHash(algorithm).update(bytes).digest(form);

/** Downloads a runtime with npm, which caches it, and returns its file. Throws if its digest is wrong. */
function fetchRuntime(platform, work) {
  const { name, sha512 } = runtimes[platform];
  const dir = path.join(work, name);
  const file = path.join(dir, 'package', 'bin', platform.startsWith('windows') ? 'bun.exe' : 'bun');
  if (fs.existsSync(file)) return file;
  fs.mkdirSync(dir);
  const pack = ['pack', `${packageOf(name)}@${BUN}`, '--silent', '--pack-destination', dir];
  execFileSync('npm', pack, {
    cwd: work,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  const [tarball] = fs.readdirSync(dir);
  if (digestOf('sha512', fs.readFileSync(path.join(dir, tarball)), 'base64') !== sha512)
    throw new Error(`${packageOf(name)}@${BUN} is not the package that bin/binaries.js names by its digest`);
  execFileSync('tar', ['-xzf', tarball], { cwd: dir });
  return file;
}

/** The state of the source: its commit, with a mark if a file differs from it, and the commit's time. */
function sourceState() {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    const [commit, seconds] = git('log', '-1', '--format=%H %ct').trim().split(' ');
    const isChanged = git('status', '--porcelain').trim() !== '';
    return { commit: `${commit.slice(0, 12)}${isChanged ? '+changes' : ''}`, seconds };
  } catch {
    return { commit: 'no commit', seconds: process.env.SOURCE_DATE_EPOCH ?? '0' };
  }
}

/** The names and functions of all parts in dist/; their loader defers Node's modules until they are used. */
const allParts = {
  name: 'all-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^all-parts$/ }, ({ path: name }) => ({ path: name, namespace: name }));
    onLoad({ filter: /./, namespace: 'all-parts' }, () => {
      const { file, names, starts } = JSON.parse(fs.readFileSync(path.join(distDir, 'parts.json'), 'utf8'));
      const text = fs.readFileSync(path.join(distDir, file), 'latin1');
      const pairs = names.map((name, at) => `['${name}', ${text.slice(starts[at], starts[at + 1] - 2)}],\n`);
      return { contents: `module.exports = [\n${pairs.join('')}];` };
    });
  },
};

/** Makes the folder from which Bun builds the file: the entry as one script, the threads, and the files gw reads. */
async function stageFor(platform, { commit }, work) {
  const stage = path.join(work, 'stage');
  fs.rmSync(stage, { recursive: true, force: true });
  fs.mkdirSync(stage);
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['bin/one-file.js'],
    outfile: path.join(stage, 'gw.js'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    minify: true,
    legalComments: 'none',
    define: {
      GW_BUILD: JSON.stringify({ version, build: `${version} (${platform}, ${commit})` }),
      // The file must not contain the place where it was built.
      __dirname: '"/"',
      __filename: '"/gw"',
    },
    logLevel: 'warning',
    logOverride: { 'empty-import-meta': 'silent' },
    plugins: [allParts],
  });
  for (const name of threads) {
    const { outputFiles } = await buildAlone(`src/${name.replace('.js', '.ts')}`);
    fs.writeFileSync(path.join(stage, name), outputFiles[0].text);
  }
  for (const name of assets) fs.cpSync(path.join(distDir, name), path.join(stage, name), { recursive: true });
  return stage;
}

const threads = ['worker.js', 'watchdog-thread.js'];
const assets = ['clips', 'complete.json', 'LICENSES.txt', 'mcp.json', 'wasm'];

/** Makes the file of a platform; returns its name. */
async function makeBinary(platform, bun, state, work) {
  const stage = await stageFor(platform, state, work);
  const name = `gw-${platform}${platform.startsWith('windows') ? '.exe' : ''}`;
  const [system, arch] = runtimes[platform].name.split('-');
  execFileSync(
    bun,
    [
      'build',
      '--compile',
      '--bytecode',
      // A run is short: compiling code that runs a few hundred times would cost a third of a start and gain nothing.
      '--compile-jit-policy=4',
      // Files in the working directory must not influence gw.
      '--no-compile-autoload-dotenv',
      '--no-compile-autoload-bunfig',
      `--target=bun-${system}-${arch === 'aarch64' ? 'arm64' : arch}`,
      `--compile-executable-path=${fetchRuntime(platform, work)}`,
      ...assets.map((asset) => `--asset=${asset}`),
      `--outfile=${path.join(work, name)}`,
      'gw.js',
      ...threads,
    ],
    {
      cwd: stage,
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, BUN_INSTALL_CACHE_DIR: work },
    },
  );
  const bytes = fs.readFileSync(path.join(work, name));
  // Bun leaves outdated digests of some pages (oven-sh/bun#39837).
  if (platform.startsWith('macos')) wrongPages(bytes, true);
  fs.writeFileSync(path.join(outDir, name), bytes, { mode: 0o755 });
  fs.writeFileSync(
    path.join(outDir, `gw-${platform}.cdx.json`),
    listOf(platform, state, digestOf('sha256', bytes, 'hex')),
  );
  return name;
}

/** The list of contents of a file: that of the bundle, and the runtime. */
function listOf(platform, { commit, seconds }, sha256) {
  const list = JSON.parse(fs.readFileSync(path.join(distDir, 'sbom.cdx.json'), 'utf8'));
  const { name, sha512 } = runtimes[platform];
  const purl = `pkg:npm/${packageOf(name).replace('@', '%40')}@${BUN}`;
  const hex = digestOf('sha256', `${commit} ${platform}`, 'hex');
  list.serialNumber = `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  list.metadata.timestamp = new Date(Number(seconds) * 1000).toISOString();
  list.metadata.component.hashes = [{ alg: 'SHA-256', content: sha256 }];
  list.components.push({
    type: 'library',
    'bom-ref': purl,
    group: '@oven',
    name: `bun-${name}`,
    version: BUN,
    // Its own licence; linked libraries, above all JavaScriptCore under LGPL-2.1, are listed in its LICENSE.md.
    licenses: [{ license: { id: 'MIT' } }, { license: { id: 'LGPL-2.1-only' } }],
    purl,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }],
  });
  return `${JSON.stringify(list, null, 1)}\n`;
}

/** The platform of this machine, whose runtime also does the build. */
const here = `${{ darwin: 'macos', win32: 'windows' }[process.platform] ?? process.platform}-${process.arch}`;

async function main(asked) {
  const unknown = [...asked, here].find((platform) => !Object.hasOwn(runtimes, platform));
  if (unknown !== undefined) throw new Error(`${unknown}: is none of ${Object.keys(runtimes).join(', ')}`);
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'gw-binaries-'));
  try {
    fs.rmSync(outDir, { recursive: true, force: true });
    fs.mkdirSync(outDir, { recursive: true });
    const state = sourceState();
    const bun = fetchRuntime(here, work);
    for (const platform of asked.length > 0 ? asked : Object.keys(runtimes)) {
      const name = await makeBinary(platform, bun, state, work);
      process.stdout.write(`${path.join(outDir, name)}\n`);
    }
    writeSums(outDir);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
});
