import { writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { World } from '../helpers/gw.ts';

// `gw video alpha create` checks `asset://` references before it sends a paid request.

async function withLibrary(speed = 1e9) {
  const world = await World.open({ speed });
  const group = (await world.gw(['asset', 'group', 'create', '--name', 'foxes'])).out.trim();
  const asset = async (file: string) => {
    world.clock.ms += 1000;
    const argv = cmd`asset create --group ${group} --url https://example.com/${file} --name ${file}`;
    return (await world.gw(argv)).out.trim();
  };
  const from = (at: number) => world.requests().slice(at);
  const create = async (...argv: string[]) => {
    world.clock.ms += 1000;
    const before = world.sandbox.requests.length;
    const run = await world.gw(['video', 'alpha', 'create', 'image 1 runs', ...argv]);
    return { ...run, requests: from(before) };
  };
  return { world, group, asset, create };
}
const paid = 'POST /api/v3/contents/generations/tasks';
const getAsset = 'POST /?Action=GetAsset&Version=2024-01-01';

test('one is looked up by its ID, and then used', async () => {
  const { world, asset, create } = await withLibrary();
  const id = await asset('fox.png');
  world.clock.ms += 1000;
  const run = await create('--image', `asset://${id}`);
  expect(run.code, run.err).toBe(0);
  expect(run.requests).toEqual([getAsset, paid]);
  expect((await world.gw(['asset', 'get', id])).out).toMatch(/LastInferenceTime +2026-11-20T/);
});

test('several are looked up with one request', async () => {
  const { world, asset, create } = await withLibrary();
  const ids = [await asset('fox.png'), await asset('fox.mp4'), await asset('fox.mp3')];
  world.clock.ms += 1000;
  const run = await create(
    ...cmd`--image asset://${ids[0]} --video asset://${ids[1]} --audio asset://${ids[2]}`,
  );
  expect(run.code, run.err).toBe(0);
  expect(run.requests).toEqual(['GET /api/assets?limit=100', paid]);
});

test('one that the list lacks is asked for by itself', async () => {
  const { asset, create } = await withLibrary();
  const id = await asset('fox.png');
  const run = await create('--image', `asset://${id}`, '--video', 'asset://asset-sandbox-video-1');
  expect(run.code, run.err).toBe(0);
  expect(run.requests).toEqual(['GET /api/assets?limit=100', getAsset, paid]);
});

test('a 429 of the look that outlasts --wait-timeout ends the create at once, and nothing is paid', async () => {
  const world = await World.open({ fault: 'query:429+60' });
  const create = cmd`video alpha create ${'image 1 runs'} --image asset://asset-1 --wait --wait-timeout 30s`;
  expect(await world.gw(create)).toMatchObject({
    code: 7,
    err: expect.stringContaining('2026-11-20T12:01:00'),
  });
  expect(world.clock.steady()).toBeLessThan(30_000);
  expect(world.requests()).toEqual([getAsset]);
});

describe('what cannot be used is refused before anything is paid', () => {
  test('an asset that is not there', async () => {
    const { create } = await withLibrary();
    const run = await create('--image', 'asset://asset-1');
    expect(run).toMatchObject({ code: 4, requests: [getAsset] });
    expect(run.err).toMatch(/--image asset:\/\/asset-1: there is no such asset; nothing was sent/);
  });

  test('an asset that is not ready', async () => {
    const { asset, create } = await withLibrary(0.001);
    const id = await asset('fox.png');
    const run = await create('--first-frame', `asset://${id}`);
    expect(run).toMatchObject({ code: 2, requests: [getAsset] });
    expect(run.err).toMatch(/--first-frame asset:\/\/\S+: this asset is Processing/);
    expect(run.err).toContain(`gw asset wait ${id}`);
  });

  test('an asset that has failed', async () => {
    const { world, asset, create } = await withLibrary();
    const id = await asset('unavailable.png');
    world.clock.ms += 1000;
    const run = await create('--image', `asset://${id}`);
    expect(run).toMatchObject({ code: 2, requests: [getAsset] });
    expect(run.err).toMatch(/is Failed \(AssetURLUnavailable\), and only an Active one/);
  });

  test('an asset of another type', async () => {
    const { world, asset, create } = await withLibrary();
    const id = await asset('fox.mp4');
    world.clock.ms += 1000;
    const run = await create('--image', `asset://${id}`);
    expect(run).toMatchObject({ code: 2, requests: [getAsset] });
    expect(run.err).toMatch(/of the type Video, and Image is needed here\nhint: give it with --video/);
  });

  test('an asset of another project, until --project names it', async () => {
    const { world, create } = await withLibrary();
    const group = (await world.gw(cmd`asset group create --name x --project film`)).out.trim();
    const argv = ['asset', 'create', '--group', group, '--url', 'https://example.com/a.png', '--name', 'a'];
    const id = (await world.gw([...argv, '--project', 'film'])).out.trim();
    const refused = await create('--image', `asset://${id}`);
    expect(refused).toMatchObject({ code: 4, requests: [getAsset] });
    expect(refused.err).toMatch(/--project NAME/);
    const taken = await create('--image', `asset://${id}`, '--project', 'film');
    expect(taken, taken.err).toMatchObject({ code: 0, requests: [getAsset, paid] });
    const row = { command: 'video alpha', prompt: 'image 1 sits', image: `asset://${id}`, project: 'film' };
    writeFileSync(path.join(world.cwd, 'rows.jsonl'), JSON.stringify(row));
    await world.ok(['batch', 'run', 'rows.jsonl', '--interval', '10ms']);
  });

  test('a library that does not answer', async () => {
    const world = await World.open({ fault: 'query:503' });
    const argv = cmd`video alpha create x --image asset://asset-sandbox-image-1 --retries 0`;
    expect(await world.gw(argv)).toMatchObject({ code: 8 });
    expect(world.requests()).toEqual([getAsset]);
    expect((await world.gw(['jobs', 'list', '-q'])).out).toBe('');
  });
});

test('--no-validate does not look, and the gateway refuses', async () => {
  const { create } = await withLibrary();
  const run = await create('--image', 'asset://asset-1', '--no-validate');
  expect(run).toMatchObject({ code: 5, requests: [paid], err: expect.stringContaining('does not exist') });
});

test('--dry-run does not look', async () => {
  const { create } = await withLibrary();
  expect(await create('--image', 'asset://asset-1', '--dry-run')).toMatchObject({ code: 0, requests: [] });
});

test('a request without assets is sent at once', async () => {
  const { create } = await withLibrary();
  expect((await create('--image', 'https://example.com/fox.png')).requests).toEqual([paid]);
});
