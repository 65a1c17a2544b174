import type { Reporter, TestModule } from 'vitest/node';
import { needsRoot, packages, tags } from './needs.ts';

const missing = new Set(tags().flatMap(({ name, skip }) => (skip ? [name] : [])));

/**
 * Says in one closing line how many tests were skipped for want of something, and how to run them. In CI, which has every
 * package, a skip makes the run red, for it hides something; only what an ordinary user may not do is left to root there.
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

/** How many tests were skipped, and what has to be there for them. */
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
