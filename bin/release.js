// `node bin/release.js VERSION [--repository URL] [--homepage URL] [--bugs URL] [--without-binaries]`: writes the version, the
// given URLs and the date into package.json and CHANGELOG.md, commits this, and makes the release files in dist/binaries/:
// the tarball, a single file per platform, their lists of contents, the installers, and SHA256SUMS of all.
'use strict';
const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const root = path.join(__dirname, '..');
const outDir = path.join(root, 'dist', 'binaries');
const inRoot = (...names) => path.join(root, ...names);
const run = (file, args, env = {}) =>
  execFileSync(file, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
    shell: process.platform === 'win32' && file === 'npm',
  }).trim();

const addresses = ['repository', 'homepage', 'bugs'];

function readOrder() {
  const text = { type: 'string' };
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { repository: text, homepage: text, bugs: text, 'without-binaries': { type: 'boolean' } },
  });
  const [version = '', ...more] = positionals;
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version) || more.length > 0)
    throw new Error('name one version, such as 0.2.0');
  const wrong = addresses.find(
    (name) => values[name] !== undefined && !/^(git\+)?https:\/\/\S+$/.test(values[name]),
  );
  if (wrong !== undefined) throw new Error(`--${wrong} ${values[wrong]}: is no https:// address`);
  if (run('git', ['status', '--porcelain']) !== '') throw new Error('commit what has changed first');
  return { version, values };
}

/** Writes the version into both files of npm, and the project's URLs if given. */
function writeVersion({ version, values }) {
  const file = inRoot('package.json');
  const about = JSON.parse(fs.readFileSync(file, 'utf8'));
  for (const name of addresses) if (values[name] !== undefined) about[name] = values[name];
  fs.writeFileSync(file, `${JSON.stringify({ ...about, version }, null, 2)}\n`);
  const lockFile = inRoot('package-lock.json');
  const lock = JSON.parse(fs.readFileSync(lockFile, 'utf8'));
  lock.version = version;
  lock.packages[''].version = version;
  fs.writeFileSync(lockFile, `${JSON.stringify(lock, null, 2)}\n`);
}

/** Adds the date to the newest part of the changelog. Throws if that is of another version. */
function dateChangelog({ version }, day) {
  const file = inRoot('CHANGELOG.md');
  const text = fs.readFileSync(file, 'utf8');
  const [heading, said] = /^## (\S+).*$/m.exec(text) ?? [];
  if (said !== version)
    throw new Error(`CHANGELOG.md begins with ${said ?? 'nothing'}: write what ${version} brings first`);
  fs.writeFileSync(file, text.replace(heading, `## ${version} (${day})`));
}

function main() {
  const order = readOrder();
  const [seconds, day] = run('git', ['log', '-1', '--format=%ct %cs']).split(' ');
  dateChangelog(order, day);
  writeVersion(order);
  run('git', ['commit', '--quiet', '--all', '--message', `Release ${order.version}`], {
    GIT_COMMITTER_DATE: `${seconds} +0000`,
  });
  const dated = { SOURCE_DATE_EPOCH: seconds };
  fs.rmSync(outDir, { recursive: true, force: true });
  run('npm', ['run', order.values['without-binaries'] ? 'build' : 'binaries'], dated);
  fs.mkdirSync(outDir, { recursive: true });
  run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', outDir], dated);
  fs.copyFileSync(inRoot('dist', 'sbom.cdx.json'), path.join(outDir, `gw-cli-${order.version}.cdx.json`));
  for (const name of ['install.sh', 'install.ps1'])
    fs.copyFileSync(inRoot('bin', name), path.join(outDir, name));
  fs.copyFileSync(inRoot('CHANGELOG.md'), path.join(outDir, 'CHANGELOG.md'));
  process.stdout.write(`${outDir}\n${writeSums(outDir)}`);
}

/** Writes SHA256SUMS of all other files of a folder; returns its text. */
function writeSums(dir) {
  const names = fs.readdirSync(dir).filter((name) => name !== 'SHA256SUMS');
  const sumOf = (name) =>
    createHash('sha256')
      .update(fs.readFileSync(path.join(dir, name)))
      .digest('hex');
  const text = names
    .sort()
    .map((name) => `${sumOf(name)}  ${name}\n`)
    .join('');
  fs.writeFileSync(path.join(dir, 'SHA256SUMS'), text);
  return text;
}

exports.writeSums = writeSums;

if (require.main === module) {
  try {
    main();
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  }
}
