import { describe, expect, test } from 'vitest';
import { betaCreateText } from '../../src/gateway/beta/create.ts';
import { betaFamily, betaRefusal, betaReplyWarning, betaTasks } from '../../src/gateway/beta/task.ts';

// Literal replies of family B: those that the document allows, and those that it does not allow.

const created = {
  code: 0,
  message: 'success',
  request_id: 'req-1',
  data: {
    id: 'task-1',
    status: 'submitted',
    create_time: 1795211159000,
    update_time: 1795211159000,
    external_id: 'gw-1',
  },
};

describe('the reply to a create', () => {
  const reads = (reply: unknown) => betaCreateText.reply.safeParse(reply).success;

  test('as documented', () => {
    expect(reads(created)).toBe(true);
    expect(betaRefusal(created)).toBeUndefined();
    expect(betaReplyWarning(created)).toBeUndefined();
    expect(betaFamily.readCreateReply(created)).toEqual({ id: 'task-1', status: 'submitted' });
  });

  test.each<[string, unknown]>([
    ['5', { code: 5, message: 'no', request_id: 'r' }],
    ['"5"', { code: '5', message: 'no', request_id: 'r' }],
    ['a word', { code: 'InvalidParameter', message: 'no', request_id: 'r' }],
    ['-1, with data', { code: -1, message: 'no', request_id: 'r', data: null }],
  ])('the code %s is a refusal', (_, reply) => {
    expect(reads(reply)).toBe(true);
    const { code } = reply as { code: unknown };
    expect(betaRefusal(reply)).toEqual({ message: 'no', code: String(code), requestId: 'r' });
  });

  test.each<[string, unknown]>([
    ['"0"', { ...created, code: '0' }],
    ['missing', { ...created, code: undefined }],
    ['null', { ...created, code: null }],
    ['empty', { ...created, code: '' }],
  ])('the code %s with a task is taken for a success, and said', (_, reply) => {
    expect(reads(reply)).toBe(true);
    expect(betaRefusal(reply)).toBeUndefined();
    expect(betaReplyWarning(reply)).toMatch(/it is taken for/);
  });

  // None of these replies says whether a task was made: gw must look for the task and never send the create again on a guess.
  test.each<[string, unknown]>([
    ['no data', { code: 0 }],
    ['no ID', { code: 0, data: {} }],
    ['an ID that is a number', { code: 0, data: { id: 17 } }],
    ['an ID that is a path', { code: 0, data: { id: '../x' } }],
    ['an ID of 10 KB', { code: 0, data: { id: 'x'.repeat(10_240) } }],
    ['neither code nor task', {}],
    ['null', null],
    ['a list', []],
    ['a text', 'ok'],
  ])('%s cannot be read', (_, reply) => {
    expect(reads(reply)).toBe(false);
    expect(betaFamily.readCreateReply(reply)).toBeUndefined();
  });
});

