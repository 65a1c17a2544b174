import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { betaCreates } from '../../src/gateway/beta/create.ts';
import { betaVariants } from '../../src/gateway/beta/modes.ts';
import { betaFamily } from '../../src/gateway/beta/task.ts';
import { parseFaults } from '../../src/sandbox/faults.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { newDir } from '../helpers/new-dir.ts';
import { ask, decode, get, handClock, json, newStateDir, pngUri, post, probe, sandbox } from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY };
const DAY_MS = 86_400_000;
const { text, o1, image, motion } = betaVariants;
const hex = expect.stringMatching(/^[0-9a-f]{32}$/);

const betaBody = (prompt: string, options?: Record<string, unknown>) => ({
  prompt,
  ...(options && { options }),
});

async function createdId(
  at: Sandbox,
  body: unknown = betaBody('a fox'),
  path: string = text.path,
): Promise<string> {
  const answer = await post(at, path, body);
  if (json(answer).code !== 0) throw new Error(`not created: ${answer.status} ${answer.text}`);
  return json(answer).data.id;
}
const byIds = async (at: Sandbox, ...ids: string[]) =>
  json(await get(at, `/tasks?task_ids=${ids.join(',')}`));
const recordOf = async (at: Sandbox, id: string) => (await byIds(at, id)).data[0];
const finished = async (at: Sandbox, body?: unknown, path?: string) =>
  recordOf(at, await createdId(at, body, path));

describe('a create of family B', () => {
  it.each(betaCreates.map((endpoint) => [endpoint.name, endpoint] as const))(
    'is taken at %s',
    async (_, endpoint) => {
      const clock = handClock();
      const at = await sandbox({ now: clock.now });
      const body =
        endpoint.path === o1.path
          ? { contents: [{ type: 'prompt', text: 'a fox' }], settings: { aspect_ratio: '1:1' } }
          : betaBody('a fox');
      const answer = await post(at, endpoint.path, body);
      expect([answer.status, json(answer)]).toEqual([
        200,
        {
          code: 0,
          message: expect.any(String),
          request_id: hex,
          data: {
            id: expect.stringMatching(/^vb-/),
            status: 'submitted',
            create_time: clock.nowMs,
            update_time: clock.nowMs,
          },
        },
      ]);
      expect(at.tasks()).toMatchObject([{ model: endpoint.variant.model }]);
    },
  );

  it('repeats the external ID', async () => {
    const at = await sandbox(fast);
    const answer = json(await post(at, text.path, betaBody('a fox', { external_task_id: 'mine-1' })));
    expect(answer.data.external_id).toBe('mine-1');
    expect(await recordOf(at, answer.data.id)).toMatchObject({ external_id: 'mine-1' });
  });

  it.each<[string, string, unknown, RegExp]>([
    ['a length out of range', text.path, { prompt: 'x', settings: { duration: 16 } }, /settings\.duration/],
    ['a list where an object belongs', motion.path, [], /body/],
    [
      'an external ID that cannot be asked for',
      motion.path,
      { options: { external_task_id: 'a,b' } },
      /options\.external_task_id/,
    ],
  ])('with %s is refused with 400 and a code', async (_, path, body, why) => {
    const at = await sandbox({ ...fast, strict: true });
    const answer = await post(at, path, body);
    expect([answer.status, json(answer)]).toEqual([
      400,
      {
        code: 1201,
        message: expect.stringMatching(why),
        request_id: hex,
        error: { message: json(answer).message, type: 'invalid_request_error', code: 'InvalidParameter' },
      },
    ]);
    expect(at.tasks()).toEqual([]);
  });

  it('takes any object where the document shows no body', async () => {
    const at = await sandbox(fast);
    for (const body of [
      {},
      { anything: { at: ['all'] } },
      { image: 'https://example.com/a.png', prompt: 'x' },
    ]) {
      expect(json(await post(at, image.path, body)).code).toBe(0);
    }
  });

  it('checks Base64 images of O1, with and without the head of a data URI, and follows a first frame', async () => {
    const at = await sandbox(fast);
    const o1Body = (url: string, aspect_ratio?: string) => ({
      contents: [
        { type: 'prompt', text: 'a fox' },
        { type: 'first_frame', url },
      ],
      settings: { duration: 5, ...(aspect_ratio && { aspect_ratio }) },
    });
    const small = await pngUri(200, 200);
    for (const url of [small, small.slice(small.indexOf(',') + 1)]) {
      const answer = json(await post(at, o1.path, o1Body(url)));
      expect(answer).toMatchObject({
        code: 1201,
        message: expect.stringMatching(/contents\[1\]\.url.*at least 300/),
      });
    }
    expect((await finished(at, o1Body(await pngUri(300, 500)), o1.path)).outputs[0].type).toBe('video');
  });

  it('is let in and refused by the gateway as everywhere', async () => {
    const at = await sandbox({ faults: parseFaults('create:503:x1') });
    expect((await post(at, text.path, betaBody('x'))).status).toBe(503);
    const unkeyed = await ask(`${at.baseUrl}${text.path}`, { method: 'POST', body: '{}' });
    expect([unkeyed.status, json(unkeyed).error.code]).toEqual([401, 'MissingApiKey']);
  });
});

