// Options with which esbuild leaves out code that gw never uses.
'use strict';
const fs = require('node:fs');

/**
 * Dependencies' code that gw never uses: in undici HTTP/2 (7 ms), node:http (used only for the length of a head), and
 * forms, which gw writes itself; in zod other languages; in commander starting subcommands as programs (2 ms); in the
 * queue databases and clients other than Redis and ioredis, the calendar of repeated rows, and the native part of
 * msgpackr; in conf schema validation and migration of older files; stores of the limiter; the WebP encoder for
 * processors without SIMD.
 */
const withoutUnused = {
  name: 'without-unused',
  setup({ onResolve, onLoad }) {
    const namespace = 'without-unused';
    onResolve({ filter: /client-h2\.js$/ }, () => ({ path: 'HTTP/2', namespace }));
    onResolve({ filter: /web\/fetch\/body\.js$/ }, () => ({ path: 'the body of a form', namespace }));
    const leaveOut = ({ path: what }) => ({ path: what, namespace });
    const leaveOutOf = (importers, filter, but = /^$/) =>
      onResolve({ filter }, (found) =>
        importers.test(found.importer) && !but.test(found.path) ? leaveOut(found) : undefined,
      );
    onResolve({ filter: /^(cron-parser|msgpackr-extract|pg|redis|bullmq-otel)$/ }, leaveOut);
    onResolve({ filter: /\/webp_enc\.js$/ }, leaveOut);
    leaveOutOf(/node_modules.conf/, /^(ajv|ajv-formats|semver)(\/|$)/);
    leaveOutOf(/rate-limiter-flexible.index/, /^\.\/lib\//, /RateLimiter(Memory|Redis|Res)$/);
    leaveOutOf(
      /node_modules.bullmq/,
      /\/(postgres|valkey-glide-client|node-redis-client|bun-redis-client)(\/index)?$/,
    );
    // A program that runs gw may have its own zod, which would share these globals. A parser compiled for each schema
    // pays off only after hundreds of values.
    onLoad({ filter: /zod.v4.core.(core|registries)\.js$/ }, ({ path: file }) => ({
      contents: `const own = { __zod_globalConfig: { jitless: true } };\n${fs.readFileSync(file, 'utf8').replaceAll('globalThis', 'own')}`,
    }));
    // The writer of conf's file would listen to signals for the life of the process, which may be another program's.
    onLoad({ filter: /when-exit.dist.node.index\.js$/ }, () => ({ contents: 'export default () => {};' }));
    // The validator of the SDK of gw mcp is not needed.
    onResolve({ filter: /server\/_shims$/ }, ({ path: what }) => ({ path: what, namespace: 'shims' }));
    onLoad({ filter: /.*/, namespace: 'shims' }, () => ({
      contents:
        "export class DefaultJsonSchemaValidator {}\nexport { default as process } from 'node:process';",
    }));
    leaveOutOf(/node_modules.zod/, /locales\/index\.js$/);
    leaveOutOf(/node_modules.undici/, /^node:http$/);
    leaveOutOf(/node_modules.commander/, /^node:child_process$/);
    onLoad({ filter: /cli-spinners.spinners\.json$/ }, ({ path: file }) => {
      const { dots, line } = JSON.parse(fs.readFileSync(file, 'utf8'));
      return { contents: JSON.stringify({ dots, line }), loader: 'json' };
    });
    onLoad({ filter: /.*/, namespace }, ({ path: what }) => ({
      contents: `module.exports = () => { throw new Error(${JSON.stringify(`${what} is left out of the bundle`)}) };`,
    }));
  },
};

/** Options of esbuild. All of undici costs 40 ms at start; gw needs one class of it. */
exports.lean = { alias: { undici: './src/http/lean-undici.ts' }, plugins: [withoutUnused] };
