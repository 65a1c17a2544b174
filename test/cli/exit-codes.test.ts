import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorKinds } from '../../src/errors.ts';
import { freePort } from '../helpers/free-port.ts';
import { NearPlace, openNearPlace } from './near-place.ts';
import { create, type Ended, KEY, openPlace, Place } from './place.ts';

// Promise 18: the exit code says what to do next. The real program runs once for each code; with --json, gw runs in
// the test's process.

type Act = (more: string[]) => Promise<Ended>;
type Open = typeof openPlace | typeof openNearPlace;
type Row = readonly [kind: keyof typeof errorKinds, when: string, act: (open: Open) => Promise<Act>];

/** Runs gw against a sandbox with a fault. */
const withFault =
  (fault: string, argv: string[], options: object = {}) =>
  async (open: Open): Promise<Act> => {
    const place = await open({ fault, ...options });
    return (more) => place.run([...argv, '--retries', '0', ...more]);
  };

/** Runs gw with other words or an environment of its own. */
const withWords =
  (argv: string[], options: object = {}) =>
  async (open: Open): Promise<Act> => {
    const place = await open();
    return (more) => place.run([...argv, ...more], options);
  };

const makeFox = [...create, 'a fox'];
const unknownId = 'vt-20260101000000-0123456789abcdef0123';

const rows: Row[] = [
  ['usage', 'a duration that the model does not have', withWords([...makeFox, '--duration', '3'])],
  ['auth', 'a key that the gateway does not know', withWords(makeFox, { env: { GW_API_KEY: 'wrong-key' } })],
  [
    'auth',
    'no gateway at all',
    async (open) => {
      const place = open === openPlace ? new Place() : new NearPlace();
      return (more) => place.run([...makeFox, ...more]);
    },
  ],
  [
    'not_found',
    'a task that the gateway does not know',
    withWords(['video', 'alpha', 'get', unknownId, '--retries', '0']),
  ],
  ['rejected', 'a 400', withFault('create:400', makeFox)],
  ['balance', 'a 402', withFault('create:402', makeFox)],
  ['rate_limited', 'a 429', withFault('create:429', [...makeFox, '--no-queue'])],
  [
    'unavailable',
    'nobody listens',
    async (open) => {
      const url = `http://127.0.0.1:${await freePort()}`;
      return withWords([...makeFox, '--retries', '0', '--base-url', url])(open);
    },
  ],
  ['task_failed', 'the task fails', withFault('task:fail=OutputVideoSensitiveContentDetected', makeFox)],
  [
    'wait_timeout',
    'the wait is over before the task',
    withFault('task:fail=X', [...makeFox, '--wait-timeout', '200ms'], { speed: 1 }),
  ],
  ['download', 'the output cannot be had', withFault('output:404', makeFox)],
  [
    'partial',
    'one of two tasks is not known',
    async (open) => {
      const place = await open();
      await place.run(['video', 'alpha', 'create', 'a fox']);
      const ids = [place.sandbox.tasks()[0]?.id ?? '', unknownId];
      return (more) => place.run(['video', 'alpha', 'get', ...ids, '--retries', '0', ...more]);
    },
  ],
  ['unknown_outcome', 'the create is answered by a reset', withFault('create:reset-after', makeFox)],
  ['unknown_outcome', 'the create is answered by 503', withFault('create:503', makeFox)],
  [
    'budget',
    'the limit of jobs would be passed',
    async (open) => {
      const place = await open();
      await place.run(['config', 'set', 'budget.jobs', '0/day']);
      return (more) => place.run([...makeFox, ...more]);
    },
  ],
];

describe.each(rows)('%s: %s', (kind, _, act) => {
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
