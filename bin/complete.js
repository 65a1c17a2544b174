// Answers a shell's completion script without the bundle. A fault offers nothing: a command line is still being typed.
'use strict';

/** `load` gives what answers, and its table of commands. */
exports.answer = (asked, load) => {
  process.stdout.on('error', () => {});
  try {
    const { complete, table } = load();
    process.stdout.write(
      complete(asked, {
        table,
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
};
