import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorKinds } from '../../src/errors.ts';
import { cmd } from '../helpers/cmd.ts';
import { freePort } from '../helpers/free-port.ts';
import { NearPlace, openNearPlace } from './near-place.ts';
import { create, type Ended, KEY, openPlace, Place } from './place.ts';

// Promise 18: the exit code says what to do next. The real program runs once for each code; with --json, gw runs in
// the test's process.

type Act = (more: string[]) => Promise<Ended>;
type Row = {
  readonly kind: keyof typeof errorKinds;
  readonly when: string;
  readonly act: (open: typeof openPlace | typeof openNearPlace) => Promise<Act>;
};

/** Runs gw against a sandbox with a fault. */
const withFault =
  (fault: string, argv: string[], options: object = {}) =>
  async (open: typeof openPlace | typeof openNearPlace): Promise<Act> => {
    const place = await open({ fault, ...options });
    return (more) => place.run([...argv, '--retries', '0', ...more]);
  };

const makeFox = [...create, 'a fox'];

const rows: Row[] = [
  {
    kind: 'usage',
    when: 'a duration that the model does not have',
    act: withFault('task:fail=X', [...create, 'a fox', '--duration', '3']),
  },
  {
    kind: 'auth',
    when: 'a key that the gateway does not know',
    act: async (open) => {
      const place = await open();
      return (more) => place.run([...makeFox, ...more], { env: { GW_API_KEY: 'wrong-key' } });
    },
  },
  {
    kind: 'auth',
    when: 'no gateway at all',
    act: async (open) => {
      const place = open === openPlace ? new Place() : new NearPlace();
      return (more) => place.run([...makeFox, ...more]);
    },
  },
  {
    kind: 'not_found',
    when: 'a task that the gateway does not know',
    act: async (open) => {
      const place = await open();
      return (more) =>
        place.run(cmd`video alpha get vt-20260101000000-0123456789abcdef0123 --retries 0 ${more}`);
    },
  },
  { kind: 'rejected', when: 'a 400', act: withFault('create:400', makeFox) },
  { kind: 'balance', when: 'a 402', act: withFault('create:402', makeFox) },
  { kind: 'rate_limited', when: 'a 429', act: withFault('create:429', [...makeFox, '--no-queue']) },
  {
    kind: 'unavailable',
    when: 'nobody listens',
    act: async (open) => {
      const place = await open();
      const url = `http://127.0.0.1:${await freePort()}`;
      return (more) => place.run([...makeFox, '--retries', '0', '--base-url', url, ...more]);
    },
  },
  {
    kind: 'task_failed',
    when: 'the task fails',
    act: withFault('task:fail=OutputVideoSensitiveContentDetected', makeFox),
  },
  {
    kind: 'wait_timeout',
    when: 'the wait is over before the task',
    act: withFault('task:fail=X', [...makeFox, '--wait-timeout', '200ms'], { speed: 1 }),
  },
  { kind: 'download', when: 'the output cannot be had', act: withFault('output:404', makeFox) },
  {
    kind: 'partial',
    when: 'one of two tasks is not known',
    act: async (open) => {
      const place = await open();
      await place.run(['video', 'alpha', 'create', 'a fox']);
      const ids = [place.sandbox.tasks()[0]?.id ?? '', 'vt-20260101000000-0123456789abcdef0123'];
      return (more) => place.run(['video', 'alpha', 'get', ...ids, '--retries', '0', ...more]);
    },
  },
  {
    kind: 'unknown_outcome',
    when: 'the create is answered by a reset',
    act: withFault('create:reset-after', makeFox),
  },
  { kind: 'unknown_outcome', when: 'the create is answered by 503', act: withFault('create:503', makeFox) },
  {
    kind: 'budget',
    when: 'the limit of jobs would be passed',
    act: async (open) => {
      const place = await open();
      await place.run(['config', 'set', 'budget.jobs', '0/day']);
      return (more) => place.run([...makeFox, ...more]);
    },
  },
];

describe.each(rows)('$kind: $when', ({ kind, act }) => {
  const { exitCode } = errorKinds[kind];

  test(`exits ${exitCode} with one error line`, async () => {
    const { code, signal, err } = await (await act(openPlace))([]);
    expect({ code, signal }, err).toEqual({ code: exitCode, signal: null });
    const errors = err.split('\n').filter((line) => line.startsWith('error: '));
    expect(errors).toHaveLength(1);
    expect(err).not.toMatch(/unexpected error|\n {4}at |undefined|\[object/);
    expect(err).not.toContain(KEY);
  });

  test(`with --json exits ${exitCode} with one line of JSON`, async () => {
    const { code, err } = await (await act(openNearPlace))(['--json']);
    expect(code, err).toBe(exitCode);
    const lines = err.split('\n').filter((line) => line.startsWith('{'));
    expect(lines).toHaveLength(1);
    const { error, ...rest } = JSON.parse(lines[0] ?? '');
    expect(rest).toEqual({});
    if (kind !== 'partial') expect(error).toMatchObject({ kind, exit_code: exitCode });
    expect(error.message).toEqual(expect.stringMatching(/\S/));
    const known = ['kind', 'message', 'hint', 'exit_code', 'status', 'type', 'code', 'request_id', 'task_id'];
    expect(known).toEqual(expect.arrayContaining(Object.keys(error)));
    expect(Object.values(error)).not.toContain(null);
  });
});

test('0: done, and nothing is said to be wrong', async () => {
  const place = await openPlace();
  const { code, out, err } = await place.run(makeFox);
  expect(code).toBe(0);
  expect(fs.existsSync(out.trim())).toBe(true);
  expect(err).not.toMatch(/error|warning/);
});

test('1: a fault of gw itself or of the world around it', async () => {
  const place = await openPlace();
  const { code, err } = await place.shell('$GW jobs list --json > /dev/full');
  expect(code).toBe(1);
  expect(JSON.parse(err)).toMatchObject({ error: { kind: 'internal', exit_code: 1 } });
});

test('a fault behind the end of all is told, and no quiet exit code', { tags: ['node'] }, async () => {
  const place = new Place();
  const late = path.join(place.dir, 'late.cjs');
  // process.exitCode is set when the run is over, so the script throws only after that.
  fs.writeFileSync(
    late,
    `const look = setInterval(() => {
      if (process.exitCode === undefined) return;
      clearInterval(look);
      setImmediate(() => {
        throw new Error('late');
      });
    }, 10);`,
  );
  const { code, err } = await place.run(['config', 'path'], { env: { NODE_OPTIONS: `--require ${late}` } });
  expect(code).toBe(1);
  expect(err).toContain('Error: late');
});

test('the codes of the contract are the codes of the program', async () => {
  const place = new Place();
  const { out } = await place.run(['help', 'exit-codes']);
  for (const { exitCode } of Object.values(errorKinds))
    expect(out).toMatch(new RegExp(`^\\s*${exitCode}\\b`, 'm'));
});
