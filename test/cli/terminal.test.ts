import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Screen } from '../io/screen.ts';
import { builtGw } from './built.ts';
import { openServer, sendJson } from './fake-gateway.ts';
import { create, type Ended, forward, held, KEY, openPlace, Place, until } from './place.ts';

const COLUMNS = 100;

interface Shown extends Ended {
  /** Every byte that the terminal received. */
  readonly bytes: string;
  /** The lines that remain on the terminal. */
  readonly lines: string[];
  readonly screen: Screen;
}

/**
 * Runs gw, or a line of bash with job control, on a pseudo-terminal; `types` lists texts to wait for and what to type then.
 * `meanwhile` is called at once with the bytes so far and, where the modes are told, what was typed so far.
 */
async function onTerminal(
  place: Place,
  argv: readonly string[] | string,
  types: readonly (readonly [string, string])[] = [],
  env: Record<string, string | undefined> = {},
  meanwhile?: (bytes: () => string, typed: () => string) => Promise<unknown>,
): Promise<Shown> {
  const order = {
    argv: typeof argv === 'string' ? ['bash', '-mc', argv] : [...builtGw().command, ...argv],
    columns: COLUMNS,
    rows: 30,
    types,
    modes: env.MODES !== undefined,
  };
  const script = path.join(import.meta.dirname, 'terminal.py');
  const running = place.spawn('python3', [script, JSON.stringify(order)], {
    env: { TERM: 'xterm-256color', LANG: 'C.UTF-8', ...env },
  });
  await meanwhile?.(running.out, running.err);
  const ended = await running.ended;
  expect(ended.err.replaceAll('typed\n', '')).toBe('');
  const screen = new Screen(COLUMNS).write(ended.out.replaceAll('\r\n', '\n'));
  return { ...ended, bytes: ended.out, lines: screen.shown(), screen };
}

/** gw itself may send colours, cursor moves, erasing, and a CR before one of those or at a line's end. */
function expectNoForeignControls(shown: Shown): void {
  const rest = shown.bytes.replaceAll(/\x1b\[(?:\?25[lh]|[0-9;]*[mAKJ])/g, '').replaceAll(/\r(?=\n)/g, '');
  // A CR of gw begins a frame, which then erases or moves the cursor.
  const frames = rest.replaceAll('\r', '');
  expect(frames).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/);
  expect(shown.screen.unknown).toEqual([]);
}

/** Hostile text: a window title, a C1 control, a lone CR that would overwrite, a bidirectional override, a fake CI command. */
const hostile = 'a\x1b]0;owned\x07b\x1b[2Jc\u009b31md\rOVERWRITTEN\u202Eevil\u2066x\n::error::y\x08\x7f\0end';

/** Lines of JavaScript that call a function one second after something has begun, however slowly gw starts. */
const began = {
  /** The terminal is raw. */
  raw: (call: string) => `const { ReadStream } = require('node:tty');
    const { setRawMode } = ReadStream.prototype;
    ReadStream.prototype.setRawMode = function (on) {
      if (on) setTimeout(${call}, 1000);
      return setRawMode.call(this, on);
    };`,
  /** The watchdog runs, which is the only thread beside the main one. */
  started: (call: string) => `process.once('worker', () => setTimeout(${call}, 1000));`,
};

/** The environment in which gw runs these lines of JavaScript before its own. */
function preload(place: Place, lines: string): Record<string, string> {
  const file = path.join(place.dir, 'preload.cjs');
  fs.writeFileSync(file, `if (require('node:worker_threads').isMainThread) { ${lines} }`);
  return { NODE_OPTIONS: `--require ${file}`, MODES: 'shown' };
}

