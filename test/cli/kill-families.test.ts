import { describe, expect, test } from 'vitest';
import { loadTaskFamily } from '../../src/gateway/families.ts';
import { builtGw } from './built.ts';
import { expectMended } from './mended.ts';
import { openNearPlace } from './near-place.ts';
import { inThrees, pause, until } from './place.ts';

// Promise 7 for families B and C: `gw jobs sync` recovers from a kill at any moment, and nothing is paid for twice.

const waiting = ['--interval', '100ms', '--wait'];
const families: Record<'beta' | 'gamma', readonly string[]> = {
  beta: ['video', 'beta', 'create', 'a fox', '--duration', '3', ...waiting],
  gamma: [
    ...['video', 'gamma', 'create', 'a fox', '--resolution', '480P', '-m', 'gamma-H3-Max'],
    ...['--duration', '5', '--ratio', '1:1', ...waiting],
  ],
};

describe.each(['beta', 'gamma'] as const)('family %s', (name) => {
  const create = families[name];

  // gw looks for a lost create of family B for 22 s, and several of the kills may hit a create.
  test('a kill -9 at twenty moments of its life', async () => {
    const family = await loadTaskFamily(name);
    builtGw();
    const calibrated = await openNearPlace();
    const startMs = performance.now();
    const whole = await calibrated.start(create, { isKilled: true }).ended;
    expect(whole.code, whole.err).toBe(0);
    const lifeMs = performance.now() - startMs;
    const moments = Array.from({ length: 20 }, (_, at) => (lifeMs * 1.2 * (at + 0.5)) / 20);
    await inThrees(moments, async (afterMs) => {
      const place = await openNearPlace();
      const running = place.start(create, { isKilled: true });
      await pause(afterMs);
      running.child.kill('SIGKILL');
      const when = `after ${Math.round(afterMs)} ms`;
      await expectMended(place, family, await running.ended, when);
    });
  });

  test('a kill while the answer to the create is under way', async () => {
    const family = await loadTaskFamily(name);
    const place = await openNearPlace({ fault: 'create:slow:x1', slowGapMs: 60_000 });
    const running = place.start(create, { isKilled: true });
    await until('the task is there', () => place.sandbox.tasks().length === 1);
    running.child.kill('SIGKILL');
    const state = await expectMended(place, family, await running.ended, 'in the answer');
    // A job of family B is found by its external ID; family C has no such ID.
    expect(state).toBe(family.externalIds ? 'succeeded' : 'unknown');
  });
});
