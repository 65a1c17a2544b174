import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, vi } from 'vitest';
import { alphaTasksPath } from '../../src/gateway/alpha/task.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { cmd } from '../helpers/cmd.ts';
import { fakeGateway } from '../helpers/fake-gateway.ts';
import { test, World } from '../helpers/gw.ts';
import { serveFile, startOutputServer } from '../helpers/output-server.ts';
import { tinyMp4, tinyPng } from '../jobs/save/tiny-media.ts';
import {
  acceptedJob,
  DAY_MS,
  HOUR_MS,
  intentIn,
  ledgerOf,
  MINUTE_MS,
  savedJob,
  succeededJob,
} from './jobs-seed.ts';

const rows = (out: string): string[][] =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));

describe('jobs list', () => {
  test('newest first, with how long the link and the record still live', async ({ world }) => {
    savedJob(world, 't-1', 3 * HOUR_MS);
    succeededJob(world, 't-2', 25 * HOUR_MS);
    acceptedJob(world, 't-3', 8 * DAY_MS);
    const { out } = await world.ok(['jobs', 'list']);
    const model = 'alpha-video-2-5-260628';
    expect(rows(out)).toEqual([
      [
        't-1',
        'succeeded',
        '3h',
        '21h',
        '6d',
        'yes',
        'a fox in the snow',
        'alpha',
        model,
        `${world.cwd}/t-1.mp4`,
        'default',
        '-',
      ],
      [
        't-2',
        'succeeded',
        '1d',
        'dead',
        '5d',
        'no',
        'a fox in the snow',
        'alpha',
        model,
        '-',
        'default',
        '-',
      ],
      ['t-3', 'queued', '8d', '-', 'gone', '-', 'a fox in the snow', 'alpha', model, '-', 'default', '-'],
    ]);
  });

  test('-q prints the IDs alone, gw’s own where there is no other', async ({ world }) => {
    acceptedJob(world, 't-1', HOUR_MS);
    const key = ledgerOf(world).begin(intentIn(world));
    const { out, err } = await world.gw(['jobs', 'list', '-q']);
    expect(out).toBe(`${key}\nt-1\n`);
    expect(err).toBe('');
  });

  test('-q prints gw’s own ID where two gateways gave out the same', async ({ world }) => {
    const there = acceptedJob(world, 'same-1', HOUR_MS, { gateway: 'https://elsewhere.example' });
    const here = acceptedJob(world, 'same-1', 2 * HOUR_MS);
    acceptedJob(world, 't-1', 3 * HOUR_MS);
    expect((await world.gw(['jobs', 'list', '-q'])).out).toBe(`${there}\n${here}\nt-1\n`);
    expect((await world.gw(['jobs', 'list', '-q', '--since', '90m'])).out).toBe(`${there}\n`);
    expect(rows((await world.gw(['jobs', 'list'])).out).map(([id]) => id)).toEqual([
      'same-1',
      'same-1',
      't-1',
    ]);
    // When two jobs have the same ID, gw selects the one of the current gateway, or of the gateway that is named.
    const shown = async (words: string[], env = {}) =>
      JSON.parse((await world.gw(['jobs', 'show', 'same-1', '--json', ...words], { env })).out).job;
    expect(await shown([])).toBe(here);
    expect(await shown(['--base-url', 'https://elsewhere.example'])).toBe(there);
    expect(await shown([], { GW_BASE_URL: 'https://elsewhere.example' })).toBe(there);
    const waits = await world.gw(['jobs', 'wait', 'same-1', '--dry-run', '--json']);
    expect(waits.out).toContain(world.sandbox.baseUrl);
  });

  test('--status takes any word that a job may have, in any case, and refuses a mistyped one', async () => {
    const world = await World.open();
    const odd = acceptedJob(world, 't-1', HOUR_MS);
    ledgerOf(world).append(odd, { event: 'status', status: 'Warming' });
    for (const word of ['running', 'RUNNING', 'warming', 'Warming']) {
      expect((await world.gw(['jobs', 'list', '-q', '--status', word])).out, word).toBe('t-1\n');
    }
    for (const word of ['queued', 'Cancelled', 'lost', 'unknown']) {
      expect(await world.gw(['jobs', 'list', '-q', '--status', word])).toMatchObject({ code: 0, out: '' });
    }
    const typo = await world.gw(['jobs', 'list', '--status', 'runing']);
    expect(typo).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--status running') });
  });

  test('a create without its answer is running while somebody makes it, and unknown or not sent then', async () => {
    const world = await World.open();
    const ledger = ledgerOf(world);
    const sent = ledger.begin(intentIn(world));
    ledger.append(sent, { event: 'sent' });
    ledger.begin(intentIn(world, { prompt: 'two' }));
    const lost = acceptedJob(world, 't-1', HOUR_MS);
    ledger.append(lost, { event: 'lost', message: 'the gateway no longer knows it' });
    const words = async () => rows((await world.gw(['jobs', 'list'])).out).map((cells) => cells[1]);
    const states = async () => JSON.parse((await world.gw(['jobs', 'stats', '--json'])).out).total.states;
    expect((await words()).sort()).toEqual(['failed', 'not_sent', 'unknown']);
    expect((await world.gw(['jobs', 'list', '-q', '--status', 'unknown'])).out).toBe(`${sent}\n`);
    const hold = await ledger.hold(sent);
    expect((await words()).sort()).toEqual(['failed', 'not_sent', 'running']);
    expect(await states()).toEqual({ lost: 1, not_sent: 1, sent: 1 });
    hold?.release();
    expect(await states()).toEqual({ lost: 1, not_sent: 1, unknown: 1 });
  });

  test.each([[[]], [['-q']]])('a damaged line is named by file and line %j', async (flags) => {
    const world = await World.open();
    savedJob(world, 't-1', HOUR_MS);
    const dir = `${world.dir}/.local/state/gw/ledger`;
    const [journal = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
    appendFileSync(`${dir}/${journal}`, '{"damaged\n');
    const lines = readFileSync(`${dir}/${journal}`, 'utf8').split('\n');
    const line = lines.indexOf('{"damaged') + 1;
    expect((await world.gw(['jobs', 'list', ...flags])).err).toBe(
      `warning: ${dir}/${journal}:${line} cannot be read and was skipped; gw doctor says what to do\n`,
    );
  });

  test.for(['"settings":{', '"save":{', '"media":[', '"t":', '"family":"', '"endpoint":"'])(
    'a job whose intent is damaged at %s is listed under its ID and brought home',
    async (place, { world }) => {
      const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
      const dir = `${world.dir}/.local/state/gw/ledger`;
      const [journal = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
      const text = readFileSync(`${dir}/${journal}`, 'utf8');
      writeFileSync(`${dir}/${journal}`, text.replace(place, `${place.slice(0, -1)}\u0001`));
      expect(JSON.parse((await world.gw(['jobs', 'list', '--json'])).out)).toMatchObject([
        { id, status: 'damaged', family: 'alpha' },
      ]);
      expect((await world.gw(['jobs', 'show', id])).out).toContain('damaged');
      expect((await world.gw(['doctor'])).out).toContain(`${journal}:2`);
      world.clock.ms += HOUR_MS;
      const run = await world.gw(['jobs', 'sync', '-q']);
      expect([run.code, Object.keys(world.files())], run.err).toEqual([0, [`${id}.mp4`]]);
      expect(run.err).toContain(`${dir}/${journal}:2 cannot be read`);
    },
  );

  test('one whose gateway cannot be told is of the gateway that is named, for every command', async () => {
    const world = await World.open();
    const create = ['video', 'alpha', 'create', 'a fox', '--no-download'];
    const id = (await world.ok(create)).out.trim();
    const dir = `${world.dir}/.local/state/gw/ledger`;
    const [journal = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
    const text = readFileSync(`${dir}/${journal}`, 'utf8');
    writeFileSync(`${dir}/${journal}`, text.replaceAll(/"(gateway|save)":/g, '"$1\u0001:'));
    world.clock.ms += HOUR_MS;
    const named = ['--base-url', world.sandbox.baseUrl];
    expect((await world.gw(['jobs', 'list', '-q', ...named])).out).toBe(`${id}\n`);
    expect((await world.ok(['jobs', 'show', id, ...named])).out).toContain(world.sandbox.baseUrl);
    for (const words of [['wait', id], ['wait', '--all'], ['download', id], ['sync']]) {
      await world.ok(['jobs', ...words, ...named]);
      expect(Object.keys(world.files()), words.join(' ')).toEqual([`${id}.mp4`]);
      rmSync(`${world.cwd}/${id}.mp4`);
    }
  });

  test('whatever byte of its intent is damaged, a running job is listed, and a sync looks at it or says what is wrong', async () => {
    const world = await World.open({ speed: 0.001 });
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    const dir = `${world.dir}/.local/state/gw/ledger`;
    const startMs = world.clock.ms;
    rmSync(dir, { recursive: true });
    acceptedJob(world, id, MINUTE_MS, { bodySha256: '0' });
    const [journal = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
    const whole = readFileSync(`${dir}/${journal}`);
    const [start, end] = [1, whole.indexOf('\n', 1)];
    expect(whole.toString('utf8', start, end)).toMatch(/^\{.*"event":"intent".*\}$/);
    let [looked, tried] = [0, 0];
    for (let at = start; at <= end; at += 1) {
      // Of the letters inside of words, every fifth one is damaged.
      if (/\w/.test(String.fromCharCode(whole[at] ?? 0)) && at % 5 !== 0) continue;
      tried += 1;
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      writeFileSync(`${dir}/${journal}`, damaged);
      const where = `byte ${at}: ${damaged.toString('latin1', at - 20, at + 20)}`;
      const before = world.requests().length;
      const { code, err } = await world.gw(['jobs', 'sync']);
      if (world.requests().slice(before).includes(`GET ${alphaTasksPath}/${id}`)) looked += 1;
      else if (code === 0)
        expect(err, where).toMatch(
          /jsonl:\d+ cannot be read|the line that tells its family is damaged|of family .* left alone/,
        );
      else expect(err, where).toMatch(/^error: /m);
      // However the run ended, the job is still open for the next look.
      expect(await ledgerOf(world).find(), where).toContainEqual(
        expect.objectContaining({ id, state: 'running' }),
      );
      world.clock.ms = startMs;
    }
    expect(looked).toBeGreaterThan(tried / 2);
  });

  test('under -q what went well is not told, and saved all the same', async ({ world }) => {
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    world.clock.ms += HOUR_MS;
    expect(await world.gw(['jobs', 'sync', '-q'])).toEqual({ code: 0, out: '', err: '' });
    expect(Object.keys(world.files())).toEqual([`${id}.mp4`]);
  });

  test('one whose family cannot be told any more is named under -q too, and brought home by its family', async () => {
    const world = await World.open();
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    const dir = `${world.dir}/.local/state/gw/ledger`;
    const [journal = ''] = readdirSync(dir).filter((name) => name.endsWith('.jsonl'));
    const text = readFileSync(`${dir}/${journal}`, 'utf8');
    writeFileSync(
      `${dir}/${journal}`,
      text.replaceAll(/"(endpoint|family|model)":"[^"]*"/g, (all) => '\u0001'.repeat(all.length)),
    );
    expect(JSON.parse((await world.gw(['jobs', 'list', '--json'])).out)).toMatchObject([
      { id, status: 'damaged', family: '' },
    ]);
    world.clock.ms += HOUR_MS;
    const run = await world.gw(['jobs', 'sync', '-q']);
    expect(run.err).toContain(`${id}: the line that tells its family is damaged`);
    expect(run.err).toContain(`gw video FAMILY wait ${id}`);
    await world.ok(['video', 'alpha', 'wait', id]);
    expect(Object.keys(world.files())).toEqual([`${id}.mp4`]);
  });

  test('a family that this gw does not know is listed like any other', async ({ world }) => {
    succeededJob(world, 'd-1', HOUR_MS, { family: 'delta' }, { anything: true });
    succeededJob(world, 'o-1', HOUR_MS, { family: 'constructor' }, { anything: true });
    const { out } = await world.ok(['jobs', 'list']);
    expect(rows(out).map(([id, , , link, record]) => [id, link, record])).toEqual([
      ['o-1', '-', '-'],
      ['d-1', '-', '-'],
    ]);
    const shown = await world.gw(['jobs', 'show', 'd-1', '--json']);
    expect(JSON.parse(shown.out)).toMatchObject({ family: 'delta', link_expires_at: null, usage: null });
    const sync = await world.gw(['jobs', 'sync']);
    expect(sync).toMatchObject({ code: 0, err: expect.stringContaining('family delta left alone') });
  });

  test('a record that cannot be read does not end the list', async ({ world }) => {
    succeededJob(world, 't-1', HOUR_MS, {}, 'not a record');
    expect((await world.gw(['jobs', 'list', '-q'])).out).toBe('t-1\n');
  });

  test('one warning for what is not saved and about to die, none for the rest', async ({ world }) => {
    savedJob(world, 't-saved', 23 * HOUR_MS);
    succeededJob(world, 't-young', 2 * HOUR_MS);
    succeededJob(world, 't-dead', 25 * HOUR_MS);
    expect((await world.gw(['jobs', 'list'])).err).toBe('');
    succeededJob(world, 't-old', 20 * HOUR_MS);
    succeededJob(world, 't-older', 22 * HOUR_MS);
    acceptedJob(world, 't-running', 6 * DAY_MS);
    const { err } = await world.gw(['jobs', 'list', '--limit', '1']);
    expect(err.match(/warning/g)).toHaveLength(1);
    expect(err).toContain('3 jobs are not saved');
    expect(err).toContain('the first in 2 h;');
    expect(err).toContain('gw jobs sync');
  });

  test('what was made with --no-download is listed by --expiring, and told of by wait --all', async () => {
    const world = await World.open();
    const save = { target: `${world.cwd}/{id}.{ext}`, force: false, download: false };
    succeededJob(world, 't-1', 23 * HOUR_MS, { save });
    expect((await world.gw(['jobs', 'list', '-q', '--expiring', '2h'])).out).toBe('t-1\n');
    const { code, err } = await world.gw(['jobs', 'wait', '--all']);
    expect({ code, err }).toEqual({
      code: 0,
      err: 'nothing is to be waited for; the outputs of 1 finished job are not on disk: gw jobs list --expiring 4w\n',
    });
  });

  test('--expiring, --status, --family, --since and --limit choose', async ({ world }) => {
    succeededJob(world, 't-1', 23 * HOUR_MS);
    succeededJob(world, 't-2', 2 * HOUR_MS);
    acceptedJob(world, 't-3', 5 * DAY_MS);
    acceptedJob(world, 'b-1', HOUR_MS, {
      family: 'beta',
      prompt: 'A Für-Elise fox, 雪の狐',
      once: { key: 'day/boat', attempt: 1, fields: {} },
    });
    const ids = async (...flags: string[]) =>
      (await world.gw(['jobs', 'list', '-q', ...flags])).out.split('\n').filter(Boolean);
    expect(await ids('--expiring', '2h')).toEqual(['t-1']);
    expect(await ids('--status', 'running')).toEqual(['b-1', 't-3']);
    expect(await ids('--status', 'queued')).toEqual(['b-1', 't-3']);
    expect(await ids('--family', 'beta')).toEqual(['b-1']);
    expect(await ids('--since', '24h')).toEqual(['b-1', 't-2', 't-1']);
    expect(await ids('--since', '2026-11-20')).toEqual(['b-1', 't-2']);
    const utc = '2026-11-20T10:30:00Z';
    const local = new Date(utc).toLocaleString('sv').replace(' ', 'T');
    for (const time of [utc, local]) expect(await ids('--since', time)).toEqual(['b-1']);
    expect(await ids('--limit', '2')).toEqual(['b-1', 't-2']);
    // Every word must occur in the prompt, in any case and order.
    expect(await ids('snow', 'fox', '--limit', '2')).toEqual(['t-2', 't-1']);
    expect(await ids('狐 fu\u0308r')).toEqual(['b-1']);
    expect(await ids('fox', 'boat')).toEqual([]);
    const [named = ''] = (await world.gw(['jobs', 'list'])).out.split('\n');
    expect(named.split('\t').at(-1)).toBe('day/boat');
    expect((await world.gw(['jobs', 'show', 'day/boat'])).out).toMatch(/^key +day\/boat$/m);
  });

  test.each([
    [['--family', 'delta'], '--family delta'],
    [['--since', 'tomorrow'], '--since "tomorrow"'],
    [['--since', '2026-02-30'], '--since 2026-02-30'],
    [['--since', '2026-11-20T25:30'], '--since 2026-11-20T25:30'],
    [['--limit', '0'], '--limit 0'],
    [['--expiring', '3'], '--expiring "3"'],
  ])('%j is a usage error', async (flags, message) => {
    const world = await World.open();
    const run = await world.gw(['jobs', 'list', ...flags]);
    expect(run).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });
});

describe('jobs show', () => {
  test('tells everything, usage and charges among it', async ({ world }) => {
    const record = {
      id: 'b-1',
      status: 'succeeded',
      outputs: [{ type: 'video', id: 'v', url: 'https://outputs.example/v.mp4', duration: '5' }],
      billing: [
        { charge_type: 'cash', cash_type: 'balance', amount: '2.5', currency: 'CNY', list_price: '3' },
        { charge_type: 'cash', cash_type: 'test_balance', amount: '1', currency: 'CNY', list_price: '1' },
      ],
    };
    succeededJob(world, 'b-1', HOUR_MS, { family: 'beta', model: undefined }, record);
    const json = JSON.parse((await world.gw(['jobs', 'show', 'b-1', '--json'])).out);
    expect(json).toMatchObject({ id: 'b-1', family: 'beta', gateway: world.sandbox.baseUrl, record });
    const { out } = await world.gw(['jobs', 'show', 'b-1']);
    expect(out).toMatch(/^status {6}succeeded$/m);
    expect(out).toMatch(/^settings {4}resolution=720p duration=5$/m);
    expect(out).toMatch(/^link {8}lives for another 29 d 23 h, until 2026-12-20T11:00:00\.000Z$/m);
    expect(out).toMatch(/^seconds {5}5$/m);
    expect(out).toMatch(/^cost {8}2\.5 CNY billed$/m);
    expect(out).toMatch(/^test credit 1 CNY$/m);
    expect(out).toContain('https://outputs.example/v.mp4');
  });
});

describe('jobs wait', () => {
  test('--all waits for what is not finished or not saved, on every gateway', async ({ world }) => {
    const other = await world.serve({ key: 'other-key' });
    await world.gw(['login', '--profile', 'work', '--base-url', other.baseUrl, '--with-key'], {
      bare: true,
      stdin: 'other-key',
    });
    const there = ['video', 'alpha', 'create', 'there', '--profile', 'work'];
    const made = [
      (await world.gw(['video', 'alpha', 'create', 'here'])).out.trim(),
      (await world.gw(there, { bare: true })).out.trim(),
    ];
    savedJob(world, 't-saved', HOUR_MS);
    const run = await world.ok(['jobs', 'wait', '--all', '--json']);
    const results = rows(run.out).map(([line = '']) => JSON.parse(line) as { id: string; files: unknown[] });
    expect(results.map(({ id }) => id).sort()).toEqual([...made].sort());
    for (const { files } of results) expect(files).toHaveLength(1);
    const again = await world.gw(['jobs', 'wait', '--all']);
    expect(again).toMatchObject({ code: 0, out: '', err: 'every job is finished and saved\n' });
    const one = await world.gw(['jobs', 'wait', '--all', '--profile', 'work', '--dry-run'], { bare: true });
    expect(one).toMatchObject({ code: 0, out: '' });
  });

  test.each(['sync', 'wait', 'download'])(
    '%s has the answer to the create where the look fails',
    async (verb) => {
      const world = await World.open({ fault: 'query:403' });
      const made = JSON.parse((await world.ok(['video', 'alpha', 'create', 'a fox', '--json'])).out);
      const run = await world.gw(['jobs', verb, ...(verb === 'sync' ? [] : [made.id]), '--json']);
      expect(run.code, run.err).not.toBe(0);
      expect(JSON.parse(run.out)).toMatchObject({ id: made.id, record: made.record });
    },
  );

  test.each(['sync', 'wait', 'download'])('%s calls a create unknown that nobody waits for', async (verb) => {
    const world = await World.open();
    const ledger = ledgerOf(world);
    const key = ledger.begin(intentIn(world, {}));
    ledger.append(key, { event: 'sent' });
    const run = await world.gw(['jobs', verb, ...(verb === 'sync' ? [] : [key]), '--json']);
    expect(run.code, run.err).toBe(14);
    expect(JSON.parse(run.out)).toMatchObject({ id: key, status: 'unknown' });
  });

  test('--all tells of what was sent and never answered, and waits for what somebody is sending', async () => {
    const world = await World.open();
    const ledger = ledgerOf(world);
    const families = ['alpha', 'beta', 'image'] as const;
    const keys = families.map((family) => {
      const key = ledger.begin(intentIn(world, { family, ...(family === 'beta' && { externalId: 'x-1' }) }));
      ledger.append(key, { event: 'sent' });
      return key;
    });
    const [alpha = '', beta = ''] = keys;
    // Nothing more can ever be learned about an image whose answer was lost.
    for (const open of [keys, [alpha, beta], [beta]]) {
      const run = await world.gw(['jobs', 'wait', '--all']);
      expect(run.code, run.err).toBe(14);
      expect(keys.filter((key) => run.err.includes(`job ${key}`))).toEqual(open);
      if (open.length < 3) ledger.append(open[0] ?? '', { event: 'refused', kind: 'absent', message: '' });
    }
    expect(await world.gw(['jobs', 'wait', '--all'])).toMatchObject({ code: 0, out: '' });
    const held = openLedger({
      dir: path.join(world.dir, '.local/state/gw'),
      clock: world.clock,
      keepPrompts: true,
    });
    const hold = held.begin(intentIn(world));
    held.append(hold.key, { event: 'sent' });
    const waited = await world.gw(['jobs', 'wait', '--all', '--wait-timeout', '1m']);
    expect([waited.code, waited.err]).toEqual([
      10,
      expect.stringContaining(`still works on job ${hold.key}`),
    ]);
    const { out } = await world.gw(['jobs', 'wait', hold.key, '--wait-timeout', '1m', '--json']);
    expect(JSON.parse(out)).toMatchObject({ id: hold.key, status: 'running' });
    hold.release();
  });

  test('some fail: exit 13; all alike: their common code', async ({ world }) => {
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    expect(await world.gw(['jobs', 'wait', id, 'nope-1'])).toMatchObject({ code: 13 });
    const none = await world.gw(['jobs', 'wait', 'nope-1', 'nope-2']);
    expect(none).toMatchObject({ code: 4, err: expect.stringContaining('no job nope-2 in the ledger') });
  });

  test('a job that ended badly or has no ID is told of from the ledger', async ({ world }) => {
    const ledger = ledgerOf(world);
    const failed = acceptedJob(world, 't-1', HOUR_MS);
    const record = { status: 'failed', error: { code: 'X1', message: 'not this' } };
    ledger.append(failed, { event: 'final', state: 'failed', status: 'failed', record, serverDateMs: 1 });
    const refused = ledger.begin(intentIn(world));
    ledger.append(refused, { event: 'refused', kind: 'balance', message: 'no money' });
    const unknown = ledger.begin(intentIn(world));
    ledger.append(unknown, { event: 'unknown', message: 'reset' });
    const lost = acceptedJob(world, 't-2', HOUR_MS);
    ledger.append(lost, { event: 'lost', message: 'forgotten' });
    const codes: Record<string, number> = { 't-1': 9, [refused]: 9, [unknown]: 14, 't-2': 4 };
    for (const [id, code] of Object.entries(codes)) {
      for (const verb of ['wait', 'download']) {
        const run = await world.gw(['jobs', verb, id, '--json']);
        expect(run, id).toMatchObject({ code });
        expect(JSON.parse(run.out), id).toMatchObject({ id, files: [] });
      }
    }
    expect((await world.gw(['jobs', 'wait', 't-1'])).err).toContain('X1: not this');
    // The task has no external ID, so no look can find it.
    const { err } = await world.gw(['jobs', 'wait', unknown]);
    expect(err).toContain(`close it with: gw jobs resolve ${unknown} --as ID|none`);
    expect(err).not.toContain('sync');
    expect(world.requests()).toEqual([]);
  });

  test('a job that the ledger calls lost is asked for again by the commands of its family, and brought home', async () => {
    const world = await World.open();
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    const [job] = await ledgerOf(world).find({ ids: [id] });
    ledgerOf(world).append(job?.key ?? '', { event: 'lost', message: 'the record was gone for a moment' });
    expect(await world.gw(['jobs', 'wait', id])).toMatchObject({ code: 4 });
    const run = await world.gw(['video', 'alpha', 'wait', id]);
    expect(run, run.err).toMatchObject({ code: 0, out: `${world.cwd}/${id}.mp4\n` });
    const named = await world.gw(['video', 'alpha', 'wait', id, '--no-download']);
    expect(named, named.err).toMatchObject({ code: 0, out: `${id}\n` });
  });

  test.each([
    ['jobs sync', 'the jobs go on', 'go on with: gw jobs sync'],
    ['jobs wait --all', 'the job goes on', 'pick it up with: gw video alpha wait t-1'],
    ['jobs wait t-1 --force', 'the job goes on', 'pick it up with: gw video alpha wait t-1 --force'],
    ['jobs download t-1 --force', 'the job goes on', 'pick it up with: gw video alpha wait t-1 --force'],
    ['video alpha download t-1', 'the job goes on', 'pick it up with: gw video alpha wait t-1'],
    ['video alpha get t-1', undefined, undefined],
  ])('%s that is interrupted says what goes on, and how to go on with it', async (words, goesOn, next) => {
    const world = await World.open();
    let interrupt: () => void = () => {};
    const fake = await fakeGateway(() => {
      interrupt();
      return { body: { status: 'running' } };
    });
    const env = { GW_BASE_URL: fake.url };
    acceptedJob(world, 't-1', HOUR_MS, { gateway: fake.url });
    if (words.endsWith('--all')) succeededJob(world, 't-2', HOUR_MS);
    const interruptedBy = (signal: 'SIGINT' | 'SIGTERM', ...flags: string[]) =>
      world.gw([...words.split(' '), ...flags], {
        env,
        interrupts: (send) => {
          interrupt = () => send(signal);
        },
      });
    const run = await interruptedBy('SIGINT');
    expect(run.code).toBe(130);
    const told = goesOn === undefined ? '' : `; ${goesOn}`;
    expect(run.err).toContain(`error: interrupted${told}\n${next === undefined ? '' : `hint: ${next}\n`}`);
    const json = await interruptedBy('SIGTERM', '--json');
    const named = words === 'jobs sync' ? {} : { task_id: 't-1' };
    expect(JSON.parse(json.err.trim().split('\n').at(-1) ?? '').error).toEqual({
      kind: 'interrupted',
      message: `interrupted by SIGTERM${told}`,
      ...(next !== undefined && { hint: next }),
      exit_code: 143,
      ...named,
    });
    if (words.includes('get')) return;
    const events = await interruptedBy('SIGINT', '--events');
    expect(events.out.match(/"result".*"id":"t-1"/g), events.out).toHaveLength(1);
  });

  test.each([
    ['wait', []],
    ['wait', ['--json']],
    ['download', ['--json']],
    ['sync', ['--json']],
  ])(
    'jobs %s that is interrupted tells of it once, with the way back for all, and prints each job with --json: %j',
    async (word, json) => {
      const world = await World.open();
      const ids = ['t-1', 't-2', 't-3'];
      let interrupt: () => void = () => {};
      const fake = await fakeGateway(() => {
        interrupt();
        return { body: { status: 'running' } };
      });
      for (const id of ids) acceptedJob(world, id, HOUR_MS, { gateway: fake.url });
      const run = await world.gw(['jobs', word, ...(word === 'sync' ? [] : ids), ...json], {
        env: { GW_BASE_URL: fake.url },
        interrupts: (send) => {
          interrupt = () => send('SIGINT');
        },
      });
      expect(run.code).toBe(130);
      expect(run.err.match(/interrupted;/g)).toHaveLength(1);
      expect(run.err).toContain(`interrupted; ${word === 'sync' ? 'the' : '3'} jobs go on`);
      expect(run.err).toContain(`with: gw jobs ${word === 'sync' ? 'sync' : 'wait --all'}`);
      const printed = rows(run.out).map(([line = '']) => (JSON.parse(line) as { id: string }).id);
      expect(printed.sort()).toEqual(json.length > 0 ? ids : []);
    },
  );

  test('sixty tasks of family B are asked for together', async ({ world }) => {
    const ids = Array.from({ length: 60 }, (_, at) => `b-${at}`);
    const fake = await fakeGateway((_, url) => {
      const asked = new URL(url, 'http://x').searchParams.get('task_ids')?.split(',') ?? [];
      const outputs = [{ type: 'element', id: 'e' }];
      return { body: { code: 0, data: asked.map((id) => ({ id, status: 'succeeded', outputs })) } };
    });
    for (const id of ids) acceptedJob(world, id, HOUR_MS, { family: 'beta', gateway: fake.url });
    const run = await world.ok(['jobs', 'wait', ...ids], { env: { GW_BASE_URL: fake.url } });
    expect(run.out.split('\n').filter(Boolean).sort()).toEqual(ids.sort());
    expect(fake.requests).toHaveLength(2);
  });

  test.each([
    [[], 'no ID is given'],
    [['--all', 't-1'], '--all'],
    [['../x'], '../x: not a task ID'],
    [[''], '"": not a task ID'],
    [['t-1', '--exec', 'true', '--no-download'], '--exec: nothing is saved with --no-download'],
    [['t-1', 't-2', '-o', 'same.mp4'], '{id}'],
  ])('%j is a usage error, and nothing is sent', async (args, message) => {
    const world = await World.open();
    const run = await world.gw(['jobs', 'wait', ...args]);
    expect(run).toMatchObject({ code: 2, err: expect.stringContaining(message) });
    expect(world.requests()).toEqual([]);
  });

  test.for(['jobs wait', 'jobs download', 'jobs show', 'open', 'jobs resolve --as none'])(
    '%s: a key of a batch that no job has is not found, like an ID that none has',
    async (command, { world }) => {
      for (const name of ['day/boat', 'cgt-none']) {
        const run = await world.gw([...command.split(' '), name]);
        expect(run).toMatchObject({ code: 4, err: expect.stringContaining(`no job ${name} in the ledger`) });
      }
      const run = await world.gw(['video', 'alpha', 'wait', 'day/boat']);
      expect(run).toMatchObject({ code: 2, err: expect.stringContaining('day/boat: not a task ID') });
      expect(world.requests()).toEqual([]);
    },
  );

  test('the end of the wait is exit 10, and every job is named', async ({ world }) => {
    const ids: string[] = [];
    for (const prompt of ['one', 'two'])
      ids.push((await world.gw(['video', 'alpha', 'create', prompt])).out.trim());
    const run = await world.gw(['jobs', 'wait', ...ids, '--wait-timeout', '1s', '--no-download']);
    expect(run.code).toBe(10);
    for (const id of ids) expect(run.err).toContain(`error: task ${id} is not finished`);
    expect(run.err.match(/hint: .*/g)).toEqual(['hint: 2 jobs go on; pick them up with: gw jobs wait --all']);
    const json = await world.gw(cmd`jobs wait ${ids} --wait-timeout 1s --no-download --json -q`);
    const hints = rows(json.err).map(([line = '']) => JSON.parse(line).error?.hint as string);
    expect(hints.filter(Boolean).sort()).toEqual(
      ids.map((id) => `the job goes on; pick it up with: gw video alpha wait ${id}`).sort(),
    );
  });

  test('--dry-run shows the requests and sends nothing', async ({ world }) => {
    acceptedJob(world, 't-1', HOUR_MS);
    acceptedJob(world, 'b-1', HOUR_MS, { family: 'beta' });
    acceptedJob(world, 'b-2', HOUR_MS, { family: 'beta' });
    for (const words of [['wait', '--all'], ['sync'], ['download', 't-1', 'b-1', 'b-2']]) {
      const { out } = await world.ok(['jobs', ...words, '--dry-run', '--json']);
      const urls = rows(out).map(([line = '']) => (JSON.parse(line) as { url: string }).url);
      expect(urls).toHaveLength(2);
      expect(urls.join(' ')).toMatch(/t-1.*b-[12](,|%2C)b-[12]|b-[12](,|%2C)b-[12].*t-1/);
    }
    expect(world.requests()).toEqual([]);
  });
});

describe('jobs download', () => {
  test('saves what is finished and names the wait for what is not', async ({ world }) => {
    const [first = '', second = ''] = await Promise.all(
      ['one', 'two'].map(async (prompt) => (await world.gw(['video', 'alpha', 'create', prompt])).out.trim()),
    );
    const early = await world.gw(['jobs', 'download', first, '--json']);
    expect(early).toMatchObject({ code: 10, err: expect.stringContaining(`gw video alpha wait ${first}`) });
    expect(JSON.parse(early.out)).toMatchObject({
      id: first,
      status: 'queued',
      record: { id: first },
      files: [],
    });
    world.clock.ms += HOUR_MS;
    const run = await world.ok(['jobs', 'download', first, second, '-o', 'clips/']);
    expect(run.out).toBe([first, second].map((id) => `${world.cwd}/clips/${id}.mp4\n`).join(''));
  });
});

describe('what is saved later than its create said', () => {
  const [video, frame] = [tinyMp4(), tinyPng];
  const id = 't-1';

  /** A gateway whose tasks have two outputs; until it is healed, the second one fails or ends the running gw. */
  async function halfDead(fault: 'fails' | 'ends gw') {
    const world = await World.open();
    const state = { isHealed: false, interrupt: () => {} };
    const outputs = await startOutputServer((request, response) => {
      if (request.url === '/video') return serveFile(video, request, response);
      if (state.isHealed) return serveFile(frame, request, response, { type: 'image/png', etag: '"f"' });
      if (fault === 'fails') return response.writeHead(404).end();
      const head = { 'content-type': 'image/png', etag: '"f"', 'content-length': String(frame.length) };
      response.writeHead(200, head).write(frame.subarray(0, 40));
      const isArriving = () => readdirSync(world.cwd).some((name) => name.endsWith('.part'));
      void vi.waitUntil(isArriving, { timeout: 60_000, interval: 1 }).then(() => state.interrupt());
    });
    const content = { video_url: `${outputs.url}/video`, last_frame_url: `${outputs.url}/frame` };
    const record = { id, status: 'succeeded', duration: 5, content };
    const fake = await fakeGateway((method) => ({ body: method === 'POST' ? { id } : record }));
    const save = { target: `${world.cwd}/{id}.{ext}`, force: false, download: false };
    return {
      world,
      save,
      made: (download = false) =>
        succeededJob(world, id, MINUTE_MS, { gateway: fake.url, save: { ...save, download } }, record),
      heal: () => {
        state.isHealed = true;
      },
      asked: () => fake.requests.length + outputs.gets.length,
      gw: (...argv: string[]) =>
        world.gw(argv, {
          env: { GW_BASE_URL: fake.url },
          interrupts: (send) => {
            state.interrupt = () => send('SIGINT');
          },
        }),
      planned: async () => (await ledgerOf(world).find())[0]?.save,
    };
  }

  test.each(['jobs wait', 'jobs download', 'video alpha wait', 'video alpha download'])(
    'an output that failed is asked for again, though the create said --no-download: %s',
    async (words) => {
      const { world, made, heal, gw } = await halfDead('fails');
      made();
      const argv = [...words.split(' '), id];
      for (const _ of [1, 2]) expect((await gw(...argv)).code).toBe(12);
      expect((await gw('jobs', 'sync')).code).toBe(12);
      heal();
      const sync = await gw('jobs', 'sync');
      expect(sync, sync.err).toMatchObject({ code: 0 });
      expect(sync.out).toContain(`${world.cwd}/${id}-last-frame.png\n`);
      const home = [`${id}-last-frame.png`, `${id}.mp4`];
      expect(Object.keys(world.files()).sort()).toEqual(home);
      const again = await gw(...argv);
      expect(again, again.err).toMatchObject({ code: 0 });
      expect(again.out.trim().split('\n').sort()).toEqual(home.map((name) => `${world.cwd}/${name}`));
    },
  );

  test.each([
    ['jobs wait', 'jobs wait t-1', 't-1-last-frame.png'],
    ['jobs download', 'jobs download t-1', 't-1-last-frame.png'],
    ['jobs wait -o', 'jobs wait t-1 -o other.{ext}', 'other-last-frame.png'],
    ['jobs download -o', 'jobs download t-1 -o other.{ext}', 'other-last-frame.png'],
    ['jobs sync', 'jobs sync', 't-1-last-frame.png'],
  ])('what ended amid %s is brought by a sync to where it was going', async (_, line, name) => {
    const { world, made, heal, gw } = await halfDead('ends gw');
    const isSync = line === 'jobs sync';
    made(isSync);
    const run = await gw(...line.split(' '), '--json');
    const wayBack = isSync ? 'go on with: gw jobs sync' : 'pick it up with: gw video alpha wait t-1';
    expect(run).toMatchObject({ code: 130, err: expect.stringContaining(wayBack) });
    expect(JSON.parse(run.out)).toMatchObject({ id, status: 'succeeded', record: { status: 'succeeded' } });
    heal();
    const sync = await gw('jobs', 'sync');
    expect(sync, sync.err).toMatchObject({ code: 0 });
    expect(sync.out).toContain(`${world.cwd}/${name}\n`);
    // No part file is left.
    expect(readdirSync(world.cwd).sort()).toEqual([name, name.replace('-last-frame.png', '.mp4')]);
  });

  test.each([
    ['in another order', ['b', 'a']],
    ['one less', ['b']],
    ['one more before them', ['c', 'b', 'a']],
  ])(
    'two outputs of a beta task are known by their IDs in a second look that lists them %s',
    async (_, later) => {
      const world = await World.open();
      const clips = new Map(['a', 'b', 'c'].map((name, at) => [name, tinyMp4(2000, at)]));
      const served: string[] = [];
      let listed = ['a', 'b'];
      // The links of the first look expire later, and the link of its second output never works.
      const outputs = await startOutputServer((request, response) => {
        const [, from = '', name = ''] = request.url?.split('/') ?? [];
        const isDead = from !== String(listed) || (from === 'a,b' && name === 'b');
        if (isDead) return response.writeHead(404).end();
        served.push(name);
        return serveFile(clips.get(name) ?? Buffer.alloc(0), request, response);
      });
      const record = () => ({
        id,
        status: 'succeeded',
        outputs: listed.map((name) => ({
          type: 'video',
          id: name,
          url: `${outputs.url}/${listed}/${name}`,
          duration: '5',
        })),
      });
      const fake = await fakeGateway((method) => ({
        body: { code: 0, data: method === 'POST' ? { id } : [record()] },
      }));
      const gw = (...argv: string[]) => world.gw(argv, { env: { GW_BASE_URL: fake.url } });
      const made = await gw(...'video beta create fox --duration 5 --wait -o {id}.{ext}'.split(' '));
      expect(made, made.err).toMatchObject({ code: 12 });
      listed = later;
      for (const _run of [1, 2]) {
        const waited = await gw('jobs', 'wait', id);
        expect(waited, waited.err).toMatchObject({ code: 0 });
        expect(waited.out.split('\n')).toContain(`${world.cwd}/${id}.mp4`);
      }
      expect(readFileSync(`${world.cwd}/${id}.mp4`)).toEqual(clips.get('a'));
      expect(readFileSync(`${world.cwd}/${id}-video-2.mp4`)).toEqual(clips.get('b'));
      expect([...served].sort()).toEqual([...new Set(['a', 'b', ...later])].sort());
    },
  );

  test('--once KEY --wait goes on with one that was made with --no-download', async () => {
    const { world, heal, gw } = await halfDead('fails');
    const create = 'video alpha create fox --duration 4 --once k'.split(' ');
    expect(await gw(...create, '--no-download')).toMatchObject({ code: 0, out: `${id}\n` });
    for (const _ of [1, 2]) expect((await gw(...create, '--wait')).code).toBe(12);
    heal();
    expect(await gw('jobs', 'sync')).toMatchObject({ code: 0 });
    expect(Object.keys(world.files()).sort()).toEqual([`${id}-last-frame.png`, `${id}.mp4`]);
  });

  test('an output that an earlier gw left out is fetched by those who ask for outputs, and by no one else', async () => {
    const { world, made, heal, asked, gw } = await halfDead('fails');
    const key = made();
    const file = { role: 'video', path: `${world.cwd}/v.mp4`, bytes: 3, sha256: 'ab', type: 'video/mp4' };
    writeFileSync(file.path, 'abc');
    ledgerOf(world).append(key, { event: 'saved', ...file });
    heal();
    expect(await gw('jobs', 'wait', id, '--no-download')).toMatchObject({ code: 0 });
    expect(await gw('jobs', 'sync')).toMatchObject({ code: 0, out: '' });
    expect(asked()).toBe(0);
    const run = await gw('jobs', 'wait', id);
    expect(run, run.err).toMatchObject({ code: 0 });
    expect(run.out).toContain(`${world.cwd}/${id}-last-frame.png\n`);
  });

  test('--no-download turns no plan off, and neither a dry run nor a copy of what is home changes one', async () => {
    const { world, made, heal, gw, save, planned } = await halfDead('fails');
    const key = made();
    for (const flag of ['--no-download', '--dry-run', '--curl']) {
      expect((await gw('jobs', 'wait', id, flag, '-o', 'other.{ext}')).code).toBe(0);
    }
    expect(await planned()).toEqual(save);
    ledgerOf(world).append(key, { event: 'plan', save: { ...save, download: true } });
    expect((await gw('jobs', 'wait', id, '--no-download')).code).toBe(0);
    expect(await planned()).toEqual({ ...save, download: true });
    heal();
    expect((await gw('jobs', 'sync')).code).toBe(0);
    expect((await gw('jobs', 'download', id, '-o', 'copy.{ext}')).code).toBe(0);
    expect(await planned()).toEqual({ ...save, download: true });
    expect(Object.keys(world.files())).toHaveLength(4);
  });
});

test('a job is named by its key, and by a file that it saved, gone or not, wherever an ID is', async () => {
  const world = await World.open();
  const args = cmd`create "a fox in the snow" --resolution 480p --once day/boat -o clips/fox.mp4`;
  await world.ok(['video', 'alpha', ...args, '--wait']);
  const file = path.join(world.cwd, 'clips/fox.mp4');
  const commands = [
    ['jobs', 'show'],
    ['jobs', 'wait'],
    ['jobs', 'download'],
    ['open'],
    ['again', '--dry-run'],
  ];
  const named = [...commands, ['video', 'alpha', 'wait'], ['video', 'alpha', 'download']];
  for (const command of named)
    for (const name of ['day/boat', file, 'clips/fox.mp4', './clips/../clips/fox.mp4']) {
      const run = await world.gw([...command, name]);
      const told = command[0] === 'open' ? 'no desktop opened it, so its path is printed\n' : '';
      expect.soft([run.code, run.err], [...command, name].join(' ')).toEqual([0, told]);
    }
  rmSync(file);
  expect(await world.gw(['jobs', 'wait', 'clips/fox.mp4'])).toMatchObject({ code: 0, out: `${file}\n` });
  expect(existsSync(file)).toBe(true);
  const settled = await world.gw(['jobs', 'resolve', 'clips/fox.mp4', '--as', 'none']);
  expect(settled).toMatchObject({ code: 2, err: expect.stringContaining('its outcome is known') });
  expect((await world.gw(['jobs', 'show', 'clips/none.mp4'])).code).toBe(2);
});

const byKey = [
  ...['show', 'wait', 'download'].map((way) => ['jobs', way]),
  ['jobs', 'resolve', '--as', 'none'],
  ['open'],
];
/** Which job a file name selects, after an owl and then a fox were saved as x.png and the owl's file was moved away first. */
const fileTable: [string, (cwd: string) => void, string, 'an owl' | 'a fox'][] = [
  ['the newest that had the name', () => {}, 'x.png', 'a fox'],
  ['moved away', () => {}, 'y.png', 'an owl'],
  [
    'the older one put back',
    (cwd) => renameSync(path.join(cwd, 'y.png'), path.join(cwd, 'x.png')),
    'x.png',
    'an owl',
  ],
  ['gone', (cwd) => rmSync(path.join(cwd, 'x.png')), 'x.png', 'a fox'],
  ['changed', (cwd) => writeFileSync(path.join(cwd, 'x.png'), 'edited'), 'x.png', 'a fox'],
  [
    'what another holds too',
    (cwd) => copyFileSync(path.join(cwd, 'x.png'), path.join(cwd, 'y.png')),
    'y.png',
    'a fox',
  ],
];
test.each(fileTable)('a file names one job on every way: %s', async (_, change, name, prompt) => {
  const world = await World.open();
  const make = async (what: string) =>
    expect((await world.gw(['image', 'create', what, '-o', 'x.png'])).err).not.toContain('error');
  await make('an owl');
  renameSync(path.join(world.cwd, 'x.png'), path.join(world.cwd, 'y.png'));
  await make('a fox');
  const { out } = await world.gw(['jobs', 'list', '--json']);
  const keys = (JSON.parse(out) as { job: string }[]).map(({ job }) => job);
  const [fox = '', owl = ''] = keys;
  change(world.cwd);
  for (const way of [...byKey, ['again', '--dry-run']]) {
    const run = await world.gw([...way, name, '--json']);
    const told = `${run.out}${run.err}`;
    const meant = way[0] === 'again' ? ['a fox', 'an owl'] : [fox, owl];
    const found = meant.map((each) => told.includes(each));
    expect.soft(found, `${way.join(' ')}: ${told}`).toEqual([prompt === 'a fox', prompt === 'an owl']);
  }
});

test.each([['wait', '--all'], ['sync']])(
  'gw jobs %s %s shows its requests without a key, also for a gateway that is not stored',
  async (...words) => {
    const world = await World.open();
    acceptedJob(world, 't-1', 2 * HOUR_MS, { gateway: 'https://elsewhere.example', profile: 'work' });
    acceptedJob(world, 't-2', HOUR_MS);
    const shown = ['jobs', ...words.filter(Boolean), '--dry-run', '--json'];
    const run = await world.gw(shown, { bare: true });
    expect(run, run.err).toMatchObject({ code: 0, err: '' });
    const urls = rows(run.out).map(([line = '']) => (JSON.parse(line) as { url: string }).url);
    expect(urls[0]).toContain('https://elsewhere.example/');
    expect(urls[1]).toContain(world.sandbox.baseUrl);
    expect(world.requests()).toEqual([]);
  },
);

test('jobs wait --all leaves jobs of a family that this gw does not know alone, with one warning', async () => {
  const world = await World.open();
  acceptedJob(world, 'd-1', HOUR_MS, { family: 'delta' });
  const run = await world.ok(['jobs', 'wait', '--all']);
  expect(run.err.match(/family delta left alone/g)).toHaveLength(1);
});

test('every job that cannot be reached is told of under its own ID', async ({ world }) => {
  for (const id of ['t-1', 't-2']) {
    acceptedJob(world, id, HOUR_MS, { gateway: 'https://elsewhere.example', profile: 'work' });
  }
  const run = await world.gw(['jobs', 'wait', '--all', '--json']);
  expect(run.code).toBe(3);
  const errors = rows(run.err).map(([line = '']) => JSON.parse(line).error);
  expect(errors.map(({ task_id }) => task_id)).toEqual(['t-1', 't-2']);
  expect(errors[1].message).toContain('job t-2 belongs to https://elsewhere.example');
});

describe('jobs sync', () => {
  test('what was never sent is settled without its gateway', async ({ world }) => {
    const key = ledgerOf(world).begin(
      intentIn(world, { gateway: 'https://elsewhere.example', profile: 'work' }),
    );
    expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 0, out: '', err: '' });
    expect((await ledgerOf(world).find({ ids: [key] }))[0]?.state).toBe('not_sent');
  });

  test('many that go on are told of in one line', async ({ world }) => {
    for (const prompt of ['one', 'two', 'three']) await world.gw(['video', 'alpha', 'create', prompt]);
    const run = await world.ok(['jobs', 'sync']);
    expect(run.err).toMatch(/^3 tasks go on: /);
    expect(run.err.trim().split('\n')).toHaveLength(1);
  });

  test('a gateway that cannot be reached is told of once', async ({ world }) => {
    for (const id of ['t-1', 't-2', 't-3']) {
      acceptedJob(world, id, HOUR_MS, { gateway: 'https://elsewhere.example' });
    }
    const run = await world.gw(['jobs', 'sync']);
    expect(run.code).toBe(3);
    expect(run.err.match(/error:/g)).toHaveLength(1);
  });

  test('an output that can no longer be had is told of each time: neither its link nor its record lives', async () => {
    const world = await World.open();
    succeededJob(world, 't-1', 8 * DAY_MS);
    for (let time = 1; time <= 2; time += 1) {
      const run = await world.gw(['jobs', 'sync']);
      expect(run, run.err).toMatchObject({ code: 4, out: '' });
      expect(run.err).toContain(
        'task t-1: the gateway no longer keeps the record, and its output is not saved',
      );
      expect(run.err).toContain('make it anew: gw again t-1 --wait');
      expect(run.err).not.toContain('goes on');
    }
    expect(await ledgerOf(world).find()).toMatchObject([{ state: 'succeeded' }]);
  });

  test('what another gw is saving is left to it', async ({ world }) => {
    const id = (await world.gw(['video', 'alpha', 'create', 'a fox'])).out.trim();
    world.clock.ms += HOUR_MS;
    const ledger = ledgerOf(world);
    const hold = await ledger.hold((await ledger.find({ ids: [id] }))[0]?.key ?? '');
    expect(await world.gw(['jobs', 'sync'])).toMatchObject({
      code: 0,
      out: '',
      err: 'another gw saves 1 of the jobs\n',
    });
    hold?.release();
    expect(await world.gw(['jobs', 'sync'])).toMatchObject({ code: 0, out: `${world.cwd}/${id}.mp4\n` });
  });
});

describe('jobs stats', () => {
  test('counts by model, and sums what records say', async ({ world }) => {
    savedJob(world, 't-1', HOUR_MS);
    succeededJob(world, 't-2', DAY_MS);
    acceptedJob(world, 't-3', HOUR_MS, { model: 'alpha-video-2-0' });
    ledgerOf(world).begin(intentIn(world, { model: undefined }));
    const { out, err } = await world.ok(['jobs', 'stats']);
    expect(rows(out)).toEqual([
      ['-', '1', '0', '0', '0', '1', '-', '-', '-', '-', '-'],
      ['alpha-video-2-0', '1', '0', '0', '1', '0', '-', '-', '-', '-', '-'],
      ['alpha-video-2-5-260628', '2', '2', '0', '0', '0', '10', '2000', '-', '-', '-'],
    ]);
    expect(err).toBe('total: 4 jobs, 2 succeeded, 0 failed, 1 running, 10 seconds, 2000 tokens\n');
  });

  test('spend by currency and package, test credit apart, by day and family', async ({ world }) => {
    const billing = [
      { charge_type: 'cash', cash_type: 'balance', amount: '0.1', currency: 'CNY', list_price: '0.2' },
      { charge_type: 'cash', cash_type: 'test_balance', amount: '7', currency: 'CNY', list_price: '7' },
      { charge_type: 'unit', amount: '30', package_type: 'video' },
    ];
    for (const [id, agoMs] of Object.entries({ 'b-1': 1, 'b-2': 1, 'b-3': 1, 'b-4': 48 })) {
      const record = { status: 'succeeded', outputs: [], billing };
      succeededJob(world, id, agoMs * HOUR_MS, { family: 'beta' }, record);
    }
    savedJob(world, 't-1', HOUR_MS);
    const byDay = ['jobs', 'stats', '--by', 'family,day'];
    const { groups, total } = JSON.parse((await world.gw([...byDay, '--json'])).out);
    expect(groups).toMatchObject([
      { family: 'alpha', day: '2026-11-20', jobs: 1, output_s: 5, tokens: 1000, spend: [], test_spend: [] },
      {
        family: 'beta',
        day: '2026-11-20',
        jobs: 3,
        output_s: null,
        tokens: null,
        spend: [
          { unit: 'CNY', amount: 0.3 },
          { unit: 'video points', amount: 90 },
        ],
        test_spend: [{ unit: 'CNY', amount: 21 }],
      },
      { family: 'beta', day: '2026-11-18', jobs: 1 },
    ]);
    expect(total).toMatchObject({ jobs: 5, spend: [{ amount: 0.4 }, { amount: 120 }] });
    expect(rows((await world.gw(byDay)).out)[1]?.slice(-3)).toEqual([
      '0.3 CNY, 90 video points',
      '-',
      '21 CNY',
    ]);
    const day = JSON.parse((await world.gw(['jobs', 'stats', '--since', '24h', '--json'])).out);
    expect(day.total.jobs).toBe(4);
  });

  test.for(['colour', 'model,model', 'model,', ''])('--by %j is a usage error', async (by, { world }) => {
    expect(await world.gw(['jobs', 'stats', '--by', by])).toMatchObject({ code: 2 });
  });
});

describe('jobs prune', () => {
  test('forgets old jobs that need nothing any more, and leaves their files', async ({ world }) => {
    const ledger = ledgerOf(world);
    writeFileSync(`${world.cwd}/t-saved.mp4`, 'mp4');
    savedJob(world, 't-saved', 40 * DAY_MS);
    savedJob(world, 't-young', DAY_MS);
    acceptedJob(world, 't-running', 40 * DAY_MS);
    const outputs = [{ type: 'video', id: 'v', url: 'https://outputs.example/v' }];
    const beta = [25 * DAY_MS, { family: 'beta' }, { status: 'succeeded', outputs }] as const;
    succeededJob(world, 'b-unsaved', ...beta);
    const gone = { role: 'video', path: `${world.cwd}/gone.mp4`, bytes: 3, sha256: '', type: 'video/mp4' };
    ledger.append(succeededJob(world, 'b-gone', ...beta), { event: 'saved', ...gone });
    succeededJob(world, 't-over', 40 * DAY_MS);
    succeededJob(world, 'b-damaged', 25 * DAY_MS, { family: 'beta' }, 'not a record');
    succeededJob(world, 'd-1', 40 * DAY_MS, { family: 'delta' });
    const failed = acceptedJob(world, 't-failed', 40 * DAY_MS);
    ledger.append(failed, { event: 'final', state: 'failed', status: 'failed', record: {}, serverDateMs: 1 });
    const dry = await world.gw(['jobs', 'prune', '--before', '20d', '--dry-run', '-q']);
    expect(dry.out.split('\n').filter(Boolean).sort()).toEqual(['t-failed', 't-over', 't-saved']);
    expect((await ledger.find()).length).toBe(9);
    const run = await world.ok(['jobs', 'prune', '--before', '20d', '--yes']);
    expect(
      rows(run.out)
        .map(([id]) => id)
        .sort(),
    ).toEqual(['t-failed', 't-over', 't-saved']);
    expect(run.err).toContain('3 jobs removed from the ledger');
    expect(run.err).toContain('5 jobs as old as that are kept');
    expect((await ledger.find()).map((job) => job.id).sort()).toEqual([
      'b-damaged',
      'b-gone',
      'b-unsaved',
      'd-1',
      't-running',
      't-young',
    ]);
    expect(existsSync(`${world.cwd}/t-saved.mp4`)).toBe(true);
  });

  test('does not ask where it cannot, and needs to be told how old', async ({ world }) => {
    savedJob(world, 't-1', 40 * DAY_MS);
    const run = await world.gw(['jobs', 'prune', '--before', '30d']);
    expect(run).toMatchObject({ code: 2, out: '', err: expect.stringContaining('--yes') });
    expect(await world.gw(['jobs', 'prune', '--yes'])).toMatchObject({ code: 2 });
    expect(await world.gw(['jobs', 'prune', '--before', '30d', '--curl'])).toMatchObject({ code: 2 });
    expect(await ledgerOf(world).find()).toHaveLength(1);
  });

  test.each([
    ['y\r', 0, 0],
    ['YES\r', 0, 0],
    ['n\r', 2, 1],
    ['\r', 2, 1],
    ['yellow\r', 2, 1],
    ['', 2, 1],
    ['\x03', 130, 1],
  ])('asks on a terminal: %j', async (typed, code, left) => {
    const world = await World.open();
    savedJob(world, 't-1', 40 * DAY_MS);
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    if (typed === '') stdin.end();
    else stdin.write(typed);
    const run = await world.gw(['jobs', 'prune', '--before', '30d'], { terminal: true, stdin });
    expect(run.code, run.err).toBe(code);
    // What follows begins on a line of its own.
    expect(run.err).toMatch(/Remove 1 job from the ledger\? \[y\/N\](?!.*error:)/);
    expect(await ledgerOf(world).find()).toHaveLength(left);
  });

  test('with nothing to forget it says so and succeeds', async ({ world }) => {
    const run = await world.gw(['jobs', 'prune', '--before', '30d', '--yes']);
    expect(run).toMatchObject({ code: 0, out: '', err: '0 jobs removed from the ledger\n' });
  });
});

describe('a job by the beginning of its ID, and the last one', () => {
  async function threeJobs() {
    const world = await World.open();
    savedJob(world, 'vt-20261101-aaa', 3 * HOUR_MS);
    savedJob(world, 'vt-20261101-bbb', 2 * HOUR_MS);
    savedJob(world, 'bt-7-last', HOUR_MS, { family: 'beta' });
    const shown = async (...words: string[]) => {
      const run = await world.gw([...words, '--json']);
      return run.code === 0 ? (JSON.parse(run.out) as { id: string }).id : `${run.code} ${run.err}`;
    };
    return { world, shown };
  }

  test('one that only one job has is that job; last is the newest', async () => {
    const { shown } = await threeJobs();
    expect(await shown('jobs', 'show', 'vt-20261101-b')).toBe('vt-20261101-bbb');
    expect(await shown('jobs', 'show', 'last')).toBe('bt-7-last');
  });

  test('one that several have is usage and lists them; a short or unknown one is not found', async () => {
    const { shown } = await threeJobs();
    const several = await shown('jobs', 'show', 'vt-2026');
    expect(several).toMatch(/^2 /);
    expect(several).toContain('vt-20261101-aaa');
    expect(several).toContain('vt-20261101-bbb');
    for (const word of ['bt-7-', 'vt-20271']) expect(await shown('jobs', 'show', word)).toMatch(/^4 /);
  });

  test('without jobs, last is not found', async ({ world }) => {
    expect((await world.gw(['jobs', 'show', 'last'])).code).toBe(4);
  });

  test.each([
    ...['show', 'wait', 'download', 'resolve'].map((name) => ['jobs', name]),
    ...['get', 'wait', 'download'].map((name) => ['video', 'gamma', name]),
  ])('the help says so: %s %s %s', async (...words) => {
    const world = await World.open();
    const help = (await world.gw([...words.filter(Boolean), '--help'])).out.replaceAll(/\s+/g, ' ');
    expect(help).toContain('6 or more characters it begins with, ');
  });

  test('video commands mean those of their family', async () => {
    const { world } = await threeJobs();
    for (const word of ['last', 'vt-20261101-b']) {
      const run = await world.gw(['video', 'alpha', 'get', word, '--dry-run']);
      expect(run.out).toContain('vt-20261101-bbb');
    }
    expect((await world.gw(['video', 'gamma', 'wait', 'last'])).code).toBe(4);
  });
});
