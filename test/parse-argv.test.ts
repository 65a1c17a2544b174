import { expect, test } from 'vitest';
import { GwError } from '../src/errors.ts';
import { plainStyle } from '../src/io/style.ts';
import { HelpShown, parseArgv } from '../src/parse-argv.ts';
import { program } from '../src/program.ts';

const KEY = 'canary-key-5f1d8c7e9ab2';

async function refused(argv: readonly string[]): Promise<GwError> {
  try {
    await parseArgv(argv, program, { columns: 80, version: '0' });
  } catch (error) {
    if (error instanceof GwError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

test.each([
  [['chat', 'x', `--api-key=${KEY}`], "unknown option '--api-key'", 'GW_API_KEY'],
  [[`--api-key=${KEY}`, 'chat', 'x'], "unknown option '--api-key'", 'GW_API_KEY'],
  [['chat', 'x', `--api_key=${KEY}`], "unknown option '--api_key'", '--api-key-file'],
  [['chat', 'x', `--api-key\n=${KEY}`], "unknown option '--api-key'", 'GW_API_KEY'],
  [['config', 'get', `-k${KEY}`], "unknown option '-k'", 'see --help'],
  [['config', 'get', `-k=${KEY}`], "unknown option '-k'", 'see --help'],
  [['login', `--with-key=${KEY}`], '--with-key takes no value', 'write --with-key alone'],
  [['chat', 'x', `--stream=${KEY}`], '--stream takes no value', 'write --stream alone, or --no-stream'],
  [['login', KEY], 'gw login takes no words after it', 'the address goes into --base-url'],
  [['video', 'alpha', 'create', 'x', `--ratoi=${KEY}`], "unknown option '--ratoi'", '--ratio'],
])('%j is refused without the value', async (argv, message, hint) => {
  const error = await refused(argv);
  expect(error).toMatchObject({ kind: 'usage', message });
  expect(error.facts.hint).toContain(hint);
  expect(JSON.stringify([error.message, error.facts])).not.toContain(KEY);
});

test.each([
  ['gw chat', ['--help', 'chat']],
  ['gw image create', ['image', '-h', 'create']],
  ['gw jobs list', ['-q', '--help', 'jobs', 'list']],
])('the page of %s: %j', async (name, argv) => {
  const shown = await parseArgv(argv, program, { columns: 80, version: '0' }).catch(
    (error: HelpShown) => error,
  );
  expect(shown instanceof HelpShown && shown.text(plainStyle)).toContain(`Usage: ${name} [options]`);
});

test('the value of a short flag may stand behind an equals sign', async () => {
  const flagsOf = async (...words: string[]) =>
    (await parseArgv(['chat', ...words], program, { columns: 80, version: '0' })).input.flags;
  expect(await flagsOf('-m=x', '-p==1')).toEqual({ model: 'x', prompt: '=1' });
  expect(await flagsOf('-mx', '-p', '=SUM(A1)')).toEqual({ model: 'x', prompt: '=SUM(A1)' });
});

test.each(['- buy milk\n- call mum', '-5 degrees, in F?', '-- so he said', '---\ntitle: x', '-', '-1'])(
  'a text that begins with a dash, and like no flag, is no flag: %j',
  async (text) => {
    const inputOf = async (words: readonly string[]) =>
      (await parseArgv(['chat', ...words], program, { columns: 80, version: '0' })).input;
    for (const words of [[text], ['--', text], ['--json', text, '-q']])
      expect((await inputOf(words)).args).toEqual([text]);
    for (const words of [['--prompt', text], [`--prompt=${text}`]])
      expect((await inputOf(words)).flags).toMatchObject({ prompt: text });
    expect((await refused([text])).message).toBe(`unknown command: gw ${text}`);
  },
);
