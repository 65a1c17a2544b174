import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readOutputMode } from '../../src/io/create-io.ts';
import { wantsColor } from '../../src/io/style.ts';

describe('wantsColor', () => {
  test.each([
    ['a terminal', true, {}, false, true],
    ['a pipe', false, {}, false, false],
    ['--no-color', true, { FORCE_COLOR: '1' }, true, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, false, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, false, true],
    ['TERM=dumb', true, { TERM: 'dumb' }, false, false],
    ['FORCE_COLOR in a pipe', false, { FORCE_COLOR: '1' }, false, true],
    ['an empty FORCE_COLOR', false, { FORCE_COLOR: '' }, false, true],
    ['FORCE_COLOR=0', true, { FORCE_COLOR: '0' }, false, false],
    ['FORCE_COLOR=false', true, { FORCE_COLOR: 'False' }, false, false],
    ['FORCE_COLOR over NO_COLOR', true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    ['FORCE_COLOR over TERM=dumb', true, { FORCE_COLOR: '3', TERM: 'dumb' }, false, true],
  ])('%s', (_, isTerminal, env, noColor, wanted) => {
    expect(wantsColor(isTerminal, env, noColor)).toBe(wanted);
  });
});

describe('readOutputMode', () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const pipe = new PassThrough();

  test('without flags', () => {
    expect(readOutputMode({}, { env: {}, stderr: terminal })).toEqual({
      json: false,
      quiet: false,
      verbose: false,
      bars: true,
    });
  });

  test.each([
    ['a terminal', {}, {}, true],
    ['CI', {}, { CI: 'true' }, false],
    ['CI=false', {}, { CI: 'false' }, true],
    ['TERM=dumb', {}, { TERM: 'dumb' }, false],
    ['--no-progress', { progress: false }, {}, false],
    ['--quiet', { quiet: true }, {}, false],
    ['--json', { json: true }, {}, true],
  ])('bars with %s', (_, flags, env, bars) => {
    expect(readOutputMode(flags, { env, stderr: terminal }).bars).toBe(bars);
    expect(readOutputMode(flags, { env, stderr: pipe }).bars).toBe(false);
  });

  test.each([
    [undefined, '1', true],
    [undefined, '0', false],
    [undefined, undefined, false],
    [true, undefined, true],
    [false, '1', false],
  ])('verbose: flag %s, GW_VERBOSE %s', (verbose, value, expected) => {
    expect(readOutputMode({ verbose }, { env: { GW_VERBOSE: value }, stderr: pipe }).verbose).toBe(expected);
  });
});
