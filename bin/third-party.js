// The third-party software in dist/: its licences, as they require, and the same as a CycloneDX list for machines.
'use strict';
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { Contrib, Enums, Models, Serialize, SPDX, Spec } = require('@cyclonedx/cyclonedx-library');

/** The sources of a package's WebAssembly, recognised by strings in it, because the packages do not name them. */
const compiledIn = {
  '@jsquash/jpeg': [
    ['mozjpeg', '3.3.1', 'IJG AND BSD-3-Clause AND Zlib'],
    ['musl', undefined, 'MIT'],
  ],
  '@jsquash/png': [
    ['png', '0.17.10', 'MIT OR Apache-2.0'],
    ['flate2', '1.0.28', 'MIT OR Apache-2.0'],
    ['miniz_oxide', '0.7.1', 'MIT OR Zlib OR Apache-2.0'],
    ['fdeflate', '0.3.3', 'MIT OR Apache-2.0'],
    ['crc32fast', '1.3.2', 'MIT OR Apache-2.0'],
  ],
  '@jsquash/webp': [
    ['libwebp', undefined, 'BSD-3-Clause'],
    ['musl', undefined, 'MIT'],
  ],
};

/** The folders of the packages whose bytes are in a build; a package that is only read does not count. */
function bundledPackages(metafiles) {
  const dirs = new Set();
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
        const dir = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(input)?.[0];
        if (dir !== undefined && bytesInOutput > 0) dirs.add(dir);
      }
    }
  }
  return [...dirs];
}

/** A package's package.json, with the short form of its repository (`owner/name`) written out. */
function readPackage(dir) {
  const about = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8'));
  const isShort = /^[\w.-]+\/[\w.-]+$/.test(about.repository);
  return isShort ? { ...about, repository: `https://github.com/${about.repository}` } : about;
}

/** The licence texts of a package, and of a codec in it. */
function licenceFiles(dir) {
  const isLicence = (name) => /^(licen[cs]e|copying|notice)/i.test(name);
  return ['.', 'codec'].flatMap((folder) => {
    const inside = path.join(dir, folder);
    return fs.existsSync(inside)
      ? fs
          .readdirSync(inside)
          .filter(isLicence)
          .map((name) => path.join(inside, name))
      : [];
  });
}

const sourceOf = ({ name, homepage, repository }) => {
  const url = typeof repository === 'string' ? repository : repository?.url;
  return homepage ?? url ?? `https://www.npmjs.com/package/${name}`;
};

function licencesOf(dirs) {
  const texts = dirs.map((dir) => {
    const about = readPackage(dir);
    const files = licenceFiles(dir).map((file) => fs.readFileSync(file, 'utf8').trimEnd());
    const text = files.length > 0 ? files.join('\n\n') : `Licence: ${about.license}`;
    return `${about.name} ${about.version} (${about.license}) ${sourceOf(about)}\n\n${text}\n`;
  });
  texts.push(fs.readFileSync(path.join(__dirname, 'codec-notices.txt'), 'utf8'));
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** Throws for a licence that is no SPDX expression (`MIT OR Apache-2.0`). */
function checkExpression(expression) {
  const unknown = expression.split(/[ ()]+|AND|OR/).filter((id) => id !== '' && !SPDX.isSupportedSpdxId(id));
  if (unknown.length > 0) throw new Error(`${expression}: ${unknown.join(', ')} is no licence of SPDX`);
}

/** The digests of packages, as npm checked them against the lock file; linked packages have none. */
function lockedHashes(root) {
  const installed = fs.realpathSync(path.join(root, 'node_modules'));
  const { packages } = JSON.parse(fs.readFileSync(path.join(installed, '.package-lock.json'), 'utf8'));
  return (dir) => {
    const place = `node_modules/${path.relative(installed, dir).split(path.sep).join('/')}`;
    const [, sum] = /^sha512-(.*)$/.exec(packages[place]?.integrity ?? '') ?? [];
    return sum && Buffer.from(sum, 'base64').toString('hex');
  };
}

/**
 * A CycloneDX 1.6 document. The same build gives the same bytes: the serial number is derived from the content, and the
 * time is SOURCE_DATE_EPOCH, the time of the source's state.
 */
function listOf(dirs, { name, version, license }, hashOf) {
  const { Builders, Factories } = Contrib.FromNodePackageJson;
  const licences = new Contrib.License.Factories.LicenseFactory(checkExpression);
  const builder = new Builders.ComponentBuilder(new Factories.ExternalReferenceFactory(), licences);
  const library = (of, purl) => {
    const made = new Models.Component(Enums.ComponentType.Library, of.name, {
      version: of.version,
      purl,
      bomRef: purl,
    });
    made.licenses.add(licences.makeFromString(of.license));
    return made;
  };
  const bom = new Models.Bom();
  bom.metadata.component = library({ name, version, license }, `pkg:npm/${name}@${version}`);
  bom.metadata.component.type = Enums.ComponentType.Application;
  for (const dir of dirs) {
    const about = readPackage(dir);
    const component = builder.makeComponent({ ...about, engines: undefined });
    component.purl = `pkg:npm/${about.name.replace('@', '%40')}@${about.version}`;
    component.bomRef.value = component.purl;
    const hash = hashOf(dir);
    if (hash) component.hashes.set(Enums.HashAlgorithm['SHA-512'], hash);
    for (const [inside, insideVersion, insideLicence] of compiledIn[about.name] ?? []) {
      const at = `pkg:generic/${inside}${insideVersion ? `@${insideVersion}` : ''}`;
      const part = library({ name: inside, version: insideVersion, license: insideLicence }, at);
      part.bomRef.value = `${component.purl}#${inside}`;
      component.components.add(part);
    }
    bom.components.add(component);
  }
  const { JSON: Json } = Serialize;
  const { SOURCE_DATE_EPOCH: seconds } = process.env;
  if (seconds) bom.metadata.timestamp = new Date(Number(seconds) * 1000);
  const listed = [name, version, ...dirs.map(hashOf)].join('\n');
  const hex = createHash('sha256').update(listed).digest('hex');
  // A UUID of version 8 (RFC 9562), whose bits are application-defined.
  bom.serialNumber = `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const serializer = new Serialize.JsonSerializer(new Json.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 1 })}\n`;
}

/** Writes LICENSES.txt and sbom.cdx.json for the bundled packages, and for the packages whose files are copied. */
function writeThirdParty(distDir, root, metafiles, lenders) {
  const lent = lenders.map((name) => `node_modules/${name}`);
  const real = [...bundledPackages(metafiles), ...lent].map((dir) => fs.realpathSync(path.join(root, dir)));
  const dirs = [...new Set(real)].sort();
  fs.writeFileSync(path.join(distDir, 'LICENSES.txt'), licencesOf(dirs));
  fs.writeFileSync(path.join(distDir, 'sbom.cdx.json'), listOf(dirs, readPackage(root), lockedHashes(root)));
}

module.exports = { writeThirdParty };