describe('an external ID', () => {
  const own = betaBody('a fox', { external_task_id: 'gw-0123' });

  it('is taken once: the second create is refused with 400 and a code of its own', async () => {
    const at = await sandbox(fast);
    const id = await createdId(at, own);
    const second = await post(at, image.path, own);
    expect(second.status).toBe(400);
    expect(json(second)).toMatchObject({ code: 1204, message: expect.stringContaining('gw-0123') });
    const { code, message } = json(second);
    expect(betaFamily.externalIds?.isDuplicate({ code: String(code), message })).toBe(true);
    expect(json(await get(at, '/tasks?external_task_ids=gw-0123')).data).toMatchObject([{ id }]);
    expect(at.tasks()).toHaveLength(1);
  });

  it('is refused with status 200 and the code alone where the fault asks for it', async () => {
    const at = await sandbox({ ...fast, faults: parseFaults('create:code-only,query:code-only') });
    await createdId(at, own);
    const second = await post(at, text.path, own);
    expect([second.status, json(second).code]).toEqual([200, 1204]);
    const neither = await get(at, '/tasks');
    expect([neither.status, json(neither).code]).toEqual([200, 1201]);
  });

  it('finds a create whose answer was lost, and that one only', async () => {
    const at = await sandbox({
      ...fast,
      faults: parseFaults('create:reset-before:x1,create:reset-after:x1'),
    });
    const found = async () => json(await get(at, '/tasks?external_task_ids=gw-0123')).data;
    await expect(post(at, text.path, own)).rejects.toThrow();
    expect(await found()).toEqual([]);
    await expect(post(at, text.path, own)).rejects.toThrow();
    expect(await found()).toMatchObject([{ external_id: 'gw-0123' }]);
    expect(json(await post(at, text.path, own)).code).toBe(1204);
    expect(at.tasks()).toHaveLength(1);
  });

  it('is unique among servers on one state directory, however close the creates', async () => {
    const stateDir = await newStateDir();
    const servers = [await sandbox({ stateDir, ...fast }), await sandbox({ stateDir, ...fast })];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, nth) => {
        const at = servers[nth % 2] as Sandbox;
        return post(
          at,
          text.path,
          betaBody('a fox', { external_task_id: `Row ${'é/'.repeat(90)}${nth >> 2}`.replaceAll(' ', '-') }),
        );
      }),
    );
    expect(answers.filter((answer) => json(answer).code === 0)).toHaveLength(10);
    expect(answers.filter((answer) => json(answer).code === 1204)).toHaveLength(30);
    expect(servers[1]?.tasks()).toHaveLength(10);
  });

  it('may be used again when its task has outlived its time', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...fast });
    const first = await createdId(at, own);
    clock.pass(60 * DAY_MS);
    expect((await byIds(at, first)).data).toEqual([]);
    expect(await createdId(at, own)).not.toBe(first);
  });

  it('finds a task whose server died between the claim and the task', async () => {
    const stateDir = await newStateDir();
    const at = await sandbox({ stateDir, ...fast });
    const id = await createdId(at, own);
    await rm(join(stateDir, 'tasks', `${id}.json`));
    expect((await byIds(at, id)).data).toEqual([]);
    expect(json(await get(at, '/tasks?external_task_ids=gw-0123')).data).toMatchObject([{ id }]);
    expect((await byIds(at, id)).data).toHaveLength(1);
    await rm(join(stateDir, 'tasks', `${id}.json`));
    expect(json(await post(at, text.path, own)).code).toBe(1204);
    expect(at.tasks()).toMatchObject([{ id }]);
  });
});

