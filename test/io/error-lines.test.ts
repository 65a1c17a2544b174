import { describe, expect, test } from 'vitest';
import { ClosedPipe, GwError, Interrupted, usage } from '../../src/errors.ts';
import { errorJson, errorLines, reportError, stackLines } from '../../src/io/error-lines.ts';
import { plainStyle } from '../../src/io/style.ts';

const asIs = (text: string) => text;

function human(error: unknown, hide = asIs): string[] {
  const report = reportError(error);
  return report === undefined ? [] : errorLines(report, hide).map((line) => line(plainStyle));
}

function json(error: unknown, hide = asIs): unknown {
  const report = reportError(error);
  return report === undefined ? undefined : JSON.parse(errorJson(report, hide));
}

const hostile = new GwError('rejected', 'bad\n::error::owned \x1b[31m \u202e', {
  hint: 'fix\rit',
  status: 400,
  type: 'invalid_request',
  code: 'x\u2028y',
  requestId: 'req-1',
  taskId: 'task-1',
  retryAtMs: Date.UTC(2026, 10, 20, 12, 1, 30, 400),
});

describe('for people', () => {
  test.each([
    [
      'a usage error with a hint',
      usage('--duration 3: 4-15', 'Use 4.'),
      ['error: --duration 3: 4-15', 'hint: Use 4.'],
    ],
    ['an error without a hint', new GwError('auth', 'no key'), ['error: no key']],
    ['an interrupt', new Interrupted('SIGTERM'), ['error: interrupted by SIGTERM']],
    [
      'an interrupt with a way on',
      new Interrupted('SIGINT', { hint: 'gw jobs sync' }),
      ['error: interrupted', 'hint: gw jobs sync'],
    ],
    ['a closed pipe', new ClosedPipe('x'), []],
    [
      'text from outside, with its code and request ID',
      hostile,
      ['error: bad\\n::error::owned \\x1b[31m \\u202e (code x\\u2028y, request ID req-1)', 'hint: fix\\rit'],
    ],
    [
      'a code that the message names already',
      new GwError('rejected', '1102: too little', { code: '1102', requestId: 'r-1' }),
      ['error: 1102: too little (request ID r-1)'],
    ],
  ])('%s', (_, error, lines) => {
    expect(human(error)).toEqual(lines);
  });

  test.each([
    ['an error', new TypeError('x is not a function'), 'x is not a function'],
    ['an error without words', new RangeError(''), 'RangeError'],
    ['a text', 'thrown text', 'thrown text'],
    ['undefined', undefined, 'undefined'],
    ['an object', { a: 1 }, '{"a":1}'],
    [
      'a hostile object',
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
      'a value that cannot be shown',
    ],
  ])('what was not expected, thrown as %s, is a fault of gw', (_, error, words) => {
    const [first, hint] = human(error);
    expect(first).toBe(`error: unexpected error: ${words}`);
    expect(hint).toMatch(/^hint: this is a fault of gw: please report it/);
  });

  test('never the cause nor the stack', () => {
    const error = new Error('outer', { cause: new Error('inner secret') });
    const lines = human(error).join('\n');
    expect(lines).not.toContain('inner');
    expect(lines).not.toContain('    at ');
  });

  test('a long message is cut after secrets are hidden, so that no half of one is left', () => {
    const hide = (text: string) => text.replaceAll('sk-0123456789', '***');
    const [line] = human(new GwError('rejected', `${'x'.repeat(492)}sk-0123456789 and more`), hide);
    expect(line).not.toContain('sk-');
    expect([...(line ?? '')].length).toBeLessThanOrEqual('error: '.length + 500);
    expect(line).toMatch(/…$/);
  });
});

describe('with --json', () => {
  test('one object with every known fact', () => {
    expect(json(hostile)).toEqual({
      error: {
        kind: 'rejected',
        message: 'bad\n::error::owned \x1b[31m \u202e',
        hint: 'fix\rit',
        exit_code: 5,
        status: 400,
        type: 'invalid_request',
        code: 'x\u2028y',
        request_id: 'req-1',
        retry_at: '2026-11-20T12:01:30Z',
        task_id: 'task-1',
      },
    });
    const line = errorJson(reportError(hostile) ?? { kind: '', message: '', exit_code: 0 }, asIs);
    expect(line).not.toMatch(/[\x00-\x1f\u2028\u202e]/);
  });

  test('absent facts are left out', () => {
    expect(json(new GwError('not_found', 'gone'))).toEqual({
      error: { kind: 'not_found', message: 'gone', exit_code: 4 },
    });
  });

  test('an interrupt and a fault have their exit codes', () => {
    expect(json(new Interrupted('SIGINT'))).toMatchObject({ error: { kind: 'interrupted', exit_code: 130 } });
    expect(json(new Error('x'))).toMatchObject({ error: { kind: 'internal', exit_code: 1 } });
  });
});

test('only unexpected errors have stack lines', () => {
  expect(stackLines(usage('x'))).toEqual([]);
  expect(stackLines('text')).toEqual([]);
  expect(stackLines(new Error('boom'))[0]).toBe('Error: boom');
});
