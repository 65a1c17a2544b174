import { describe, expect, it } from 'vitest';
import {
  bodyOf,
  create,
  createdId,
  finished,
  handClock,
  image,
  json,
  models,
  pngUri,
  query,
  sandbox,
  text,
  video,
} from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY };
const DAY_MS = 86_400_000;

describe('a task over time', () => {
  it('is accepted with the documented reply', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const answer = await create(at);
    const reply = json(answer);
    expect(answer.status).toBe(200);
    expect(reply).toEqual({
      id: expect.stringMatching(/^vt-20261120120000-[0-9a-f]{20}$/),
      task_id: reply.id,
      object: 'video',
      model: models.standard,
      status: 'queued',
      progress: 0,
      created_at: clock.nowMs / 1000,
    });
  });

  it('goes queued, running, succeeded within 60-90 s for 5 s at 720p, and says since when', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const createdS = clock.nowMs / 1000;
    const id = await createdId(at);
    const seen: [string, number][] = [];
    for (let second = 0; second <= 90; second++) {
      const record = json(await query(at, id));
      if (record.status !== seen.at(-1)?.[0]) seen.push([record.status, second]);
      expect(record.created_at).toBe(createdS);
      expect(Math.abs(record.updated_at - createdS - (seen.at(-1)?.[1] ?? 0))).toBeLessThanOrEqual(1);
      if (record.status !== 'succeeded') {
        expect(Object.keys(record).sort()).toEqual([
          'created_at',
          'draft',
          'execution_expires_after',
          'id',
          'model',
          'priority',
          'service_tier',
          'status',
          'updated_at',
        ]);
      }
      clock.pass(1000);
    }
    expect(seen.map(([status]) => status)).toEqual(['queued', 'running', 'succeeded']);
    expect(seen[2]?.[1]).toBeGreaterThanOrEqual(60);
    expect(seen[2]?.[1]).toBeLessThanOrEqual(90);
  });

  it.each([
    [{ speed: 10 }, 6_000, 9_000],
    [{ speed: 1e9, minTaskMs: 500 }, 499, 501],
    [{ speed: 1, minTaskMs: 500 }, 60_000, 90_000],
  ])('%o: ends after %d-%d ms', async (options, leastMs, mostMs) => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...options });
    const id = await createdId(at);
    clock.pass(leastMs - 1);
    expect(json(await query(at, id)).status).not.toBe('succeeded');
    clock.pass(mostMs - leastMs + 2);
    expect(json(await query(at, id)).status).toBe('succeeded');
  });

  it('ends with the documented record', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...fast });
    const record = await finished(
      at,
      bodyOf({
        resolution: '1080p',
        ratio: '9:16',
        duration: 8,
        generate_audio: true,
        return_last_frame: true,
      }),
    );
    const link = (file: string) =>
      expect.stringMatching(
        new RegExp(`^${at.outputUrl}/outputs/${record.id}/${file}\\?expires=\\d+&signature=[0-9a-f]{64}$`),
      );
    expect(record).toEqual({
      id: record.id,
      model: models.standard,
      status: 'succeeded',
      created_at: clock.nowMs / 1000,
      updated_at: clock.nowMs / 1000,
      content: { video_url: link('video\\.mp4'), last_frame_url: link('last-frame\\.png') },
      duration: 8,
      ratio: '9:16',
      resolution: '1080p',
      output_format: 'mp4',
      framespersecond: 24,
      generate_audio: true,
      seed: expect.any(Number),
      usage: {
        completion_tokens: (1080 * 1920 * 24 * 8) / 1024,
        total_tokens: (1080 * 1920 * 24 * 8) / 1024,
      },
      execution_expires_after: 172_800,
      service_tier: 'default',
      priority: 0,
      draft: false,
    });
    expect(Number.isInteger(record.seed)).toBe(true);
    expect(json(await query(at, record.id))).toEqual(record);
  });

  it('fills in what was left out, without audio and last frame', async () => {
    const record = await finished(await sandbox(fast));
    expect(record).toMatchObject({
      duration: 5,
      ratio: '16:9',
      resolution: '720p',
      output_format: 'mp4',
      generate_audio: false,
    });
    expect(Object.keys(record.content)).toEqual(['video_url']);
    expect(record.usage).not.toHaveProperty('tool_usage');
  });

  it('counts searches only where they were asked for', async () => {
    const record = await finished(await sandbox(fast), bodyOf({ tools: [{ type: 'web_search' }] }));
    expect(record.usage.tool_usage.web_search).toBeGreaterThan(0);
  });

  it('makes a mov on request', async () => {
    const record = await finished(
      await sandbox(fast),
      bodyOf({ model: models['2.5'], output_format: 'mov' }),
    );
    expect(record.output_format).toBe('mov');
    expect(new URL(record.content.video_url).pathname).toMatch(/\/video\.mov$/);
  });

  it('turns duration -1 into a whole number of seconds within the range', async () => {
    const at = await sandbox({ ...fast });
    const lengths = new Set<number>();
    for (let nth = 0; nth < 8; nth++) {
      const record = await finished(at, bodyOf({ model: models['2.5'], duration: -1 }));
      lengths.add(record.duration);
    }
    for (const length of lengths) expect([4, 5, 6, 7, 8, 9, 10, 11, 12]).toContain(length);
    expect(lengths.size).toBeGreaterThan(1);
  });

  it.each<[string, () => Promise<string>, string]>([
    ['a tall image', () => pngUri(600, 800), '3:4'],
    ['a square image', () => pngUri(500, 510), '1:1'],
    ['a panorama', () => pngUri(1000, 420), '21:9'],
    ['an address, which is not fetched', async () => 'https://example.com/a.png', '16:9'],
  ])('resolves adaptive by %s', async (_, url, ratio) => {
    const body = bodyOf({
      model: models['2.5'],
      ratio: 'adaptive',
      content: [text('x'), image('first_frame', await url())],
    });
    expect((await finished(await sandbox(fast), body)).ratio).toBe(ratio);
  });

  it('is gone after 7 days', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, ...fast });
    const id = await createdId(at);
    clock.pass(7 * DAY_MS - 1);
    expect((await query(at, id)).status).toBe(200);
    clock.pass(1);
    const answer = await query(at, id);
    expect([answer.status, json(answer).error.code]).toEqual([404, 'ResourceNotFound']);
    await createdId(at);
    expect(at.tasks()).toHaveLength(1);
  });

  it.each(['nope', 'vt-1', '..%2F..%2Fsecret', '%2e%2e', 'a'.repeat(300)])('is unknown as %s', async (id) => {
    const at = await sandbox();
    const answer = await query(at, id);
    expect(answer.status).toBe(404);
    expect(json(answer).error.message).toEqual(expect.any(String));
  });
});

