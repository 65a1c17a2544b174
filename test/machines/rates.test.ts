import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Door } from '../../src/machines/door.ts';
import { PoolRate } from '../../src/machines/rates.ts';
import { until } from '../cli/place.ts';
import { openRedis } from './redis.ts';

// @module-tag redis-server

const pool = { name: 'alpha', requestsPerMinute: 600 };

test('a connection that was closed before holds nothing that keeps the process', async () => {
  // Tests of other files run in this process too.
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const redis = await openRedis();
  const before = timers();
  const door = await Door.open(redis.url);
  door.end();
  await pause(100);
  door.end();
  await until('nothing is held', () => timers() <= before);
});

test('a turn that was asked of Redis as it went away does not hold up the looks at tasks that run', async () => {
  const redis = await openRedis();
  const door = await Door.open(redis.url);
  try {
    const rate = new PoolRate(door, 'gw:test', pool);
    // Redis accepts the request for a turn but no longer answers.
    await redis.client.call('CLIENT', 'PAUSE', '60000', 'ALL');
    const turn = rate.turn(pause);
    expect(rate.take()).toBeUndefined();
    await redis.stop();
    let taken: number | undefined;
    for (let tries = 0; taken === undefined && tries < 400; tries += 1) {
      await pause(50);
      taken = rate.take();
    }
    expect(taken).toBe(0);
    await turn;
  } finally {
    door.end();
  }
});
