import type { Reporter, TestModule } from 'vitest/node';

/** Makes a run red in which a test was skipped: CI has every tool that a test needs, so a skip there hides something. */
export const noSkips: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const skipped = modules.flatMap((each) => [...each.children.allTests('skipped')]);
    for (const { fullName, module } of skipped)
      console.error(`skipped: ${module.relativeModuleId}: ${fullName}`);
    if (skipped.length > 0) process.exitCode = 1;
  },
};
