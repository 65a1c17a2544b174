import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect } from 'vitest';
import type { EndingSignal } from '../../src/errors.ts';
import { cmd } from '../helpers/cmd.ts';
import { KEY, test, World } from '../helpers/gw.ts';
import { pngHead } from '../media/fixtures.ts';

const create = ['video', 'alpha', 'create'];
const ledgerOf = (world: World) => {
  const dir = path.join(world.dir, '.local/state/gw/ledger');
  return existsSync(dir)
    ? readdirSync(dir)
        .filter((name) => name.endsWith('.jsonl'))
        .map((name) => readFileSync(path.join(dir, name), 'utf8'))
        .join('')
    : '';
};
const eventsOf = (world: World): { event: string; [field: string]: unknown }[] =>
  ledgerOf(world)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe('create --wait', () => {
  test('saves the video and prints its path alone on stdout, the task ID on stderr', async ({ world }) => {
    const run = await world.ok([...create, 'a fox in the snow', '--wait']);
    const [id] = world.sandbox.tasks().map((task) => task.id);
    expect(run.out).toBe(`${world.cwd}/${id}.mp4\n`);
    expect(run.err).toContain(`task ${id}\n`);
    expect(Object.keys(world.files())).toEqual([`${id}.mp4`]);
    expect(world.sandbox.tasks()).toHaveLength(1);
  });

  test('the ledger goes first, in order, and ends with the saved file', async ({ world }) => {
    await world.gw([...create, 'a fox', '--wait']);
    const order = eventsOf(world)
      .map((event) => event.event)
      .filter((event) => event !== 'status');
    expect(order).toEqual(['intent', 'sent', 'accepted', 'final', 'get', 'part', 'saved', 'part']);
    const saved = eventsOf(world).find((event) => event.event === 'saved');
    const bytes = readFileSync(String(saved?.path));
    expect(saved).toMatchObject({
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      type: 'video/mp4',
    });
  });

  test('--json prints one object with the record as it came', async ({ world }) => {
    const run = await world.gw(cmd`${create} "a fox" --wait --json --duration 4 --resolution 480p`);
    const result = JSON.parse(run.out);
    expect(run.out.trim().split('\n')).toHaveLength(1);
    expect(Object.keys(result)).toEqual(['family', 'id', 'status', 'record', 'files']);
    expect(result).toMatchObject({
      family: 'alpha',
      status: 'succeeded',
      record: { duration: 4, resolution: '480p' },
    });
    expect(Object.keys(result.files[0])).toEqual(['path', 'bytes', 'sha256', 'type']);
  });

  test('looks at the documented pace: never sooner than 10 s, never later than 30 s', async () => {
    const world = await World.open({ speed: 0.2 });
    await world.gw([...create, 'a fox', '--wait']);
    const waits = world.clock.slept.filter((ms) => ms > 1000);
    expect(waits.length).toBeGreaterThan(5);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(10_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
  });

  test('the last frame of a 2.0 video is saved beside it', async ({ world }) => {
    const run = await world.gw(cmd`${create} "a fox" -m 2.0-fast --return-last-frame --wait -o fox.mp4`);
    expect(run.out).toBe(`${world.cwd}/fox.mp4\n${world.cwd}/fox-last-frame.png\n`);
    expect(Object.keys(world.files()).sort()).toEqual(['fox-last-frame.png', 'fox.mp4']);
  });

  test('a failed task is printed in full, exits 9 and saves nothing', async () => {
    const world = await World.open({ fault: 'task:fail=OutputVideoSensitiveContentDetected' });
    const run = await world.gw([...create, 'a fox', '--wait', '--json']);
    expect(run.code).toBe(9);
    expect(JSON.parse(run.out)).toMatchObject({
      status: 'failed',
      record: { error: { code: 'OutputVideoSensitiveContentDetected' } },
      files: [],
    });
    expect(JSON.parse(run.err.trim().split('\n').at(-1) ?? '')).toMatchObject({
      error: {
        kind: 'task_failed',
        exit_code: 9,
        code: 'OutputVideoSensitiveContentDetected',
        task_id: world.sandbox.tasks()[0]?.id,
        hint: `make it anew, with other words: gw again ${world.sandbox.tasks()[0]?.id} --wait -p TEXT`,
      },
    });
    expect(world.files()).toEqual({});
  });

  test('--wait-timeout ends the wait with 10, keeps the job and names the way back', async () => {
    const world = await World.open({ speed: 0.01 });
    const run = await world.gw([...create, 'a fox', '--wait', '--wait-timeout', '1m']);
    const [task] = world.sandbox.tasks();
    expect(run.code).toBe(10);
    expect(run.out).toBe('');
    expect(run.err).toContain(`gw video alpha wait ${task?.id}`);
    const later = await world.gw(['jobs', 'show', String(task?.id), '--json']);
    expect(JSON.parse(later.out)).toMatchObject({
      id: task?.id,
      status: expect.stringMatching(/queued|running/),
    });
  });

  test('survives three of ten polls failing, and says so once a spell', async () => {
    const world = await World.open({ speed: 0.2, fault: 'query:503:30%' });
    const run = await world.ok([...create, 'a fox', '--wait']);
    expect(run.err).toContain('still waiting');
  });

  test('the first Ctrl-C leaves the job going, says how to pick it up, and exits 130', async () => {
    const world = await World.open({ speed: 0.05 });
    let interrupt: (signal: EndingSignal) => void = () => {};
    const { sleep } = world.clock;
    world.clock.sleep = async (ms, signal) => {
      if (world.clock.slept.length === 2) interrupt('SIGINT');
      return sleep.call(world.clock, ms, signal);
    };
    const run = await world.gw([...create, 'a fox', '--wait'], { interrupts: (send) => (interrupt = send) });
    world.clock.sleep = sleep;
    const [task] = world.sandbox.tasks();
    expect(run.code).toBe(130);
    expect(run.err).toContain(`gw video alpha wait ${task?.id}`);
    await world.ok(['video', 'alpha', 'wait', String(task?.id)]);
    expect(world.sandbox.tasks()).toHaveLength(1);
  });
});

describe('create without --wait', () => {
  test('prints the task ID alone and leaves the rest to jobs sync', async ({ world }) => {
    const run = await world.gw([...create, 'a fox', '-o', 'clips/']);
    const [task] = world.sandbox.tasks();
    expect(run).toMatchObject({ code: 0, out: `${task?.id}\n`, err: '' });
    world.clock.ms += 60_000;
    const sync = await world.gw(['jobs', 'sync']);
    expect(sync.out).toBe(`${world.cwd}/clips/${task?.id}.mp4\n`);
    const again = await world.gw(['jobs', 'sync']);
    expect(again).toMatchObject({ code: 0, out: '' });
    expect(world.requests().filter((line) => line.includes('/outputs/'))).toHaveLength(1);
  });

  test('the prompt may come from stdin, a file, or --prompt -', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'prompt.txt'), 'a boat at dawn\n');
    await world.gw([...create, '--prompt-file', 'prompt.txt']);
    await world.gw([...create, '--prompt', '-'], { stdin: 'a boat at dawn' });
    const prompts = world.sandbox.requests.map(
      (request) => (request.body as { content: unknown[] }).content[0],
    );
    expect(prompts).toEqual([
      { type: 'text', text: 'a boat at dawn' },
      { type: 'text', text: 'a boat at dawn' },
    ]);
  });
});