describe('a task record', () => {
  const url = (name: string) => `https://example.com/${name}?signature=1`;
  const read = (record: object) => betaFamily.readTask({ id: 't', ...record }, 't');
  const done = (...outputs: unknown[]) => ({ status: 'succeeded', outputs });
  const rolesOf = (record: object) => read(record).outputs.map(({ role, type }) => `${role}:${type}`);

  test('as documented on success', () => {
    const record = {
      id: 'task-1',
      status: 'succeeded',
      message: '',
      create_time: 1795211159000,
      update_time: 1795211259000,
      external_id: 'gw-1',
      outputs: [
        { type: 'video', id: 'v-1', url: url('v.mp4'), watermark_url: url('w.mp4'), duration: '5.1' },
      ],
      billing: [
        { charge_type: 'cash', cash_type: 'balance', amount: '1.25', currency: 'USD', list_price: '1.50' },
        { charge_type: 'cash', cash_type: 'test_balance', amount: 3, currency: 'CNY', list_price: 4 },
        { charge_type: 'unit', amount: 20, package_type: 'video' },
      ],
    };
    expect(betaFamily.readTask(record, 'task-1')).toEqual({
      id: 'task-1',
      status: 'succeeded',
      state: 'succeeded',
      statusKnown: true,
      outputs: [
        { id: 'v-1', role: 'video', type: 'video', url: url('v.mp4') },
        { id: 'v-1 watermark', role: 'watermarked', type: 'video', url: url('w.mp4') },
      ],
      made: { duration: 5.1 },
      usage: {
        outputS: 5.1,
        charges: [
          { amount: 1.25, unit: 'USD' },
          { amount: 3, unit: 'CNY', isTest: true },
          { amount: 20, unit: 'video points' },
        ],
      },
    });
  });

  test.each<[string, object, object]>([
    ['submitted', { status: 'submitted' }, { state: 'running', statusKnown: true, outputs: [] }],
    ['processing', { status: 'processing' }, { state: 'running', statusKnown: true }],
    ['failed', { status: 'failed', message: 'no' }, { state: 'failed', error: { message: 'no' } }],
    ['failed without a reason', { status: 'failed' }, { state: 'failed', error: { message: undefined } }],
    ['SUCCEEDED', { status: 'SUCCEEDED' }, { state: 'succeeded', status: 'succeeded' }],
    ['weird', { status: 'weird' }, { state: 'running', statusKnown: false }],
    ['no status', {}, { state: 'running', statusKnown: false }],
    ['a message that is no reason', { status: 'succeeded', message: 'ok' }, { error: undefined }],
    ['outputs null', { status: 'succeeded', outputs: null }, { outputs: [], usage: {} }],
    ['outputs a text', { status: 'succeeded', outputs: 'x', billing: 'y' }, { outputs: [] }],
    [
      'charges that say no amount or no currency',
      { billing: [{ charge_type: 'cash', amount: 'free', currency: 'CNY' }, { amount: 2 }, 'x'] },
      { usage: { unreadCharges: 3 } },
    ],
    [
      'a refund',
      {
        billing: [
          { amount: '-1.5', currency: 'CNY' },
          { amount: -2, charge_type: 'unit' },
          { amount: '--1' },
        ],
      },
      {
        usage: {
          charges: [
            { amount: -1.5, unit: 'CNY' },
            { amount: -2, unit: 'points' },
          ],
          unreadCharges: 1,
        },
      },
    ],
  ])('%s', (_, record, wanted) => {
    expect(read(record)).toMatchObject(wanted);
  });

  test.each<[string, object, string[]]>([
    ['image', done({ type: 'image', url: url('i'), group_id: 'g' }), ['image:image']],
    [
      'images, marked',
      done(
        { type: 'image', url: url('1'), watermark_url: url('1w') },
        { type: 'image', url: url('2'), watermark_url: url('2w') },
      ),
      ['image:image', 'watermarked:image', 'image-2:image', 'image-2-watermarked:image'],
    ],
    [
      'audio',
      done({
        type: 'audio',
        id: 'a',
        mp3_url: url('m'),
        wav_url: url('w'),
        mp3_duration: '5.0',
        wav_duration: '5.0',
      }),
      ['mp3:audio', 'wav:audio'],
    ],
    ['audio as wav alone', done({ type: 'audio', wav_url: url('w') }), ['wav:audio']],
    [
      'voice',
      done({ type: 'voice', id: 'v', name: 'n', url: url('v'), owned_by: 'me', status: 'ok' }),
      ['voice:audio'],
    ],
    [
      'an image beside a video',
      done({ type: 'video', url: url('v') }, { type: 'image', url: url('i') }),
      ['video:video', 'image-1:image'],
    ],
    ['a video without an address', done({ type: 'video', url: '' }), []],
    ['an unknown type', done({ type: 'hologram', url: url('h') }), ['hologram:any']],
    ['an unknown type without a link', done({ type: 'hologram', url: 'h' }), []],
    ['no type', done({ url: url('h') }), ['output:any']],
    [
      'an image beside a video, marked',
      done({ type: 'video', url: url('v') }, { type: 'image', url: url('i'), watermark_url: url('w') }),
      ['video:video', 'image-1:image', 'image-1-watermarked:image'],
    ],
    ['an item that is no object', done(null, 5, { type: 'video', url: url('v') }), ['video:video']],
  ])('outputs: %s', (_, record, roles) => {
    expect(rolesOf(record)).toEqual(roles);
  });

  test('an element has no file and is complete all the same', () => {
    const element = {
      type: 'element',
      id: 'e',
      name: 'fox',
      element_type: 'image',
      references: [{ type: 'image', role: 'front', url: url('r') }],
      tags: [{ id: '1', name: 'animal', description: '' }],
    };
    expect(read(done(element))).toMatchObject({ outputs: [], hasNoFiles: true });
    expect(read(done(element, { type: 'video', url: url('v') })).hasNoFiles).toBeUndefined();
    expect(read(done()).hasNoFiles).toBeUndefined();
  });

  test.each(['text', 5, null, []])('%j is none', (record) => {
    expect(() => betaFamily.readTask(record, 't')).toThrow();
  });
});

