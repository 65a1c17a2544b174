// Answers a shell's completion script without the bundle. On an error it prints nothing, as the user is still typing.
'use strict';

/** `load` returns the answering function and its table of commands. */
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
    // On an error there are no candidates.
  }
};