describe('the request', () => {
  test('every flag reaches its field', async ({ world }) => {
    await world.ok(cmd`
      ${create} --prompt "the fox of image 1 runs" -m 2.5 --image https://example.com/fox.png
      --video asset://asset-sandbox-video-1 --audio https://example.com/wind.mp3 --generate-audio
      --resolution 480p --ratio 9:16 --duration auto --format mov --no-watermark --task-type reference
    `);
    // The request before this one queried the asset.
    const request = world.sandbox.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path: '/api/v3/contents/generations/tasks' });
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
    });
    expect(request?.body).toEqual({
      model: 'alpha-video-2-5-260628',
      content: [
        { type: 'text', text: 'the fox of image 1 runs' },
        { type: 'image_url', image_url: { url: 'https://example.com/fox.png' }, role: 'reference_image' },
        { type: 'video_url', video_url: { url: 'asset://asset-sandbox-video-1' }, role: 'reference_video' },
        { type: 'audio_url', audio_url: { url: 'https://example.com/wind.mp3' }, role: 'reference_audio' },
      ],
      generate_audio: true,
      resolution: '480p',
      ratio: '9:16',
      duration: -1,
      output_format: 'mov',
      watermark: false,
      omni_reference_task_type: 'reference',
    });
  });

  test('nothing is sent that was not said: a prompt alone makes a body of two fields', async ({ world }) => {
    await world.gw([...create, 'a fox']);
    expect(world.sandbox.requests[0]?.body).toEqual({
      model: 'alpha-video-2-5-260628',
      content: [{ type: 'text', text: 'a fox' }],
    });
  });

  test.each([
    [
      'a first frame on 2.5 makes the ratio adaptive',
      ['--first-frame', 'https://example.com/a.png'],
      { ratio: 'adaptive' },
    ],
    [
      'edit makes the duration -1 and the ratio adaptive',
      ['--video', 'https://example.com/a.mp4', '--task-type', 'edit'],
      { ratio: 'adaptive', duration: -1 },
    ],
    [
      'extend makes the ratio adaptive',
      ['--video', 'https://example.com/a.mp4', '--task-type', 'extend', '--duration', '8'],
      { ratio: 'adaptive', duration: 8 },
    ],
    ['web search', ['-m', '2.0', '--web-search'], { tools: [{ type: 'web_search' }] }],
  ])('%s', async (_, flags, wanted) => {
    const world = await World.open();
    await world.ok([...create, 'a fox', ...flags]);
    expect(world.sandbox.requests[0]?.body).toMatchObject(wanted);
  });

  test('flags and --set are laid over --body, in that order', async ({ world }) => {
    writeFileSync(
      path.join(world.cwd, 'body.json'),
      JSON.stringify({
        model: 'alpha-video-2-0-260128',
        content: [{ type: 'text', text: 'old' }],
        duration: 5,
        ratio: '1:1',
      }),
    );
    await world.gw(cmd`
      ${create} new --body body.json --duration 6 --set ratio=4:3 --set content.0.text=newest
    `);
    expect(world.sandbox.requests[0]?.body).toEqual({
      model: 'alpha-video-2-0-260128',
      content: [{ type: 'text', text: 'newest' }],
      duration: 6,
      ratio: '4:3',
    });
  });

  test('--dry-run prints the request with the key hidden, needs no key, sends nothing, writes no job', async () => {
    const world = await World.open();
    const run = await world.ok([...create, 'a fox', '--dry-run'], {
      bare: true,
      env: { GW_BASE_URL: 'https://gateway.example.com' },
    });
    expect(run.out).toContain('POST https://gateway.example.com/api/v3/contents/generations/tasks');
    expect(run.out).toMatch(/authorization: .*\*\*\*/i);
    expect(run.out).toContain('"a fox"');
    expect(world.requests()).toEqual([]);
    expect(ledgerOf(world)).toBe('');
  });

  test('--curl prints a command that reads the key from $GW_API_KEY', async ({ world }) => {
    const run = await world.gw([...create, "a fox's den", '--curl']);
    expect(run.out).toContain('$GW_API_KEY');
    expect(run.out).not.toContain(KEY);
    expect(world.requests()).toEqual([]);
  });

  test('--no-validate sends a request that breaks a rule, with a warning', async ({ world }) => {
    const run = await world.gw([...create, 'a fox', '--duration', '31', '--no-validate']);
    expect(run.code).toBe(5);
    expect(run.err).toContain('warning: --duration 31: 2.5 takes 4-30 seconds');
    expect(world.requests()).toHaveLength(1);
  });

  test('a prompt that names more media than are given is a warning', async ({ world }) => {
    const run = await world.ok(cmd`
      ${create} "image 1 and image 3" --image https://example.com/a.png --image https://example.com/b.png
    `);
    expect(run.err).toContain('warning: --prompt: the prompt says "image 3", but only 2 are given');
  });
});

