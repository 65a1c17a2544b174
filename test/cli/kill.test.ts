import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { alphaFamily } from '../../src/gateway/alpha/task.ts';
import { builtGw } from './built.ts';
import { expectMended, type World } from './mended.ts';
import { openNearPlace } from './near-place.ts';
import { create, creates, type Ended, fetches, inThrees, type Place, pause, strace, until } from './place.ts';

// Promise 7: `gw jobs sync` recovers from a kill at any moment, and nothing is paid for twice.

/** gw writes one byte beside the target before a job is paid for; a larger part file holds output. */
const PROBE_BYTES = 1;
const mended = (place: World, killed: Ended, when: string) => expectMended(place, alphaFamily, killed, when);

describe('a kill -9', () => {
  test('at ten moments of its life', async () => {
    // gw is built first, so that the measured duration of a run does not include the build.
    builtGw();
    const calibrated = await openNearPlace();
    const startMs = performance.now();
    expect((await calibrated.start([...create, 'a fox'], { isKilled: true }).ended).code).toBe(0);
    const lifeMs = performance.now() - startMs;
    await inThrees(
      Array.from({ length: 10 }, (_, at) => (lifeMs * 1.2 * (at + 0.5)) / 10),
      async (afterMs) => {
        const place = await openNearPlace();
        const running = place.start([...create, 'a fox'], { isKilled: true });
        await pause(afterMs);
        running.child.kill('SIGKILL');
        await mended(place, await running.ended, `after ${Math.round(afterMs)} ms`);
      },
    );
  });

  const phases: {
    when: string;
    fault?: string;
    state: (string | undefined)[];
    reached: (place: World, err: () => string, out: () => string) => unknown;
  }[] = [
    {
      when: 'as soon as there is a ledger',
      state: [undefined, 'not_sent', 'unknown', 'succeeded'],
      reached: (place) => fs.existsSync(path.join(place.state, 'ledger')),
    },
    {
      when: 'when the create has arrived and the answer is under way',
      fault: 'create:slow:x1',
      state: ['unknown'],
      reached: ({ sandbox }) => sandbox.tasks().length === 1,
    },
    {
      when: 'when the create was just answered',
      state: ['unknown', 'succeeded'],
      reached: ({ sandbox }) => creates(sandbox).some((request) => request.acceptedTaskId !== undefined),
    },
    { when: 'when the ID was shown', state: ['succeeded'], reached: (_, err) => err().includes('task vt-') },
    {
      when: 'while a look is in flight',
      fault: 'query:slow:x1',
      state: ['succeeded'],
      reached: ({ sandbox }) => sandbox.requests.some((request) => request.method === 'GET'),
    },
    {
      when: 'when the output was asked for',
      fault: 'output:hang:x1',
      state: ['succeeded'],
      reached: ({ sandbox }) => fetches(sandbox).length === 1,
    },
    {
      when: 'in the middle of the output',
      fault: 'output:slow:x1',
      state: ['succeeded'],
      reached: (place) => place.partBytes() > PROBE_BYTES,
    },
    {
      when: 'when the last byte of the output was sent',
      state: ['succeeded'],
      reached: ({ sandbox }) => fetches(sandbox).some((request) => request.status === 200),
    },
    {
      when: 'when the path was printed',
      state: ['succeeded'],
      reached: (_, __, out) => out().includes('.mp4'),
    },
  ];
  test.each(phases)('$when', async ({ when, fault, state, reached }) => {
    const place = await openNearPlace({ ...(fault !== undefined && { fault }), slowGapMs: 60_000 });
    const running = place.start([...create, 'a fox'], { isKilled: true });
    await until(when, () => reached(place, running.err, running.out));
    running.child.kill('SIGKILL');
    expect(state).toContain(await mended(place, await running.ended, when));
  });

  test('in the middle of the output, five times: it goes on from where it was', async () => {
    const place = await openNearPlace({ fault: 'output:slow:x5', slowGapMs: 60_000 });
    const grown: number[] = [];
    let argv: readonly string[] = [...create, 'a fox'];
    for (let kill = 0; kill < 5; kill++) {
      const running = place.start(argv, { isKilled: true });
      const least = grown.at(-1) ?? PROBE_BYTES;
      await until('the part grows', () => place.partBytes() > least);
      running.child.kill('SIGKILL');
      await running.ended;
      grown.push(place.partBytes());
      argv = ['jobs', 'sync'];
    }
    expect(grown).toEqual([...grown].sort((left, right) => left - right));
    await mended(place, await place.run(['jobs', 'sync']), 'after five kills');
    const asked = fetches(place.sandbox).map((request) => request.headers.range);
    expect(asked[0]).toBeUndefined();
    expect(asked.slice(1, 6).every((range) => /^bytes=[1-9]\d*-$/.test(String(range)))).toBe(true);
  });
});

