import type { Reporter, TestModule } from 'vitest/node';
import { needsRoot, packages, tags } from './needs.ts';

const missing = new Set(tags().flatMap(({ name, skip }) => (skip ? [name] : [])));

/**
 * Prints one closing line with the number of tests that were skipped because something is missing, and how to run them. CI has
 * every package, so a skip there fails the run; only tests that an ordinary user may not run are left to root.
 */
export const skips: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const skipped = modules.flatMap((each) => [...each.children.allTests('skipped')]);
    if (process.env.CI) {
      const hidden = skipped.filter(
        ({ tags }) =>
          !(missing.has('root') && needsRoot(tags)) && !(missing.has('node') && tags.includes('node')),
      );
      for (const { fullName, module } of hidden)
        console.error(`skipped: ${module.relativeModuleId}: ${fullName}`);
      if (hidden.length > 0) process.exitCode = 1;
    }
    const wanting = skipped.filter((test) => test.tags.some((tag) => missing.has(tag)));
    const wanted = new Set(wanting.flatMap((test) => test.tags.filter((tag) => missing.has(tag))));
    if (wanted.size > 0) console.log(`\n${closingLine(wanting.length, wanted)}`);
  },
};

/** The closing line: the number of skipped tests and what they need. */
export function closingLine(count: number, wanted: ReadonlySet<string>): string {
  const install = [...packages.keys()].filter((name) => wanted.has(name));
  const ways = [
    ...(install.length > 0 ? [`apt-get install ${install.join(' ')}`] : []),
    ...(needsRoot([...wanted]) ? ['run them as root'] : []),
    ...(wanted.has('matrix') ? ['npm run matrix'] : []),
    ...(wanted.has('node') ? ['unset GW_TEST_BINARY'] : []),
  ];
  const what = count === 1 ? '1 test was' : `${count} tests were`;
  return `${what} skipped, because something is missing here; to run all: ${ways.join('; ')}`;
}