describe('many tasks in one query', () => {
  test('IDs are joined by commas, and each record is found by its own', () => {
    expect(betaFamily.query.input(['a', 'b', 'c'])).toEqual({ query: { task_ids: 'a,b,c' } });
    const reply = {
      code: 0,
      data: [{ id: 'c', status: 'failed' }, { id: 'x' }, { id: 'a', status: 'submitted' }],
    };
    expect([...betaFamily.query.records(reply, ['a', 'b', 'c'])]).toEqual([
      ['a', { id: 'a', status: 'submitted' }],
      ['c', { id: 'c', status: 'failed' }],
    ]);
  });

  test.each([null, {}, { code: 0 }, { code: 0, data: {} }, { code: 0, data: 'none' }])(
    '%j holds no list',
    (reply) => {
      expect(betaTasks.reply.safeParse(reply).success).toBe(false);
    },
  );
});

describe('an external ID', () => {
  const ids = betaFamily.externalIds;
  if (!ids) throw new Error('family B has external IDs');

  test('stands in options, beside what is there', () => {
    expect(ids.withId({ prompt: 'a' }, 'gw-1')).toEqual({
      prompt: 'a',
      options: { external_task_id: 'gw-1' },
    });
    const body = { options: { callback_url: 'https://example.com/' } };
    const marked = ids.withId(body, 'gw-1');
    expect(marked).toEqual({ options: { callback_url: 'https://example.com/', external_task_id: 'gw-1' } });
    expect(ids.idOf(marked)).toBe('gw-1');
    expect(body).toEqual({ options: { callback_url: 'https://example.com/' } });
  });

  test.each([
    undefined,
    null,
    5,
    'text',
    {},
    { options: null },
    { options: 'x' },
    { options: { external_task_id: 7 } },
  ])('%j carries none', (body) => {
    expect(ids.idOf(body)).toBeUndefined();
  });

  test('finds its task', () => {
    const record = { id: 't-1', status: 'processing', external_id: 'gw-1' };
    expect(ids.input(['gw-1'])).toEqual({ query: { external_task_ids: 'gw-1' } });
    expect(ids.find({ code: 0, data: [record] }, 'gw-1')).toEqual({ id: 't-1', record });
    expect(ids.find({ code: 0, data: [{ id: 't-1' }] }, 'gw-1')).toMatchObject({ id: 't-1' });
    expect(ids.find({ code: 0, data: [{ id: 17 }] }, 'gw-1')).toMatchObject({ id: '17' });
    expect(ids.find({ code: '0', data: [] }, 'gw-1')).toBeUndefined();
  });

  test('code 0 and an empty list alone say that there is none', () => {
    expect(ids.find({ code: 0, data: [] }, 'gw-1')).toBeUndefined();
    for (const reply of [
      {},
      { code: 0 },
      { data: [] },
      { code: 5, data: [] },
      { code: 0, data: null },
      { code: 0, data: [{ id: 't-2', external_id: 'gw-2' }] },
      { code: 0, data: [{ id: 't-2' }, { id: 't-3' }] },
      { code: 0, data: [{ status: 'submitted' }] },
      { code: 0, data: [{ id: '../x', external_id: 'gw-1' }] },
      // JSON keeps no such number, so this may be the ID of another task.
      { code: 0, data: [{ id: 2 ** 60, external_id: 'gw-1' }] },
    ]) {
      expect(() => ids.find(reply, 'gw-1'), JSON.stringify(reply)).toThrow();
    }
  });

  test.each<[boolean, string | undefined, string | undefined]>([
    [true, '1303', 'external_task_id already exists'],
    [true, 'DuplicateTask', 'no'],
    [true, '400', 'duplicate request'],
    [true, undefined, 'the ID must be unique'],
    [true, '1201', undefined],
    [false, '1201', 'settings.style does not exist'],
    [false, '1102', 'the balance does not cover this'],
  ])('may be a duplicate: %s for code %s, "%s"', (expected, code, message) => {
    expect(ids.isDuplicate({ code, message })).toBe(expected);
  });
});
