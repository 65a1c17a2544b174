// How esbuild is to take gw's sources: without what it never uses.
'use strict';
const fs = require('node:fs');

/**
 * What dependencies load and gw never uses: in commander the starting of subcommands as programs, which costs 2 ms; in the
 * queue the databases and clients that are not Redis and ioredis, the calendar of repeated rows, and the native part of
 * msgpackr.
 */
const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    const namespace = 'without-unused';
    onResolve({ filter: /^(luxon|msgpackr-extract|pg|redis|bullmq-otel)$/ }, ({ path: what }) => ({
      path: what,
      namespace,
    }));
    onResolve(
      { filter: /\/(postgres|valkey-glide-client|node-redis-client|bun-redis-client)(\/index)?$/ },
      (found) => (/node_modules.bullmq/.test(found.importer) ? { path: found.path, namespace } : undefined),
    );
    // A program that runs gw may have a zod of its own, which would share these; and a parser that is made for each schema pays
    // for itself after hundreds of values.
    onLoad({ filter: /zod.v4.core.(core|registries)\.js$/ }, ({ path: file }) => ({
      contents: `const own = { __zod_globalConfig: { jitless: true } };\n${fs.readFileSync(file, 'utf8').replaceAll('globalThis', 'own')}`,
    }));
    // The validator of the SDK of gw mcp, which has nothing to validate.
    onResolve({ filter: /server\/_shims$/ }, ({ path: what }) => ({ path: what, namespace: 'shims' }));
    onLoad({ filter: /.*/, namespace: 'shims' }, () => ({
      contents:
        "export class DefaultJsonSchemaValidator {}\nexport { default as process } from 'node:process';",
    }));
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      /node_modules.commander/.test(importer) ? { path: 'node:child_process', namespace } : undefined,
    );
    onLoad({ filter: /.*/, namespace }, ({ path: what }) => ({
      contents: `module.exports = () => { throw new Error(${JSON.stringify(`${what} is left out of the bundle`)}) };`,
    }));
  },
};

/** Options of esbuild. */
exports.lean = { plugins: [withoutUnused] };
