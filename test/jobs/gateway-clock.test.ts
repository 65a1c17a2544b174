import { expect, test } from 'vitest';
import { gatewayNowMs, notAhead } from '../../src/jobs/gateway-clock.ts';
import { isOpenImageJob } from '../../src/jobs/image/sync-image-job.ts';
import { endOf } from '../../src/jobs/watch/follow.ts';
import type { SeenTask } from '../../src/jobs/watch/look.ts';
import type { Job } from '../../src/ledger/event.ts';

const DAY = 86_400_000;
const server = Date.UTC(2026, 10, 20);

test.each([
  [0, 'right'],
  [2 * DAY, 'two days ahead'],
  [-45 * DAY, '45 days behind'],
  [3650 * DAY, 'ten years ahead'],
])('a clock that is off by %d ms (%s) tells the time at the gateway all the same', (offMs) => {
  const job = { serverDateMs: server, finishedAtMs: server + offMs, sentAtMs: undefined, createdAtMs: 0 };
  expect(gatewayNowMs(job, server + offMs + 10_000)).toBe(server + 10_000);
  const image = {
    ...job,
    ...{ family: 'image', state: 'succeeded', parts: {}, files: [], save: { download: true } },
    ...{ record: { data: [{ url: 'https://outputs.example/a.png' }] }, media: [], settings: {} },
  } as unknown as Job;
  expect(isOpenImageJob(image, server + offMs + 10_000)).toBe(true);
  expect(isOpenImageJob(image, server + offMs + 2 * DAY)).toBe(false);
});

test.each([2 * DAY, -45 * DAY, 3650 * DAY])(
  'an output is urgent by its age, with a clock that is %d ms off',
  async (offMs) => {
    const clock = { now: () => server + offMs + 1000 };
    const urgent: (number | undefined)[] = [];
    const turns = {
      take: async (_due: number, _work: unknown, fromMs?: number) => {
        urgent.push(fromMs);
        return { files: [], errors: [] };
      },
    };
    const view = {
      state: 'succeeded',
      status: 'succeeded',
      outputs: [{ role: 'video', type: 'video', url: '' }],
    };
    const input = { id: 't', family: { linkLifeMs: DAY }, save: { download: true } } as unknown as Parameters<
      typeof endOf
    >[1];
    const deps = { clock, turns, progress: { download: () => {} } } as unknown as Parameters<typeof endOf>[2];
    for (const seenAtMs of [undefined, server + offMs])
      await endOf({ view, record: {}, serverDateMs: server, seenAtMs } as unknown as SeenTask, input, deps);
    expect(urgent).toEqual([server + offMs + 1000 + 0.8 * DAY, server + offMs + 0.8 * DAY]);
  },
);

test('a clock that was set back never tells a time before the record that came', () => {
  const job = { serverDateMs: server, finishedAtMs: server, sentAtMs: undefined, createdAtMs: 0 };
  expect(gatewayNowMs(job, server - 400 * DAY)).toBe(server);
  expect([notAhead(server + DAY, server), notAhead(server - DAY, server)]).toEqual([server, server - DAY]);
});
