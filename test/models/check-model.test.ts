import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import * as path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { GwError, Interrupted } from '../../src/errors.ts';
import { checkModel } from '../../src/models/check-model.ts';
import { readModelCache, writeModelCache } from '../../src/models/model-cache.ts';
import { newDir } from '../helpers/new-dir.ts';

let dir: string;
beforeEach(() => {
  dir = newDir();
});

const GATEWAY = 'https://gateway.example';
const host = () => ({ env: {}, cwd: dir, platform: 'linux' as const, homeDir: dir });
const filesOf = () => {
  const folder = path.join(dir, '.cache/gw/models');
  return existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : [];
};

describe('the kept list', () => {
  test('is one file for each gateway, for this user only, replaced as a whole', () => {
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 1, ids: ['a'] });
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 2, ids: ['b', 'c'] });
    writeModelCache(host(), 'sandbox:', { fetchedAtMs: 3, ids: ['d'] });
    expect(readModelCache(host(), GATEWAY)).toEqual({ fetchedAtMs: 2, ids: ['b', 'c'] });
    expect(readModelCache(host(), 'sandbox:')).toEqual({ fetchedAtMs: 3, ids: ['d'] });
    expect(filesOf()).toHaveLength(2);
    for (const file of filesOf()) {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(path.basename(file)).toMatch(/^[0-9a-f]{1,8}\.json$/);
    }
  });

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['another format', '{"version":2,"gateway":"https://gateway.example","fetched_at_ms":1,"ids":[]}'],
    ['the list of another gateway', '{"version":1,"gateway":"https://x.example","fetched_at_ms":1,"ids":[]}'],
    ['null', 'null'],
  ])('that holds %s is none', (_, text) => {
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 1, ids: ['a'] });
    writeFileSync(String(filesOf()[0]), text);
    expect(readModelCache(host(), GATEWAY)).toBeUndefined();
  });

  test('that cannot be written is no error and leaves nothing behind', () => {
    mkdirSync(path.join(dir, '.cache'));
    writeFileSync(path.join(dir, '.cache/gw'), 'a file in the way');
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 1, ids: ['a'] });
    expect(readModelCache(host(), GATEWAY)).toBeUndefined();
    expect(readFileSync(path.join(dir, '.cache/gw'), 'utf8')).toBe('a file in the way');
    const noHome = { ...host(), homeDir: undefined };
    writeModelCache(noHome, GATEWAY, { fetchedAtMs: 1, ids: ['a'] });
    expect(readModelCache(noHome, GATEWAY)).toBeUndefined();
  });

  test('whose place is taken by a directory leaves no part file', () => {
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 1, ids: ['a'] });
    const file = String(filesOf()[0]);
    rmSync(file);
    mkdirSync(file);
    writeFileSync(path.join(file, 'x'), '');
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 2, ids: ['b'] });
    expect(filesOf()).toEqual([file]);
    chmodSync(file, 0o700);
  });
});

describe('checkModel', () => {
  /** A context whose gateway lists these models, or fails with this error. */
  function context(listed: readonly string[] | Error, globals: Context['globals'] = {}) {
    const asked: unknown[] = [];
    const client = {
      send: async (endpoint: { name: string }, _: unknown, options: unknown) => {
        asked.push([endpoint.name, options]);
        if (listed instanceof Error) throw listed;
        return { value: { data: listed.map((id) => ({ id })) } };
      },
    };
    const ctx = {
      host: host(),
      clock: { now: () => 5 },
      signal: new AbortController().signal,
      globals,
      io: { withoutSecrets: (text: string) => text.replace('the-key', '***') },
      gateway: async () => ({ name: GATEWAY, client }),
    } as unknown as Context;
    return { asked, check: (id: string) => checkModel(id, ['img-2', 'img-2.5-flare'], ctx) };
  }

  test('a model of the table is never asked for', async () => {
    const { asked, check } = context([]);
    await check('img-2');
    expect(asked).toEqual([]);
  });

  test('a model of the kept list is not asked for', async () => {
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 1, ids: ['own-image-1'] });
    const { asked, check } = context([]);
    await check('own-image-1');
    expect(asked).toEqual([]);
  });

  test('another is looked for in a fresh list, once and without retries, which is then kept', async () => {
    writeModelCache(host(), GATEWAY, { fetchedAtMs: 1, ids: ['old'] });
    const { asked, check } = context(['own-image-1']);
    await check('own-image-1');
    expect(asked).toEqual([['models.list', expect.objectContaining({ retries: 0, silenceMs: 10_000 })]]);
    expect(readModelCache(host(), GATEWAY)).toEqual({ fetchedAtMs: 5, ids: ['own-image-1'] });
  });

  test('a list that echoes the key brings it into no file', async () => {
    const { check } = context(['own-image-1', 'the-key', 'a-the-key-b']);
    await check('own-image-1');
    expect(readModelCache(host(), GATEWAY)?.ids).toEqual(['own-image-1']);
  });

  test('one that is in neither is refused, with the nearest of table and list', async () => {
    const { check } = context(['own-image-1']);
    const refused = await check('own-image-2').catch((error: unknown) => error);
    expect(refused).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('"own-image-2"'),
      facts: { hint: expect.stringContaining('did you mean own-image-1') },
    });
    await expect(check('img-2.5-flair')).rejects.toMatchObject({
      facts: { hint: expect.stringContaining('img-2.5-flare') },
    });
    await expect(check('nothing like it')).rejects.toMatchObject({
      facts: { hint: expect.stringContaining('gw models lists') },
    });
  });

  test.each([[{ validate: false as never }], [{ dryRun: true }], [{ curl: true }]])(
    'never refuses with %j, and asks nobody',
    async (globals) => {
      const { asked, check } = context([], globals);
      await check('nonsense');
      expect(asked).toEqual([]);
    },
  );

  test('a list that cannot be had refuses nothing; an interrupt is one', async () => {
    await context(new GwError('unavailable', 'down')).check('nonsense');
    await expect(context(new Interrupted('SIGINT')).check('nonsense')).rejects.toBeInstanceOf(Interrupted);
  });
});