describe('bad input: one clear sentence, exit 2, nothing sent, nothing in the ledger', () => {
  const cases: [string, string[], RegExp][] = [
    ['an unknown flag', ['x', '--ratoi', '1:1'], /unknown option '--ratoi'[\s\S]*--ratio/],
    [
      'a flag twice with different values',
      ['x', '--duration', '5', '--duration', '6'],
      /--duration was given twice with different values: 5 and 6/,
    ],
    ['contradicting switches', ['x', '--watermark', '--no-watermark'], /contradict/],
    ['no prompt on a terminal', [], /no prompt/],
    ['an empty prompt', ['--prompt', ''], /--prompt is empty/],
    ['spaces for a prompt', ['   '], /the prompt is empty/],
    ['a prompt given twice', ['words', '--prompt', 'more'], /given twice/],
    [
      'duration abc',
      ['x', '--duration', 'abc'],
      /--duration abc: not a whole number of seconds\nhint: .*4-30, or -1 \(auto\) \(2.5\)/,
    ],
    ['duration 1e1', ['x', '--duration', '1e1'], /--duration 1e1: not a whole number/],
    ['duration -1 on 2.0', ['x', '-m', '2.0', '--duration', '-1'], /--duration -1: 2.0 takes 4-15 seconds/],
    ['another spelling', ['x', '-m', '2.0', '--resolution', '4K'], /did you mean 4k/],
    [
      'mov on 2.0',
      ['x', '-m', '2.0', '--format', 'mov'],
      /--format mov: not a setting of 2.0; mov is for 2.5\nhint: the document says: .*always mp4/,
    ],
    [
      'edit with a ratio',
      ['x', '--video', 'https://e.com/a.mp4', '--task-type', 'edit', '--ratio', '16:9'],
      /--ratio 16:9: editing requires the ratio adaptive/,
    ],
    [
      'audio alone on 2.0',
      ['x', '-m', '2.0', '--audio', 'https://e.com/a.mp3'],
      /--audio: 2.0 rejects audio alone/,
    ],
    ['a bare asset ID', ['x', '--image', 'asset-20260101-abcd'], /asset:\/\/asset-20260101-abcd/],
    [
      'web search with an image',
      ['x', '-m', '2.0', '--web-search', '--image', 'https://e.com/a.png'],
      /--web-search: web search works for text-only input/,
    ],
    ['an unknown model', ['x', '-m', '2.0fast'], /2.0fast: not a model of .*; did you mean 2.0-fast\?/],
    ['a missing file', ['x', '--image', 'nope.png'], /--image nope.png/],
    ['a local video', ['x', '--video', 'clip.mp4'], /asset/],
    ['an HTML page named .png', ['x', '--image', 'page.png'], /HTML/],
    ['a directory for an image', ['x', '--image', '.'], /directory/],
    ['an empty file', ['x', '--image', 'empty.png'], /empty/],
    ['a device', ['x', '--image', '/dev/zero'], /device/],
    ['a file: URL', ['x', '--image', 'file:///etc/passwd'], /file:/],
    ['-o a symlink', ['x', '-o', 'link.mp4'], /symbolic link/],
    ['-o under /dev/null', ['x', '-o', '/dev/null/clip.mp4'], /\/dev\/null/],
    ['-o an unknown placeholder', ['x', '-o', '{nope}.mp4'], /\{nope\} is not a placeholder/],
    ['-o an open brace', ['x', '-o', '{id.mp4'], /not closed/],
    ['-o -', ['x', '-o', '-'], /stdout/],
    ['--set into the prototype', ['x', '--set', '__proto__.a=1'], /__proto__/],
    ['--wait-timeout 0', ['x', '--wait-timeout', '0'], /--wait-timeout/],
    ['--wait-timeout 1y', ['x', '--wait-timeout', '1y'], /--wait-timeout/],
    ['--body that is not JSON', ['x', '--body', 'page.png'], /--body/],
    ['--retries -1', ['x', '--retries', '-1'], /--retries/],
  ];
  test.each(cases)('%s', async (_, words, sentence) => {
    const world = await World.open();
    writeFileSync(path.join(world.cwd, 'page.png'), '<!doctype html><title>no</title>');
    writeFileSync(path.join(world.cwd, 'clip.mp4'), 'x');
    writeFileSync(path.join(world.cwd, 'empty.png'), '');
    symlinkSync('page.png', path.join(world.cwd, 'link.mp4'));
    const run = await world.gw([...create, ...words]);
    expect(run.err).toMatch(sentence);
    expect(run.code).toBe(2);
    expect(run.out).toBe('');
    // gw looks up an unknown model in the gateway's list.
    expect(world.requests()).toEqual(words.includes('2.0fast') ? ['GET /v1/models'] : []);
    expect(eventsOf(world)).toEqual([]);
  });

  test('what a file may be is decided by the model that is sent, also where --set says it', async ({
    world,
  }) => {
    writeFileSync(path.join(world.cwd, 'small.png'), pngHead(299, 300));
    const of = (...flags: string[]) => world.gw(cmd`${create} x --image small.png --dry-run ${flags}`);
    const [v20, v25] = ['model=alpha-video-2-0-260128', 'model=alpha-video-2-5-260628'];
    for (const flags of [
      ['-m', '2.0'],
      ['--set', v20],
      ['-m', '2.5', '--set', v20],
    ])
      expect((await of(...flags)).code, flags.join(' ')).toBe(0);
    for (const flags of [
      ['-m', '2.5'],
      ['--set', v25],
      ['-m', '2.0', '--set', v25],
    ])
      expect((await of(...flags)).err, flags.join(' ')).toContain('must each be 300-6000 px');
  });

  test('no gateway and no key', async ({ world }) => {
    expect(await world.gw([...create, 'x'], { bare: true })).toMatchObject({
      code: 3,
      err: expect.stringContaining('no gateway is configured'),
    });
    const run = await world.gw([...create, 'x'], { bare: true, env: { GW_BASE_URL: world.sandbox.baseUrl } });
    expect(run).toMatchObject({ code: 3, err: expect.stringContaining('GW_API_KEY') });
    expect(world.requests()).toEqual([]);
  });
});