describe('a task that fails', () => {
  const v25 = (prompt: string, over: Record<string, unknown> = {}) =>
    bodyOf({ model: models['2.5'], content: [text(prompt), video()], ...over });
  const adaptive = { ratio: 'adaptive' };

  it('runs first, then shows the six fields of a failed record', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now });
    const id = await createdId(at, bodyOf({ content: [text('sensitive-output please')] }));
    clock.pass(20_000);
    expect(json(await query(at, id)).status).toBe('running');
    clock.pass(70_000);
    const record = json(await query(at, id));
    expect(record).toEqual({
      id,
      model: models.standard,
      status: 'failed',
      error: { code: 'OutputVideoSensitiveContentDetected', message: expect.any(String) },
      created_at: handClock().nowMs / 1000,
      updated_at: expect.any(Number),
    });
    expect(record.updated_at).toBeGreaterThan(record.created_at + 55);
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['edit in 16:9', v25('Edit video 1: make it night', { ratio: '16:9', duration: -1 }), true],
    ['edit without a ratio', v25('edit video 1', { duration: -1 }), true],
    ['edit of 8 s', v25('edit video 1', { ...adaptive, duration: 8 }), true],
    ['replace without a duration', v25('replace the cat in video 1', adaptive), true],
    [
      'replacing, auto',
      v25('replacing the cat', { ...adaptive, duration: 6, omni_reference_task_type: 'auto' }),
      true,
    ],
    ['extend in 4:3', v25('extend video 1', { ratio: '4:3' }), true],
    ['edit as it should be', v25('edit video 1', { ...adaptive, duration: -1 }), false],
    ['extend as it should be', v25('extend video 1 by a second', { ...adaptive, duration: 6 }), false],
    ['a reference', v25('a fox as in video 1', { ratio: '4:3' }), false],
    [
      'the type said',
      v25('edit-like motion as in video 1', { ratio: '4:3', omni_reference_task_type: 'reference' }),
      false,
    ],
    ['no video', bodyOf({ model: models['2.5'], content: [text('edit this')] }), false],
    ['2.0', bodyOf({ content: [text('edit video 1'), video()] }), false],
  ])('on the task type of 2.5: %s', async (_, body, fails) => {
    const record = await finished(await sandbox(fast), body);
    expect(record.status).toBe(fails ? 'failed' : 'succeeded');
    if (fails) expect(record.error.code).toBe('InvalidParameter.TaskTypeConstraint');
  });
});