describe('the query by ID', () => {
  it('wants exactly one kind of ID', async () => {
    const at = await sandbox(fast);
    for (const query of ['', '?task_ids=', '?task_ids=a&external_task_ids=b', '?ids=a']) {
      const answer = await get(at, `/tasks${query}`);
      expect([query, answer.status, json(answer).code]).toEqual([query, 400, 1201]);
    }
  });

  it('answers many at once, in their order, once each, and leaves out what it does not know', async () => {
    const at = await sandbox(fast);
    const [a, b] = [await createdId(at), await createdId(at)];
    const alpha = json(
      await post(at, '/api/v3/contents/generations/tasks', {
        model: 'alpha-video-2-0-260128',
        content: [{ type: 'text', text: 'x' }],
      }),
    ).id;
    const { code, data } = await byIds(at, b, 'nope', a, b, alpha, '..%2Fsecret');
    expect(code).toBe(0);
    expect(data.map(({ id }: { id: string }) => id)).toEqual([b, a]);
    expect((await byIds(at, 'nope')).data).toEqual([]);
  });

  it('shows a task from submitted to succeeded, now and then without processing', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const ids: string[] = [];
    for (let nth = 0; nth < 80; nth++) ids.push(await createdId(at));
    expect((await byIds(at, ...ids)).data[0]).toEqual({
      id: ids[0],
      status: 'submitted',
      create_time: clock.nowMs,
      update_time: clock.nowMs,
      message: '',
    });
    clock.pass(20_000);
    const inMiddle = (await byIds(at, ...ids)).data.map(({ status }: { status: string }) => status);
    expect(new Set(inMiddle)).toEqual(new Set(['processing', 'submitted']));
    clock.pass(100_000);
    const ends = (await byIds(at, ...ids)).data.map(({ status }: { status: string }) => status);
    expect(new Set(ends)).toEqual(new Set(['succeeded']));
  });

  it('says why a task failed', async () => {
    const at = await sandbox({ ...fast, faults: parseFaults('task:fail=NoLuck:x1') });
    const record = await finished(at);
    expect(record).toMatchObject({ status: 'failed', message: expect.stringContaining('NoLuck') });
    expect(record).not.toHaveProperty('outputs');
    expect(record).not.toHaveProperty('billing');
    expect(await finished(at, betaBody('sensitive-output'))).toMatchObject({ status: 'failed' });
  });
});