test('on a terminal a create without --wait names the command that saves it, in a pipe it does not', async () => {
  const world = await World.open();
  const { out, err } = await world.gw([...create, 'a fox'], { terminal: true });
  expect(err).toContain(`wait for it and save it with: gw video alpha wait ${out.trim()}`);
  expect((await world.gw([...create, 'a cat'])).err).toBe('');
});

describe('bad days', () => {
  test('a 429 names --queue, and with --json when to ask again; one under --queue does not name it', async () => {
    const world = await World.open({ fault: 'create:429+300' });
    const run = await world.gw([...create, 'a fox', '--json', '--retries', '0']);
    const { error } = JSON.parse(run.err.trim().split('\n').at(-1) ?? '');
    expect(error).toMatchObject({
      kind: 'rate_limited',
      hint: expect.stringContaining('with --queue gw waits'),
    });
    expect(error.retry_at).toMatch(/^2026-11-20T12:\d\d:\d\dZ$/);
    const queued = await world.gw([...create, 'a fox', '--queue', '--wait-timeout', '1s']);
    expect(queued).toMatchObject({ code: 7, err: expect.not.stringContaining('with --queue') });
  });

  test.each([
    ['without --queue', create, 100],
    ['with --queue', [...create, '--queue'], 300],
    ['of images', ['image', 'create'], 100],
  ])('a 429 is told of every 30 s, with its time: %s', async (_, argv, seconds) => {
    const world = await World.open({ fault: `create:429+${seconds}:x1` });
    const { err } = await world.ok([...argv, 'a fox']);
    const lines = err.split('\n').filter((line) => /again at 2026-11-20T12:0\d:\d\d\.\d{3}Z/.test(line));
    expect(lines.length, err).toBe(seconds / 25);
    expect(Math.max(...world.clock.slept)).toBeLessThan(30_000);
  });

  test.each([
    ['create:401', 3, 'auth'],
    ['create:403', 3, 'auth'],
    ['create:404', 4, 'not_found'],
    ['create:400', 5, 'rejected'],
    ['create:422', 5, 'rejected'],
    ['create:402', 6, 'balance'],
    ['create:429', 7, 'rate_limited'],
    ['create:500', 14, 'unknown_outcome'],
    ['create:503', 14, 'unknown_outcome'],
    ['create:reset-after', 14, 'unknown_outcome'],
    ['create:html', 14, 'unknown_outcome'],
    ['create:empty', 14, 'unknown_outcome'],
    ['create:redirect', 14, 'unknown_outcome'],
  ])('%s exits %i as %s, and at most one task exists', async (fault, code, kind) => {
    const world = await World.open({ fault });
    const run = await world.gw([...create, 'a fox', '--json']);
    expect(run.code, run.err).toBe(code);
    expect(JSON.parse(run.err.trim().split('\n').at(-1) ?? '').error).toMatchObject({
      kind,
      exit_code: code,
    });
    expect(world.sandbox.tasks().length).toBeLessThanOrEqual(1);
    const posts = world.requests().filter((line) => line.startsWith('POST'));
    expect(posts.length).toBe(kind === 'rate_limited' ? 5 : 1);
    if (kind === 'unknown_outcome') {
      expect(eventsOf(world).at(-1)).toMatchObject({ event: 'unknown' });
      expect(run.err).not.toMatch(/try again/i);
      expect(run.err).toMatch(/gw jobs show gw-/);
    }
  });

  test('a task at 4k that was just made is looked at at the rate of 4k, whatever --interval says', async () => {
    const world = await World.open();
    const startMs = world.clock.steady();
    const words = cmd`video alpha create "a fox" -m 2.0 --resolution 4k --duration 15`;
    await world.ok([...words, '--wait', '--interval', '100ms']);
    const looks = world.requests().filter((line) => line.startsWith('GET')).length;
    // The limit is 15 looks a minute by the sandbox's clock, which runs ten times as fast.
    expect((world.clock.steady() - startMs) / looks).toBeGreaterThan(350);
  });

  test('get asks for tasks at 4k that the ledger knows at the rate of 4k', async ({ world }) => {
    const words = 'video alpha create fox -m 2.0 --resolution 4k --duration 15 --wait --no-download --json';
    const ids: string[] = [];
    for (const _ of [1, 2, 3]) ids.push(JSON.parse((await world.ok(words.split(' '))).out).id);
    const startMs = world.clock.steady();
    await world.ok(['video', 'alpha', 'get', ...ids]);
    expect(world.clock.steady() - startMs).toBeGreaterThan(2 * 4000);
  });

  test('an existing file is never overwritten unasked', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'fox.mp4'), 'mine');
    const run = await world.gw([...create, 'a fox', '--wait', '-o', 'fox.mp4']);
    expect(run.out).toBe(`${world.cwd}/fox-1.mp4\n`);
    expect(readFileSync(path.join(world.cwd, 'fox.mp4'), 'utf8')).toBe('mine');
    const forced = await world.gw([...create, 'a fox', '--wait', '-o', 'fox.mp4', '--force']);
    expect(forced.out).toBe(`${world.cwd}/fox.mp4\n`);
    expect(world.files()['fox.mp4']).toBeGreaterThan(1000);
  });
});

