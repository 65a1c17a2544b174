import { describe, expect, it } from 'vitest';
import {
  type Answer,
  ask,
  bodyOf,
  create,
  createdId,
  handClock,
  json,
  models,
  query,
  sandbox,
} from './fixture.ts';

const fast = { speed: Number.POSITIVE_INFINITY };
const fourK = bodyOf({ model: models.standard, resolution: '4k' });
const rateLimited = (answer: Answer) =>
  answer.status === 429 && json(answer).error.code === 'RateLimitExceeded';

describe('requests a minute', () => {
  it.each([
    ['personal', 180],
    ['enterprise', 600],
  ] as const)('a %s account has %d, in any 60 s', async (account, most) => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, account });
    clock.pass(50_000);
    for (let nth = 0; nth < most; nth++) {
      if (nth === most / 2) clock.pass(20_000);
      expect((await query(at, 'nope')).status).toBe(404);
    }
    const answer = await create(at);
    expect(rateLimited(answer)).toBe(true);
    expect(json(answer).error.message).toContain(`${most} requests a minute`);
    expect(answer.headers['retry-after']).toBe('40');
    clock.pass(39_000);
    const later = await query(at, 'nope');
    expect([later.status, later.headers['retry-after']]).toEqual([429, '1']);
    clock.pass(1_000);
    // The first half has left the window, and the refused requests in between do not count.
    for (let nth = 0; nth < most / 2; nth++) expect((await query(at, 'nope')).status).toBe(404);
    expect(rateLimited(await query(at, 'nope'))).toBe(true);
  });

  it('counts creates of standard 2.0 in 4k by themselves: 15, on both accounts', async () => {
    for (const account of ['personal', 'enterprise'] as const) {
      const clock = handClock();
      const at = await sandbox({ now: clock.now, account, ...fast });
      for (let nth = 0; nth < 15; nth++) expect((await create(at, fourK)).status).toBe(200);
      const answer = await create(at, fourK);
      expect(rateLimited(answer)).toBe(true);
      expect(answer.headers['retry-after']).toBe('60');
      expect((await create(at)).status).toBe(200);
    }
  });

  it('lets a minute last a second at speed 60', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, account: 'personal', speed: 60 });
    for (let nth = 0; nth < 180; nth++) expect((await query(at, 'nope')).status).toBe(404);
    const answer = await query(at, 'nope');
    expect([rateLimited(answer), answer.headers['retry-after']]).toEqual([true, '1']);
    clock.pass(1_000);
    expect((await query(at, 'nope')).status).toBe(404);
  });

  it('does not count requests without the key, nor those to other paths', async () => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, account: 'personal' });
    for (let nth = 0; nth < 190; nth++)
      await ask(`${at.baseUrl}${nth % 2 ? '/nowhere' : '/api/v3/contents/generations/tasks/x'}`);
    expect((await query(at, 'nope')).status).toBe(404);
  });
});

describe('tasks at once', () => {
  it.each([
    ['personal', 3],
    ['enterprise', 10],
  ] as const)('a %s account runs %d', async (account, most) => {
    const clock = handClock();
    const at = await sandbox({ now: clock.now, account });
    const answers = await Promise.all(Array.from({ length: most + 2 }, () => create(at)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(most);
    const refused = answers.find((answer) => answer.status === 429);
    expect(refused && json(refused).error).toMatchObject({
      code: 'ConcurrencyLimitExceeded',
      type: 'rate_limit_error',
    });
    expect(refused?.headers).not.toHaveProperty('retry-after');
    expect(at.tasks()).toHaveLength(most);
    clock.pass(90_000);
    expect((await create(at)).status).toBe(200);
  });

  it('runs one in 4k beside the others', async () => {
    const at = await sandbox({ account: 'personal' });
    for (let nth = 0; nth < 3; nth++) await createdId(at);
    await createdId(at, fourK);
    const answer = await create(at, fourK);
    expect([answer.status, json(answer).error.code]).toEqual([429, 'ConcurrencyLimitExceeded']);
    expect(json(answer).error.message).toContain('4k');
  });
});