describe('a kill at the Nth call of', { tags: ['strace'] }, () => {
  const ledgerPaths = (place: Place) => [place.journal, path.dirname(place.journal)];
  const all = () => [];
  test.each([
    { call: 'write', paths: ledgerPaths, most: 14, least: 6 },
    { call: 'fdatasync', paths: ledgerPaths, most: 14, least: 6 },
    { call: 'pwrite64', paths: all, most: 4, least: 1 },
    { call: 'fsync', paths: all, most: 10, least: 3 },
    { call: 'link,linkat', paths: all, most: 3, least: 1 },
    { call: 'unlink,unlinkat', paths: all, most: 6, least: 2 },
  ])('$call', async ({ call, paths, most, least }) => {
    const numbers = Array.from({ length: most }, (_, at) => at + 1);
    let kills = 0;
    await inThrees(numbers, async (number) => {
      const place = await openNearPlace();
      const wrap = strace(`${call}:signal=KILL:when=${number}`, paths(place));
      const ended = await place.run([...create, 'a fox'], { wrap });
      if (ended.code !== 0) {
        expect(ended, `${call} ${number}`).toMatchObject({ signal: 'SIGKILL' });
        kills += 1;
      }
      await mended(place, ended, `at ${call} number ${number}`);
    });
    expect(kills, 'the calls were met').toBeGreaterThanOrEqual(least);
  });

  test.each([
    // The first rename belongs to the test of the directory before the create.
    { call: 'rename,renameat,renameat2', numbers: [2], flags: [] },
    // These writes record that the file is about to be renamed, that it is saved, and that its part is gone.
    { call: 'fdatasync', numbers: [7, 8, 9], flags: [] },
    { call: 'fdatasync', numbers: [7, 8, 9], flags: ['--force'] },
  ])('$call where there are no hard links, $flags', async ({ call, numbers, flags }) => {
    await inThrees(numbers, async (number) => {
      const place = await openNearPlace();
      const wrap = strace(['link,linkat:error=EPERM', `${call}:signal=KILL:when=${number}`]);
      const ended = await place.run([...create, 'a fox', '-o', 'fox.mp4', ...flags], { wrap });
      expect(ended.signal, `${call} ${number}`).toBe('SIGKILL');
      expect(await mended(place, ended, `at ${call} ${number}`)).toBe('succeeded');
      // No empty file has taken the output's name.
      expect(place.files(), `at ${call} ${number}`).toEqual(['fox.mp4']);
    });
  });

  test('rename, where --force replaces a file: the old one or the new one, whole', async () => {
    const place = await openNearPlace();
    const target = path.join(place.cwd, 'fox.mp4');
    fs.writeFileSync(target, 'what was there before');
    const wrap = strace('rename,renameat,renameat2:signal=KILL:when=2');
    const ended = await place.run([...create, 'a fox', '-o', 'fox.mp4', '--force'], { wrap });
    expect(ended.signal).toBe('SIGKILL');
    expect(fs.readFileSync(target, 'utf8')).toBe('what was there before');
    await place.run(['jobs', 'sync']);
    expect(fs.readFileSync(target, 'utf8')).toBe('what was there before');
    expect(place.files()).toEqual(['fox-1.mp4', 'fox.mp4']);
    expect(await place.run(['jobs', 'download', 'last', '--force'])).toMatchObject({ out: `${target}\n` });
  });
});