describe('what a task of family B makes', () => {
  const link = (id: string, file: string) => expect.stringMatching(`/outputs/${id}/${file}\\?expires=`);

  it('is a video of 5 s, with a watermarked one where it was asked for', async () => {
    const at = await sandbox(fast);
    const plain = await finished(at);
    expect(plain.outputs).toEqual([
      { type: 'video', id: expect.any(String), url: link(plain.id, 'video.mp4'), duration: '5' },
    ]);
    const gone = plain.outputs[0].url.replace('video.mp4', 'video-watermarked.mp4');
    expect((await ask(gone)).status).toBe(403);
    const marked = await finished(at, betaBody('a fox', { watermark_info: { enabled: true } }));
    expect(marked.outputs[0]).toMatchObject({ watermark_url: link(marked.id, 'video-watermarked.mp4') });
    const [clean, dirty] = [await ask(marked.outputs[0].url), await ask(marked.outputs[0].watermark_url)];
    expect([clean.status, dirty.status]).toEqual([200, 200]);
    expect(clean.headers.etag).not.toBe(dirty.headers.etag);
  });

  it('is what the prompt names, in its order', async () => {
    const at = await sandbox(fast);
    const body = { prompt: 'output-element, output-audio; output-voice and output-image' };
    const { id, outputs } = await finished(at, body, motion.path);
    expect(outputs).toEqual([
      {
        type: 'element',
        id: expect.any(String),
        name: expect.any(String),
        description: body.prompt,
        element_type: 'multi_image',
        references: [{ type: 'image', role: 'frontal', url: link(id, 'element.png') }],
        owned_by: 'sandbox',
        status: 'succeeded',
        tags: [{ id: expect.any(String), name: expect.any(String), description: expect.any(String) }],
      },
      {
        type: 'audio',
        id: expect.any(String),
        mp3_url: link(id, 'audio.mp3'),
        wav_url: link(id, 'audio.wav'),
        mp3_duration: '5.016',
        wav_duration: '5',
      },
      {
        type: 'voice',
        id: expect.any(String),
        name: expect.any(String),
        url: link(id, 'voice.mp3'),
        owned_by: 'sandbox',
        status: 'succeeded',
      },
      { type: 'image', url: link(id, 'image.png'), group_id: expect.any(String) },
    ]);
    expect((await ask(outputs[0].references[0].url)).headers['content-type']).toBe('image/png');
    expect((await ask(outputs[3].url)).headers['content-type']).toBe('image/png');
    expect(betaFamily.readTask(await recordOf(at, id), id).outputs.map(({ role }) => role)).toEqual([
      'mp3',
      'wav',
      'voice',
      'image',
    ]);
  });

  it('may be fetched without a limit for 30 days', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...fast });
    const { url } = (await finished(at, betaBody('output-image'))).outputs[0];
    for (let nth = 0; nth < 102; nth++) expect((await ask(url)).status).toBe(200);
    clock.pass(30 * DAY_MS - 1000);
    expect((await ask(url)).status).toBe(200);
    clock.pass(1000);
    expect((await ask(url)).status).toBe(403);
  });

  it('is paid for by credit, by test credit and by packages', async () => {
    const at = await sandbox(fast);
    const found = new Set<string>();
    for (let nth = 0; nth < 80; nth++) {
      for (const item of (await finished(at)).billing) {
        found.add(`${item.charge_type} ${item.cash_type ?? item.package_type}`);
        expect(item.amount).toBeGreaterThan(0);
        if (item.charge_type === 'cash') {
          expect(item).toMatchObject({ currency: 'CNY' });
          expect(item.list_price).toBeGreaterThan(item.amount);
        }
      }
    }
    expect([...found].sort()).toEqual(['cash balance', 'cash test_balance', 'unit video']);
  });

  it('has the asked length, also where the prompt names it a video', async () => {
    const at = await sandbox(fast);
    const settings = { resolution: '1080p', aspect_ratio: '9:16', duration: 3, audio: 'native' };
    const { outputs } = await finished(at, { prompt: 'output-video', settings });
    expect(outputs[0].duration).toBe('3');
  });
});

describe('outputs of family B, as ffprobe sees them', { tags: ['ffmpeg'] }, () => {
  it('are whole and of their length', async () => {
    const folder = newDir();
    const at = await sandbox(fast);
    const settings = { resolution: '720p', aspect_ratio: '1:1', duration: 4, audio: 'native' };
    const prompt = 'output-video output-audio output-image';
    const [film, sound, picture] = (await finished(at, { prompt, settings })).outputs;
    const saved = async (url: string) => {
      const path = join(folder, new URL(url).pathname.replaceAll('/', '-'));
      await writeFile(path, (await ask(url)).bytes);
      expect(await decode(path)).toBe('');
      return probe(path);
    };
    const video = await saved(film.url);
    expect(video.streams).toMatchObject([
      { codec_name: 'h264', width: 720, height: 720, nb_frames: '96' },
      { codec_name: 'aac' },
    ]);
    const mp3 = await saved(sound.mp3_url);
    expect(mp3.streams).toMatchObject([{ codec_name: 'mp3', sample_rate: '48000', channels: 1 }]);
    expect(Number(mp3.format.duration)).toBeCloseTo(Number(sound.mp3_duration), 1);
    const wav = await saved(sound.wav_url);
    expect(wav.streams).toMatchObject([{ codec_name: 'pcm_s16le', sample_rate: '24000' }]);
    expect(Number(wav.format.duration)).toBe(4);
    expect((await saved(picture.url)).streams).toMatchObject([
      { codec_name: 'png', width: 720, height: 720 },
    ]);
  });
});

