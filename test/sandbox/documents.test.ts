import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskStore } from '../../src/sandbox/disk-store.ts';
import { memoryStore, type SandboxStore } from '../../src/sandbox/store.ts';
import { newStateDir } from './fixture.ts';

const oddIds = ['a', 'A', '../../secret', '', 'é'.repeat(200), 'con', 'x/y', 'a.json', '~', 'a b'];

describe.each<[string, () => Promise<SandboxStore>]>([
  ['in memory', async () => memoryStore()],
  ['on disk', async () => diskStore(await newStateDir())],
])('documents %s', (_, open) => {
  it('are kept under any ID, each for itself, and replaced', async () => {
    const store = await open();
    for (const id of oddIds) store.put('thing', id, { id, nth: 0 });
    store.put('thing', 'a', { id: 'a', nth: 1 });
    for (const id of oddIds) expect(store.get('thing', id)).toEqual({ id, nth: id === 'a' ? 1 : 0 });
    expect([...store.all('thing').keys()].sort()).toEqual([...oddIds].sort());
    expect(store.all('thing').get('a')).toEqual({ id: 'a', nth: 1 });
    expect([store.get('other', 'a'), store.get('thing', 'b'), store.all('other').size]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });

  it('are dropped once', async () => {
    const store = await open();
    store.put('thing', 'x/y', { nth: 1 });
    expect(store.drop('thing', 'x/y')).toBe(true);
    expect(store.drop('thing', 'x/y')).toBe(false);
    expect(store.drop('other', 'x/y')).toBe(false);
    expect(store.get('thing', 'x/y')).toBeUndefined();
  });

  it('are new only where there is none', async () => {
    const store = await open();
    expect(store.putNew('thing', 'a', { nth: 1 })).toBe(true);
    expect(store.putNew('thing', 'a', { nth: 2 })).toBe(false);
    expect(store.get('thing', 'a')).toEqual({ nth: 1 });
    store.drop('thing', 'a');
    expect(store.putNew('thing', 'a', { nth: 3 })).toBe(true);
  });

  it('do not change with what was put in or got out', async () => {
    const store = await open();
    const value = { list: [1] };
    store.put('thing', 'a', value);
    value.list.push(2);
    (store.get('thing', 'a') as typeof value).list.push(3);
    expect(store.get('thing', 'a')).toEqual({ list: [1] });
  });

  it('are swept away at their time, and not before', async () => {
    const store = await open();
    store.put('thing', 'short', {}, { expiresAtMs: 1000 });
    store.put('other', 'long', {}, { expiresAtMs: 2000 });
    store.put('thing', 'for-ever', {});
    store.sweep(999);
    expect(store.all('thing').size).toBe(2);
    store.sweep(1000);
    expect([...store.all('thing').keys()]).toEqual(['for-ever']);
    expect(store.get('other', 'long')).toEqual({});
  });
});

it('documents on disk are shared, taken by one of several, and kept to this user', async () => {
  const stateDir = await newStateDir();
  const stores = [diskStore(stateDir), diskStore(stateDir), diskStore(stateDir)];
  const taken = Array.from({ length: 30 }, (_, nth) =>
    stores[nth % 3]?.putNew('claim', `row ${nth % 10}`, { nth }),
  );
  expect(taken.filter(Boolean)).toHaveLength(10);
  expect(stores[2]?.all('claim').size).toBe(10);
  const names = await readdir(join(stateDir, 'documents', 'claim'));
  expect(names).toHaveLength(10);
  for (const name of names) {
    expect((await stat(join(stateDir, 'documents', 'claim', name))).mode & 0o077).toBe(0);
  }
});

it('a document that was cut is as good as none', async () => {
  const stateDir = await newStateDir();
  const store = diskStore(stateDir);
  store.put('thing', 'a', { nth: 1 });
  await writeFile(join(stateDir, 'documents', 'thing', 'a.json'), '{"id":"a","val');
  expect(store.get('thing', 'a')).toBeUndefined();
  expect(store.all('thing').size).toBe(0);
  store.sweep(1);
});
