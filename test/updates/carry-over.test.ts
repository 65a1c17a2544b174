import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EndingSignal } from '../../src/errors.ts';
import { KEY, type World } from '../helpers/gw.ts';
import { openRedis } from '../machines/redis.ts';
import { asReadNow, type Left, lefts, openHome, plantRows, withHome } from './left.ts';

// This version must read, continue and save what earlier versions left, and must make nothing twice.

async function openRuns(left: Left, options: Parameters<typeof openHome>[1] = {}) {
  const world = await openHome(left, options);
  const gw = (argv: readonly string[], options: Parameters<World['gw']>[1] = {}) =>
    world.gw(argv, { bare: true, ...options });
  const json = async (argv: readonly string[]) => {
    const { code, out, err } = await gw([...argv, '--json']);
    expect(code, err).toBe(0);
    return JSON.parse(out);
  };
  /** Tasks that the gateway of --sandbox has accepted in this home. */
  const tasks = () => fs.readdirSync(path.join(world.dir, '.local/state/gw/sandbox/tasks')).sort();
  return { world, gw, json, tasks };
}

interface Listed {
  readonly id: string;
  readonly job: string;
  readonly prompt: string;
  readonly status: string;
  readonly family: string;
  readonly files: readonly { readonly path: string }[];
}

describe.each(lefts)('what $version left', (left) => {
  test('is listed and counted as it was, and each job is shown by its key and by its ID', async () => {
    const { world, json } = await openRuns(left);
    for (const { argv, answer } of left.answers) {
      // The fixture leaves out saved outputs, because they are large, so `saved` differs now.
      const text = asReadNow(JSON.stringify(withHome(answer, world.dir)).replaceAll('"saved":true,', ''));
      const then: unknown = JSON.parse(text);
      expect(await json(argv.filter((word) => word !== '--json')), argv.join(' ')).toMatchObject(
        then as object,
      );
    }
    const listed: Listed[] = await json(['jobs', 'list']);
    for (const { id, job, prompt } of listed) {
      for (const name of new Set([id, job])) {
        const shown = await json(['jobs', 'show', name]);
        expect(shown, name).toMatchObject({ job, prompt });
      }
    }
  });

  test('is brought home by a sync, which makes nothing', async () => {
    const { world, gw, json, tasks } = await openRuns(left);
    const before = tasks();
    const synced = await gw(['jobs', 'sync', '--sandbox']);
    expect(synced.err).not.toContain('internal');
    const env = { GW_BASE_URL: 'http://127.0.0.1:9', GW_API_KEY: KEY };
    await gw(['jobs', 'sync', '--retries', '0'], { env });
    expect(tasks()).toEqual(before);
    const listed: Listed[] = await json(['jobs', 'list']);
    const unsaved = listed.filter(({ id }) => /^v[tbc]-/.test(id) && before.includes(`${id}.json`));
    expect(unsaved.length).toBeGreaterThan(8);
    for (const { id, prompt, status, files } of unsaved) {
      expect(status, prompt).toBe('succeeded');
      if (prompt !== 'a fox that is not saved') expect(files, `${id} ${prompt}`).toHaveLength(1);
    }
    const half = listed.find(({ job }) => job === left.half);
    expect(half?.files.map(({ path: file }) => fs.existsSync(file))).toEqual([true]);
    expect(fs.readdirSync(world.cwd).filter((name) => name.endsWith('.part'))).toEqual([]);
    const elsewhere = listed.filter(({ prompt }) => /^(it|its|nobody) /.test(prompt));
    expect(Object.fromEntries(elsewhere.map(({ prompt, status }) => [prompt, status]))).toEqual({
      'it is refused': 'refused',
      'its reply is reset': 'unknown',
      'nobody is there': 'not_sent',
      'it fails': 'failed',
      'it is lost': 'failed',
      'it is swallowed': 'unknown',
      'it is swallowed before it is sent': 'not_sent',
    });
  });

  test('stands under its --once keys: nothing is made again, and the task is saved', async () => {
    const { gw, json, tasks } = await openRuns(left);
    const before = tasks();
    const again = ['--duration', '3', '--wait', '--sandbox'];
    for (const [key, prompt] of [
      ['k1', 'a saved boat'],
      ['k2', 'a boat that sails on'],
    ] as const) {
      const made = await gw(['video', 'beta', 'create', prompt, '--once', key, ...again]);
      expect(made.code, made.err).toBe(0);
      const [job] = (await json(['jobs', 'list'])).filter((each: Listed) => each.prompt === prompt);
      expect(job.status).toBe('succeeded');
    }
    expect(tasks()).toEqual(before);
  });

  test('is gone on with by batch run: each row once, and no row again', async () => {
    const { gw, json, tasks } = await openRuns(left);
    const before = tasks().length;
    const ran = await gw(['batch', 'run', 'shots.jsonl', '--sandbox']);
    expect(ran.code, ran.err).toBe(0);
    expect(tasks()).toHaveLength(before + 2);
    const once = await gw(['batch', 'run', 'shots.jsonl', '--sandbox']);
    expect(once.code, once.err).toBe(0);
    expect(tasks()).toHaveLength(before + 2);
    const rows: Listed[] = (await json(['jobs', 'list'])).filter(
      ({ id, prompt }: Listed) => /^row \d$/.test(prompt) && id.startsWith('vb-'),
    );
    expect(rows.filter(({ status }) => status !== 'succeeded')).toHaveLength(1);
  });

  test('is made anew with changes by again', async () => {
    const { gw, json, tasks } = await openRuns(left);
    const before = tasks().length;
    const [{ id }] = (await json(['jobs', 'list'])).filter((each: Listed) => each.prompt === 'a saved tree');
    const made = await gw(['again', id, '--sandbox', '--wait']);
    expect(made.code, made.err).toBe(0);
    expect(tasks()).toHaveLength(before + 1);
  });

  test('goes on as a talk, with a preset and with settings', async () => {
    const { gw, world } = await openRuns(left);
    const answered = await gw(['chat', '--session', 'trip', 'and home?', '--sandbox']);
    expect(answered.code, answered.err).toBe(0);
    const talk = fs.readFileSync(path.join(world.dir, '.local/state/gw/chat/sessions/trip.jsonl'), 'utf8');
    expect(talk.match(/"role":"user"/g)).toHaveLength(3);
    const shown = await gw(['video', 'alpha', 'create', 'x', '--preset', 'small', '--dry-run', '--sandbox']);
    expect(shown.out, shown.err).toContain('480p');
    expect((await gw(['config', 'get', 'interval'])).out).toContain('2s');
  });

  test('is finished by a worker on its queue: each row once', { tags: ['redis-server'] }, async () => {
    const { gw, tasks } = await openRuns(left, { ticks: true });
    const redis = await openRedis();
    await plantRows(left, redis.client);
    const before = tasks().length;
    let stop: (signal: EndingSignal) => void = () => {};
    const queue = ['--redis', redis.url, '--sandbox'];
    const working = gw(['worker', ...queue, '--name', 'bert'], {
      interrupts: (send) => {
        stop = send;
      },
    });
    const followed = await gw(['batch', 'run', 'queued.jsonl', ...queue]);
    stop('SIGTERM');
    const { err } = await working;
    expect(followed.code, `${followed.err}${err}`).toBe(0);
    expect(followed.err).toContain('4 saved');
    // Two rows were made before, and the third is an image, which has no task.
    expect(tasks()).toHaveLength(before + 1);
  });
});