describe('get, wait, download', () => {
  test('get --json prints the reply unchanged; several print one line each', async ({ world }) => {
    const ids = [];
    for (const words of ['one', 'two']) ids.push((await world.gw([...create, words])).out.trim());
    world.clock.ms += 60_000;
    const raw = await (
      await fetch(`${world.sandbox.baseUrl}/api/v3/contents/generations/tasks/${ids[0]}`, {
        headers: { authorization: `Bearer ${KEY}` },
      })
    ).text();
    expect((await world.gw(['video', 'alpha', 'get', String(ids[0]), '--json'])).out).toBe(raw);
    const both = await world.gw(['video', 'alpha', 'get', ...ids, '--json']);
    expect(
      both.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(ids);
  });

  test('get for people shows no link', async ({ world }) => {
    const id = (await world.gw([...create, 'a fox'])).out.trim();
    world.clock.ms += 60_000;
    const run = await world.gw(['video', 'alpha', 'get', id]);
    expect(run.out).toMatch(/status +succeeded/);
    expect(run.out).not.toContain('http');
  });

  test('one unknown ID of two is exit 13, all unknown is exit 4, a hostile one is exit 2', async () => {
    const world = await World.open();
    const id = (await world.gw([...create, 'a fox'])).out.trim();
    expect((await world.gw(['video', 'alpha', 'get', id, 'vt-unknown'])).code).toBe(13);
    expect((await world.gw(['video', 'alpha', 'get', 'vt-unknown', 'vt-unknown-2'])).code).toBe(4);
    const before = world.requests().length;
    expect((await world.gw(['video', 'alpha', 'get', 'a/../../v1/models'])).code).toBe(2);
    expect(world.requests()).toHaveLength(before);
  });

  test('wait and download do the two halves on a machine that does not know the job', async ({ world }) => {
    const id = (await world.gw([...create, 'a fox'])).out.trim();
    const elsewhere = { env: { GW_STATE_DIR: path.join(world.dir, 'elsewhere') } };
    mkdirSync(path.join(world.cwd, 'there'));
    expect(await world.gw(cmd`video alpha download ${id} -o there/`, elsewhere)).toMatchObject({
      code: 10,
    });
    const waited = await world.gw(['video', 'alpha', 'wait', id, '-o', 'there/'], elsewhere);
    expect(waited, waited.err).toMatchObject({ code: 0, out: `${world.cwd}/there/${id}.mp4\n` });
    // The second time gw sends no request: the ledger says that the output is saved.
    const before = world.requests().length;
    for (const word of ['download', 'wait']) {
      const again = await world.gw(['video', 'alpha', word, id], elsewhere);
      expect(again.out).toBe(`${world.cwd}/there/${id}.mp4\n`);
    }
    expect(world.requests()).toHaveLength(before);
  });
});

describe('what a hostile, careful user tries', () => {
  test('a key from stdin is never taken for the prompt', async ({ world }) => {
    const options = { bare: true, stdin: KEY, env: { GW_BASE_URL: world.sandbox.baseUrl } };
    const run = await world.gw([...create, '--api-key-file', '-'], options);
    expect(run).toMatchObject({ code: 2, err: expect.stringContaining('no prompt') });
    expect(run.out + run.err).not.toContain(KEY);
    const both = await world.gw([...create, '--api-key-file', '-', '--prompt', '-'], options);
    expect(both).toMatchObject({ code: 2, err: expect.stringContaining('both read stdin') });
    expect(world.requests()).toEqual([]);
  });

  test('a request that is only shown does not wait for a key on stdin', async ({ world }) => {
    await world.ok([...create, 'a fox', '--dry-run', '--api-key-file', '-'], { stdin: new PassThrough() });
  });

  test('a prompt of words may begin with @; only a flag names a file', async ({ world }) => {
    await world.gw([...create, '@alice', 'waves']);
    expect(world.sandbox.requests[0]?.body).toMatchObject({
      content: [{ type: 'text', text: '@alice waves' }],
    });
  });

  test('an asset ID that is an ordinary word may stand in the prompt', async ({ world }) => {
    await world.ok([...create, 'a fox', '--image', 'asset://fox', '--dry-run']);
  });

  test('a content that is no list is named, and sent as it is when asked to', async ({ world }) => {
    writeFileSync(path.join(world.cwd, 'odd.json'), '{"content":"weird"}');
    expect(await world.gw([...create, '--body', 'odd.json'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('must be a list'),
    });
    await world.gw([...create, '--body', 'odd.json', '--no-validate']);
    expect(world.sandbox.requests[0]?.body).toMatchObject({ content: 'weird' });
  });

  test('--dry-run --json prints the request as an object', async ({ world }) => {
    const run = await world.gw([...create, 'a fox', '--dry-run', '--json']);
    expect(JSON.parse(run.out)).toMatchObject({
      method: 'POST',
      url: `${world.sandbox.baseUrl}/api/v3/contents/generations/tasks`,
      headers: { authorization: 'Bearer ***' },
      body: { content: [{ type: 'text', text: 'a fox' }] },
    });
  });

  test('the short name of a model stands for its ID in --set, --body and the set of a row as after -m', async ({
    world,
  }) => {
    const model = 'alpha-video-2-0-fast-260128';
    writeFileSync(path.join(world.cwd, 'b.json'), '{"model":"2.0-fast"}');
    for (const how of [
      ['-m', '2.0-fast'],
      ['--set', 'model=2.0-fast'],
      ['--body', 'b.json'],
    ]) {
      const run = await world.ok([...create, 'a fox', ...how, '--dry-run', '--json']);
      expect(JSON.parse(run.out).body, how.join(' ')).toMatchObject({ model });
    }
    const row = { command: 'video alpha', prompt: 'a fox', set: { model: '2.0-fast' }, resolution: '720p' };
    writeFileSync(path.join(world.cwd, 'm.jsonl'), JSON.stringify(row));
    expect((await world.ok(['batch', 'check', 'm.jsonl'])).out).toContain(model);
  });

  test('-v shows the fetch of the output too, without its signature', async ({ world }) => {
    const run = await world.gw([...create, 'a fox', '--wait', '-v']);
    expect(run.err).toMatch(/> GET \S+\/outputs\/\S+/);
    expect(run.err).toMatch(/signature=\*\*\*/);
  });

  test('an error of one of several IDs says which', async ({ world }) => {
    const run = await world.gw(['video', 'alpha', 'get', 'n-1', 'n-2', '--json']);
    expect(
      run.err
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).error.task_id),
    ).toEqual(['n-1', 'n-2']);
  });

  test('-V and --version work wherever they stand', async ({ world }) => {
    for (const argv of [['-V'], ['--version'], ['video', 'alpha', 'create', '-V']]) {
      expect(await world.gw(argv)).toMatchObject({ code: 0, out: '0.0.0-test\n' });
    }
    const json = { code: 0, out: '{"version":"0.0.0-test"}\n' };
    expect(await world.gw(['--json', '--version'])).toMatchObject(json);
  });

  test('a gateway that never answers does not hold a wait beyond its end', async () => {
    const world = await World.open({ fault: 'query:hang' });
    const run = await world.gw(cmd`${create} "a fox" --wait --interval 10ms --wait-timeout 300ms`);
    expect(run.code, run.err).toBe(10);
  });
});