describe('on a terminal', { tags: ['python3'] }, () => {
  test('bars are drawn, and the screen is clean at the end', async () => {
    const place = await openPlace({ speed: 40, fault: 'output:slow:x1', slowGapMs: 20 });
    const shown = await onTerminal(place, [...create, 'a fox']);
    const id = place.sandbox.tasks()[0]?.id;
    expect(shown.code, shown.bytes).toBe(0);
    expect(shown.bytes).toContain('\x1b[?25l');
    expect(shown.bytes).toMatch(/queued|running/);
    expect(shown.bytes).toMatch(/[█▓░▉▏⠁-⣿━╸]/);
    expect(shown.screen.cursorIsHidden).toBe(false);
    expect(shown.lines.filter((line) => /[█▓░⠁-⣿]/.test(line))).toEqual([]);
    expect(shown.lines).toContain(`task ${id}`);
    expect(shown.lines.join('')).toContain(`${place.cwd}/${id}.mp4`);
    expectNoForeignControls(shown);
  });

  test.each([
    ['CI', { CI: 'true' }],
    ['TERM=dumb', { TERM: 'dumb' }],
    ['--no-progress', {}],
  ])('%s: plain lines in place of bars', async (word, env) => {
    const place = await openPlace();
    const flags = word.startsWith('--') ? [word] : [];
    const shown = await onTerminal(place, [...create, 'a fox', ...flags], [], env);
    expect(shown.code, shown.bytes).toBe(0);
    expect(shown.bytes).not.toContain('\x1b[?25l');
    expect(shown.bytes).not.toMatch(/\x1b\[[0-9]*[AKJ]/);
    expect(shown.lines.join('\n')).toMatch(/: succeeded after/);
  });

  test('a pressed key shows in no bar, and the echo is back afterwards', async () => {
    const place = await openPlace(held);
    const keys = [['\x1b[?25l', 'ψφξ']] as const;
    const shown = await onTerminal(
      place,
      [...create, 'a fox'],
      keys,
      { MODES: '1' },
      async (bytes, typed) => {
        await until('the keys are pressed', typed);
        const { length } = bytes();
        await until('the bar is drawn again', () => bytes().length > length);
        await forward(place.sandbox);
      },
    );
    expect(shown.code, shown.bytes).toBe(0);
    // No name of a temporary directory contains these letters.
    expect(shown.bytes).not.toMatch(/[ψφξ]/);
    expect(shown.bytes).toContain('<modes ECHO ICANON ISIG>');
  });

  test('Ctrl-Z gives the terminal back, and the bars return with fg', async () => {
    const place = await openPlace(held);
    const line = `$GW ${create.join(' ')} 'a fox'; echo "code $?"; stty -a | grep -wo -- '-\\?echo'; echo STOPPED; fg`;
    const shown = await onTerminal(place, line, [['\x1b[?25l', '\x1a']], {}, async (bytes) => {
      await until('the bars return', () => /\nSTOPPED[\s\S]*\x1b\[\?25l[\s\S]*[█▓░⠁-⣿]/.test(bytes()));
      await forward(place.sandbox);
    });
    expect(shown.code, shown.bytes).toBe(0);
    const [before = '', after = ''] = shown.bytes.replaceAll('\r\n', '\n').split('\necho\nSTOPPED\n');
    expect(before).toContain('code 148');
    const screen = new Screen(COLUMNS).write(before);
    expect(screen.cursorIsHidden).toBe(false);
    expect(screen.shown().filter((row) => /[█▓░⠁-⣿]/.test(row))).toEqual([]);
    expect(after).toContain('\x1b[?25l');
    expect(after).toMatch(/[█▓░⠁-⣿]/);
    expect(shown.screen.cursorIsHidden).toBe(false);
    expectNoForeignControls(shown);
  });

  test('a job in the background of a shell draws no bars', async () => {
    const place = await openPlace({ speed: 10 });
    const shown = await onTerminal(place, `$GW ${create.join(' ')} 'a fox' & wait $!; echo "code $?"`);
    expect(shown.bytes).toContain('code 0');
    expect(shown.bytes).not.toMatch(/[█▓░⠁-⣿]|\x1b\[\?25l/);
  });

  test('Ctrl-Z where no shell could let gw go on does not stop it', async () => {
    const place = await openPlace(held);
    const typed = [['\x1b[?25l', '\x1a']] as const;
    const shown = await onTerminal(place, [...create, 'a fox'], typed, { MODES: '1' }, async (bytes) => {
      await until('the bars return', () => bytes().split('\x1b[?25l').length > 2);
      await forward(place.sandbox);
    });
    expect(shown.code, shown.bytes).toBe(0);
    expect(shown.bytes.split('\x1b[?25l').length).toBeGreaterThan(2);
    expect(shown.bytes).toContain('<modes ECHO ICANON ISIG>');
  });

  test('Ctrl-C takes the bars down, shows the cursor, and says how to go on', async () => {
    const place = await openPlace({ speed: 1 });
    const shown = await onTerminal(place, [...create, 'a fox'], [['\x1b[?25l', '\x03']]);
    expect(shown.code, shown.bytes).toBe(130);
    expect(shown.screen.cursorIsHidden).toBe(false);
    expect(shown.lines.filter((line) => /[█▓░⠁-⣿]/.test(line))).toEqual([]);
    expect(shown.lines.join('')).toContain(`gw video alpha wait ${place.sandbox.tasks()[0]?.id}`);
    expectNoForeignControls(shown);
  });

  test('two Ctrl-C leave a clean terminal too', async () => {
    const place = await openPlace({ fault: 'create:hang' });
    const shown = await onTerminal(
      place,
      [...create, 'a fox', '-v'],
      [
        ['POST', '\x03'],
        ['interrupt again', '\x03'],
      ],
    );
    expect(shown.code, shown.bytes).toBe(130);
    expect(shown.screen.cursorIsHidden).toBe(false);
  });

  describe('while the main thread is busy for ever', { tags: ['node'] }, () => {
    /** Blocks the main thread for ever, after the terminal becomes raw or the watchdog has started, and prints BUSY. */
    const busy = (place: Place, once: keyof typeof began) =>
      preload(
        place,
        `const busy = () => {
          const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
          // The thread beside it has to see that it is busy.
          block(3000);
          require('node:fs').writeSync(2, 'BUSY');
          block();
        };
        ${began[once]('busy')}`,
      );
    const twice = [
      ['BUSY', '\x03'],
      ['^C', '\x03'],
    ] as const;

    test('a second Ctrl-C ends a conversation, and the terminal is as it was', async () => {
      const place = await openPlace();
      const shown = await onTerminal(place, ['chat'], twice, busy(place, 'raw'));
      expect(shown.code, shown.bytes).toBe(128 + 9);
      expect(shown.bytes).toContain('\x1b[?2004h');
      expect(shown.bytes).toMatch(/\x1b\[\?25h\x1b\[\?2004l<modes ECHO ICANON ISIG>$/);
    });

    test('a second Ctrl-C ends a wait', async () => {
      const place = await openPlace({ speed: 1 });
      // The terminal does not echo ^C beside bars, so the test cannot wait for that text.
      const blind = [twice[0], ['', '\x03']] as const;
      const shown = await onTerminal(place, [...create, 'a fox'], blind, busy(place, 'started'));
      expect(shown.code, shown.bytes).toBe(128 + 9);
      expect(shown.bytes).toMatch(/\x1b\[\?25h<modes ECHO ICANON ISIG>$/);
    });
  });

  test('a conversation keeps the system prompt of --body in its session', async () => {
    const place = await openPlace();
    const body = JSON.stringify({ systemInstruction: { parts: [{ text: 'You are a pirate.' }] } });
    fs.writeFileSync(path.join(place.cwd, 'body.json'), body);
    const types = [
      ['> ', 'hello there\r'],
      ['You wrote: "hello there".', ''],
      ['> ', '/exit\r'],
    ] as const;
    const geo = ['chat', '--api', 'geo', '--session', 's'];
    const shown = await onTerminal(place, [...geo, '--body', 'body.json'], types);
    expect(shown.code, shown.bytes).toBe(0);
    const next = await place.run([...geo, '--dry-run', 'and then']);
    expect(next.out, next.err).toContain('You are a pirate.');
  });

  test('a fault that nothing catches leaves the terminal as it was', { tags: ['node'] }, async () => {
    const place = await openPlace();
    const env = preload(place, began.raw(`() => { throw new Error('fault') }`));
    const shown = await onTerminal(place, ['chat'], [], env);
    expect(shown.bytes).toContain('\x1b[?2004h');
    expect(shown.bytes).toMatch(/\x1b\[\?25h\x1b\[\?2004l[\s\S]*<modes ECHO ICANON ISIG>$/);
  });

  test('hostile text of the gateway never reaches it raw', async () => {
    const error = { code: hostile, type: hostile, message: hostile };
    const gateway = await openServer((request, response) => {
      if (request.method === 'POST') return sendJson(response, 200, { task_id: 'vt-1', status: hostile });
      if (gateway.seen.length < 5) return sendJson(response, 200, { id: 'vt-1', status: hostile });
      sendJson(response, 200, { id: 'vt-1', status: 'failed', error, model: hostile, ratio: hostile });
    });
    const place = new Place(gateway);
    const waited = await onTerminal(place, [...create, hostile.replaceAll('\0', ''), '-v']);
    expect(waited.code, waited.bytes).toBe(9);
    expect(waited.lines.join('')).toContain('\\x1b]0;owned\\x07');
    for (const argv of [
      ['video', 'alpha', 'get', 'vt-1'],
      ['video', 'alpha', 'get', 'vt-1', '--json'],
      ['jobs', 'list'],
      ['jobs', 'list', '--json'],
      ['jobs', 'show', 'vt-1'],
      ['video', 'alpha', 'wait', 'vt-1', '--json'],
    ]) {
      const shown = await onTerminal(place, argv);
      expectNoForeignControls(shown);
      expect(shown.lines.some((line) => line.startsWith('::error::'))).toBe(false);
      expect(shown.lines.some((line) => line.startsWith('OVERWRITTEN'))).toBe(false);
    }
    expectNoForeignControls(waited);
    expect(waited.lines.some((line) => line.startsWith('::error::'))).toBe(false);
  });

  test.each([400, 500])('nor does that of a %i', async (status) => {
    const headers = { 'x-request-id': 'r\u009b31m' };
    const gateway = await openServer((_, response) =>
      sendJson(response, status, { error: { message: hostile, type: hostile, code: hostile } }, headers),
    );
    const place = new Place(gateway);
    for (const flags of [[], ['-v'], ['--json']]) {
      const shown = await onTerminal(place, [...create, 'a fox', '--retries', '0', ...flags]);
      expect([5, 14], shown.bytes).toContain(shown.code);
      expectNoForeignControls(shown);
      expect(shown.lines.some((line) => /^(::error::|OVERWRITTEN)/.test(line))).toBe(false);
    }
  });

  describe('gw login', () => {
    const ask = 'API key for ';
    const bare = { GW_API_KEY: undefined };
    const keys = (place: Place) => path.join(place.home, '.config/gw/keys.json');

    test('reads the key without echo, checks it, and stores it for this user only', async () => {
      const place = await openPlace();
      const shown = await onTerminal(place, ['login'], [[ask, `${KEY}\r`]], bare);
      expect(shown.code, shown.bytes).toBe(0);
      expect(shown.bytes).not.toContain(KEY.slice(0, 6));
      expect(place.sandbox.requests.map(({ method, path: target }) => `${method} ${target}`)).toEqual([
        'GET /v1/models',
      ]);
      expect(fs.readFileSync(keys(place), 'utf8')).toContain(KEY);
      expect(fs.statSync(keys(place)).mode & 0o777).toBe(0o600);
      const after = await place.run([...create, 'a fox'], { env: { ...bare, GW_BASE_URL: undefined } });
      expect(after.code, after.err).toBe(0);
    });

    test('Ctrl-C: exit 130, and nothing is stored or asked', async () => {
      const place = await openPlace();
      const shown = await onTerminal(place, ['login'], [[ask, 'half\x03']], bare);
      expect(shown.code, shown.bytes).toBe(130);
      expect(shown.bytes).not.toContain('half');
      expect(place.sandbox.requests).toEqual([]);
      expect(fs.existsSync(path.join(place.home, '.config/gw'))).toBe(false);
    });

    test('Ctrl-D: exit 3, and nothing is stored or asked', async () => {
      const place = await openPlace();
      const shown = await onTerminal(place, ['login'], [[ask, '\x04']], bare);
      expect(shown.code, shown.bytes).toBe(3);
      expect(place.sandbox.requests).toEqual([]);
    });
  });
});