describe('the cursor query', () => {
  async function withTasks(count: number) {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...fast });
    const ids: string[] = [];
    for (let nth = 0; nth < count; nth++) {
      ids.unshift(await createdId(at, betaBody(nth % 3 === 0 ? 'output-image' : 'a fox')));
      if (nth % 2) clock.pass(1000);
    }
    const page = async (body: Record<string, unknown> = {}) => json(await post(at, '/tasks', body));
    const idsOf = ({ data }: { data: { result: { id: string }[] } }) => data.result.map(({ id }) => id);
    return { at, clock, ids, page, idsOf };
  }

  it('gives pages that hold every task once, also while others come in', async () => {
    const { at, clock, ids, page, idsOf } = await withTasks(11);
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let rounds = 0; rounds < 10; rounds++) {
      const { code, data } = await page({
        limit: 3,
        ...(cursor && { cursor, start_time: '1', end_time: '2' }),
      });
      expect(code).toBe(0);
      expect(data.count).toBe(data.result.length);
      seen.push(...idsOf({ data }));
      clock.pass(10);
      await createdId(at);
      expect(data.has_more).toBe(data.next_cursor !== undefined);
      if (!data.has_more) break;
      cursor = data.next_cursor;
    }
    expect(seen.slice().sort()).toEqual(ids.slice().sort());
    const times = await Promise.all(seen.map(async (id) => (await recordOf(at, id)).create_time));
    expect(times).toEqual(times.slice().sort((a, b) => b - a));
  });

  it('filters by status and product, and by both', async () => {
    const { at, page, idsOf } = await withTasks(6);
    const withFilters = async (...filters: unknown[]) => idsOf(await page({ filters })).length;
    expect(await withFilters({ key: 'status', values: ['succeeded'] })).toBe(6);
    expect(await withFilters({ key: 'status', values: ['submitted', 'failed'] })).toBe(0);
    expect(await withFilters({ key: 'product_type', values: ['image'] })).toBe(2);
    expect(await withFilters({ key: 'product_type', values: ['image', 'video'] })).toBe(6);
    expect(await withFilters({ key: 'product_type', values: ['try_on'] })).toBe(0);
    const both = [
      { key: 'status', values: ['failed'] },
      { key: 'product_type', values: ['image'] },
    ];
    expect(await withFilters(...both)).toBe(0);
    expect(at.tasks()).toHaveLength(6);
  });

  it('keeps to its time range, by default the last 30 days', async () => {
    const { at, clock, ids, page, idsOf } = await withTasks(4);
    const first = (await recordOf(at, ids.at(-1) ?? '')).create_time;
    expect(idsOf(await page({ end_time: String(first) }))).toHaveLength(2);
    expect(idsOf(await page({ start_time: String(first + 1), end_time: String(first + 1000) }))).toHaveLength(
      2,
    );
    clock.pass(30 * DAY_MS - 2000);
    expect(idsOf(await page())).toHaveLength(4);
    clock.pass(1);
    expect(idsOf(await page())).toHaveLength(2);
    expect(idsOf(await page({ start_time: String(first) }))).toHaveLength(4);
  });

  it.each<[string, Record<string, unknown>]>([
    ['a cursor that is none', { cursor: 'nope' }],
    ['a cursor of another kind', { cursor: Buffer.from('null').toString('base64url') }],
  ])('refuses %s', async (_, body) => {
    const answer = await post(await sandbox(fast), '/tasks', body);
    expect([answer.status, json(answer).code]).toEqual([400, 1201]);
  });

  it('is empty where there is nothing', async () => {
    expect(json(await post(await sandbox(fast), '/tasks', {})).data).toEqual({
      result: [],
      count: 0,
      has_more: false,
    });
  });
});
