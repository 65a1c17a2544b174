import { describe, expect, onTestFinished, test } from 'vitest';
import { rowReader } from '../../src/commands/machines/open.ts';
import { Board } from '../../src/machines/board.ts';
import { Door, dangerOf } from '../../src/machines/door.ts';
import { RowStore } from '../../src/machines/store.ts';
import { openRedis } from './redis.ts';

// @module-tag redis-server
// gw warns of a Redis that may drop or forget rows: they were paid for and would be made once more.

describe('a Redis that endangers rows', () => {
  const safe = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction', save: '' };
  const rows: [Partial<typeof safe>, string | undefined][] = [
    [{}, undefined],
    [
      { 'maxmemory-policy': 'allkeys-lru' },
      'this Redis may drop rows when it is full (maxmemory-policy allkeys-lru; noeviction is safe)',
    ],
    [
      { appendfsync: 'everysec' },
      'this Redis may forget the last seconds when it dies (appendfsync everysec; always is safe)',
    ],
    [
      { appendfsync: 'no' },
      'this Redis may forget the last seconds when it dies (appendfsync no; always is safe)',
    ],
    [
      { appendonly: 'no' },
      'this Redis keeps nothing when it stops (appendonly no; appendonly yes with appendfsync always is safe)',
    ],
    [
      { appendonly: 'no', save: '3600 1' },
      'this Redis forgets the last minutes when it dies (appendonly no; appendonly yes with appendfsync always is safe)',
    ],
    [
      { appendfsync: 'everysec', 'maxmemory-policy': 'volatile-ttl' },
      'this Redis may drop rows when it is full (maxmemory-policy volatile-ttl; noeviction is safe), and may forget the last seconds when it dies (appendfsync everysec; always is safe)',
    ],
  ];
  test.each(rows)('%j', async (differs, warning) => {
    const { client } = await openRedis();
    for (const [name, value] of Object.entries({ ...safe, ...differs }))
      await client.config('SET', name, value);
    expect(await dangerOf({ redis: client })).toBe(warning);
  });

  test('one that keeps its settings to itself is not warned of', async () => {
    const { client } = await openRedis();
    await client.call('ACL', 'SETUSER', 'default', '-config');
    expect(await dangerOf({ redis: client })).toBeUndefined();
    Object.assign(client, { config: async () => null });
    expect(await dangerOf({ redis: client })).toBeUndefined();
  });
});

test('a worker that leaves while its report is under way is gone', async () => {
  const { client, url } = await openRedis();
  const door = await Door.open(url);
  onTestFinished(() => door.end());
  const board = new Board(new RowStore(door, 'test', rowReader));
  await Promise.all([board.say('anna', { account: 'personal', stands: [] }), board.leave('anna')]);
  expect(await client.keys('*:workers')).toEqual([]);
});
