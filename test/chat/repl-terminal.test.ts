import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { pause } from '../cli/place.ts';
import { bundle } from '../ledger/bundle.ts';
import { KEY } from './fixtures.ts';
import { openPlaceFor, Terminal } from './terminal.ts';

const script = bundle(path.join(import.meta.dirname, 'scripts', 'talk.ts'));
const PROMPT = /^>$/m;
/** The empty prompt at the end of the screen. */
const READY = /(?:^|\n)>$/;

/** A conversation that waits for the first message. */
async function opened(): Promise<Terminal> {
  const terminal = openPlaceFor(script).start();
  await terminal.shows(PROMPT);
  return terminal;
}

describe('a conversation on a terminal', { tags: ['tmux'] }, () => {
  it('answers in readable Markdown, and leaves the terminal as it was', async () => {
    const terminal = await opened();
    terminal.line('rich');
    await terminal.shows('a quote, and the end');
    const screen = await terminal.shows(READY);
    expect(screen).toContain(
      '\nA title\n\nSome bold words, a link (https://example.com) and code.\n\n• one\n• two\n',
    );
    expect(screen).toContain('\nname │ count\n─────┼──────\na    │     1\nb    │    22\n');
    terminal.keys('C-d');
    expect(await terminal.shows('icanon')).toMatch(/\nLEFT\n\[exit 0\]\n icanon$/);
  });

  it('/raw shows an answer as it comes, and again draws it', async () => {
    const terminal = await opened();
    terminal.line('/raw');
    await terminal.shows('answers are shown as they come');
    terminal.line('rich');
    await terminal.shows(/\n# A title\n\nSome \*\*bold\*\* words/);
    await terminal.shows('> a quote, and the end');
    await terminal.shows(READY);
    terminal.line('/raw');
    await terminal.shows('answers are drawn as Markdown');
    terminal.line('rich');
    await terminal.shows('\nA title\n\nSome bold words');
  });

  it('/copy hands the last answer to the clipboard of the terminal', async () => {
    const terminal = await opened();
    terminal.line('/copy');
    await terminal.shows('error: /copy: there is no answer yet');
    terminal.line('echo naïve');
    await terminal.shows('<naïve>');
    await terminal.shows(READY);
    terminal.line('/copy');
    await terminal.shows(/\nsent to the clipboard: 7 characters\n>$/);
    expect(terminal.clipboard()).toBe('<naïve>');
    terminal.line('hostile');
    await terminal.shows(/end, \*\*\*\n\n>$/);
    terminal.line('/copy');
    await terminal.shows('sent to the clipboard: 5');
    expect(terminal.clipboard()).toMatch(/^red \\x1b\[31m .*, \*\*\*$/);
    terminal.line('/help');
    await terminal.shows('/raw');
  });

  it('/model is completed with the models that are known', async () => {
    const terminal = await opened();
    terminal.keys('/model geo-3.7', 'Tab');
    await terminal.shows(/> \/model geo-3\.7-flash$/);
    terminal.keys('Enter');
    await terminal.shows('model: geo-3.7-flash');
  });

  it('says what it waits for until the text comes', async () => {
    const terminal = await opened();
    terminal.line('late');
    await terminal.shows(/waiting for \S+ \(/);
    await terminal.shows('you said "late"');
    expect(await terminal.shows(READY)).not.toContain('waiting');
  });

  it('shows what could drive the terminal, and hides the key', async () => {
    const terminal = await opened();
    terminal.line('hostile');
    const screen = await terminal.shows(/end, .*\n\n>$/);
    expect(screen).toContain('red \\x1b[31m \\x1b[31m \\u202e end, ***');
    expect(terminal.all()).not.toContain(KEY);
  });

  it('takes several lines as one message: behind a backslash, with Alt-Enter, pasted', async () => {
    const terminal = await opened();
    terminal.line('first\\');
    terminal.line('second');
    await terminal.shows('you said "first\\nsecond"');
    terminal.keys('a', 'M-Enter', 'b', 'Enter');
    await terminal.shows('you said "a\\nb"');
    terminal.paste('one\r\ntwo\n\tthree \x07\n');
    await terminal.shows('three');
    terminal.keys('!', 'Enter');
    await terminal.shows('you said "one\\ntwo\\n\\tthree !"');
  });

  it('shows a long pasted block as one word and sends it whole', async () => {
    const { start, stateDir } = openPlaceFor(script);
    const terminal = start('', { columns: 150 });
    await terminal.shows(PROMPT);
    terminal.keys('echo ');
    terminal.paste(Array.from({ length: 30 }, (_, at) => `line${at}`).join('\n'));
    await terminal.shows('> echo [paste 1: 30 lines]');
    terminal.keys(' end', 'Enter');
    await terminal.shows('line29 end>');
    expect(terminal.screen()).toContain('\nline28\nline29 end>');
    // The placeholder means nothing in another run, so the history does not keep this line.
    expect(fs.existsSync(path.join(stateDir, 'chat', 'history.jsonl'))).toBe(false);
  });

  it('Ctrl-C stops the answer, keeps what came, and drops what was typed ahead', async () => {
    const terminal = await opened();
    terminal.line('slow');
    await terminal.shows('word20');
    terminal.keys('ahead', 'C-c');
    await terminal.shows(/word\d+\nstopped; what came is kept\n\n>$/);
    terminal.line('turns');
    await terminal.shows('turns so far: 3');
  });

  it('Ctrl-C clears the line, and where nothing is typed says how to leave', async () => {
    const terminal = await opened();
    terminal.keys('something', 'C-c');
    await terminal.shows(READY);
    terminal.keys('C-c');
    await terminal.shows(/Ctrl-D or \/exit leaves\n>$/);
    terminal.line('/exit');
    await terminal.shows('[exit 0]');
  });

  it('Ctrl-Z gives the terminal to the shell at once, and fg goes on with answer and line', async () => {
    const { dir, stateDir } = openPlaceFor(script);
    const stopped = 'echo; stty -a | grep -o .icanon; read pasted; echo "got $pasted" | cat -v; fg';
    const gw = `HOME=${dir} GW_STATE_DIR=${stateDir} ${process.execPath} ${script}`;
    const terminal = new Terminal(`bash -mc '${gw}; ${stopped}; ${stopped}'`);
    await terminal.shows(PROMPT);
    terminal.line('slow');
    await terminal.shows('word20');
    terminal.keys('C-z');
    await terminal.shows(/[^-]icanon$/);
    terminal.paste('this');
    terminal.keys('Enter');
    const went = /\ngot this\n[\s\S]*word\d+ word/;
    await expect.poll(() => terminal.all(), { timeout: 60_000 }).toMatch(went);
    terminal.keys('C-c');
    await terminal.shows(/stopped; what came is kept\n\n>$/);
    terminal.keys('half a line', 'C-z');
    await terminal.shows(/[^-]icanon$/);
    terminal.line('that');
    await terminal.shows(/\ngot that\n[\s\S]*\n> half a line$/);
    terminal.keys('C-c');
    terminal.paste('echo 1\n2\n');
    terminal.keys('Enter');
    await terminal.shows('<1 2>');
    terminal.keys('C-d');
    await terminal.shows(/\nLEFT\n\[exit 0\]\n icanon$/);
  });

  it('what is typed while an answer comes stands in the next line', async () => {
    const terminal = await opened();
    terminal.keys('rich', 'Enter', 'next', 'Enter', 'more');
    await terminal.shows(/you said "next"\n\n> more$/);
  });

  it('a note never tears the answer nor the line that is being typed', async () => {
    const terminal = openPlaceFor(script).start('', { columns: 40 });
    await terminal.shows(PROMPT);
    terminal.line('notes');
    await terminal.shows(/a note before\na note amid\nbegin end\n\n>/);
    const typed = 'a line that is longer than the terminal is wide';
    terminal.keys(typed);
    const screen = await terminal.shows(/\nwarning: a late note\n> a line[^>]*wide$/);
    expect(screen.replaceAll('\n', '')).toContain(`warning: a late note> ${typed}`);
    expect(screen.match(/a line that/g)).toHaveLength(1);
    terminal.keys('!', 'Enter');
    await terminal.shows(new RegExp(`"${typed}!"`.replaceAll(' ', '\\s')));
  });

  it('a change of width leaves the line whole and nothing of it behind', async () => {
    const terminal = openPlaceFor(script).start('', { columns: 60 });
    await terminal.shows(PROMPT);
    terminal.line('turns');
    await terminal.shows('turns so far: 1');
    terminal.keys('a line of many words that is wrapped at sixty columns and at forty');
    await terminal.shows('forty');
    for (const [at, columns] of [30, 100, 45, 80].entries()) {
      terminal.resize(columns);
      // A key that comes before the news of the width would be drawn at the old one.
      await pause(300);
      terminal.keys('.');
      await terminal.shows(new RegExp(`forty\\.{${at + 1}}$`));
    }
    const shown = terminal.all();
    expect(shown.match(/a line of many words/g)).toHaveLength(1);
    expect(shown).toContain('turns so far: 1');
    expect(shown).toMatch(/at sixty columns and at forty\.{4}$/);
  });

  it('commands are completed, and an unknown one says so', async () => {
    const terminal = openPlaceFor(script).start('', { columns: 100 });
    await terminal.shows(PROMPT);
    terminal.keys('/mo', 'Tab', 'geo-3.7-flash', 'Enter');
    await terminal.shows('model: geo-3.7-flash');
    terminal.line('/sistem be brief');
    await terminal.shows('error: there is no command /sistem');
    await terminal.shows('did you mean /system?');
    terminal.line('/system be brief');
    await terminal.shows('system prompt: be brief');
    terminal.line('state');
    await terminal.shows('model geo-3.7-flash, system be brief, images 0');
    terminal.line(' /etc is a directory');
    await terminal.shows('you said "/etc is a directory"');
  });

  it('/system @FILE reads a file, and what is none is one sentence', async () => {
    const { dir, start } = openPlaceFor(script);
    fs.writeFileSync(path.join(dir, 'kind.txt'), 'be kind\n');
    fs.writeFileSync(path.join(dir, 'binary'), Buffer.of(0xff, 0xfe, 0xff));
    fs.writeFileSync(path.join(dir, 'huge'), Buffer.alloc(2 ** 25, 'a'));
    spawnSync('mkfifo', [path.join(dir, 'pipe')]);
    const terminal = start('', { columns: 100 });
    await terminal.shows(PROMPT);
    for (const [name, words] of [
      ['missing', 'no such file'],
      ['.', 'is a directory, not a file'],
      ['pipe', 'is a pipe, not a file'],
      ['huge', 'is larger than 16 MB, the most that is read'],
      ['binary', 'not UTF-8 text'],
    ]) {
      terminal.line(`/system @${name}`);
      await terminal.shows(`error: /system @${name}: ${words}`);
    }
    terminal.line('/system @kind.txt');
    await terminal.shows('system prompt: be kind');
  });

  it('images go with the next message only, and their paths are completed', async () => {
    const { dir, start } = openPlaceFor(script);
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    fs.writeFileSync(path.join(dir, 'a b.png'), Buffer.from(png, 'base64'));
    const terminal = start('', { columns: 100 });
    await terminal.shows(PROMPT);
    terminal.keys('/image a', 'Tab');
    await terminal.shows('> /image a\\ b.png');
    terminal.keys('Enter');
    await terminal.shows('attached to the next message: 1 image');
    terminal.line('/image nothing.png');
    await terminal.shows('error: /image nothing.png');
    terminal.line('/image -');
    await terminal.shows('error: /image -: stdin is where you type');
    terminal.line('state');
    await terminal.shows('images 1');
    terminal.line('/image');
    await terminal.shows('no image is attached');
  });

  it('a failed question is shown, is no turn, and can be had back', async () => {
    const terminal = await opened();
    terminal.line('fail');
    await terminal.shows('error: the gateway is away');
    terminal.keys('Up');
    await terminal.shows(/> fail$/);
    terminal.keys('C-c');
    terminal.line('turns');
    await terminal.shows('turns so far: 1');
    terminal.keys('fa', 'Up');
    await terminal.shows(/> fail$/);
    terminal.keys('C-c');
    terminal.line('/help');
    await terminal.shows(/\nUp +goes back to earlier lines, or to\s+those that begin with/);
  });

  it('shows every answer where several were asked for, and keeps the first', async () => {
    const terminal = await opened();
    terminal.line('twice');
    await terminal.shows(/you said "twice"\n+[-─]+\n+and another\n/);
    terminal.line('/save talk.json');
    await terminal.shows('saved: ');
  });

  it("the model's calls are answered by the user", async () => {
    const terminal = await opened();
    terminal.line('call');
    await terminal.shows(/the model calls weather with \{"city":"Rome"\}\nresult of weather>/);
    terminal.line('sunny');
    await terminal.shows('you said "result sunny"');
    terminal.line('turns');
    await terminal.shows('turns so far: 5');
  });

  it('saves, clears, and keeps what it overwrites', async () => {
    const { dir, start, file } = openPlaceFor(script);
    const terminal = start('', { columns: 150 });
    await terminal.shows(PROMPT);
    terminal.line('/save');
    await terminal.shows('error: there is nothing to save yet');
    terminal.line('hello');
    await terminal.shows('you said "hello"');
    terminal.line('/save talk.json');
    await terminal.shows(`saved: ${path.join(dir, 'talk.json')}`);
    terminal.line('/save talk.json');
    await terminal.shows(`saved: ${path.join(dir, 'talk-1.json')}`);
    terminal.line('/save "my talk.md"');
    await terminal.shows(`saved: ${path.join(dir, 'my talk.md')}`);
    expect(JSON.parse(file('talk.json'))).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'you said "hello"' },
    ]);
    expect(file('my talk.md')).toBe('## You\n\nhello\n\n## Model\n\nyou said "hello"\n');
    terminal.line('/clear');
    await terminal.shows('the conversation starts over');
    terminal.line('turns');
    await terminal.shows('turns so far: 1');
  });

  it('keeps the history between runs, for this user only', async () => {
    const { start, stateDir } = openPlaceFor(script);
    const first = start();
    await first.shows(PROMPT);
    first.line('one\\');
    first.line(`two ${KEY}`);
    await first.shows(/you said[\s\S]*>$/);
    first.keys('C-d');
    await first.shows('[exit 0]');
    const history = path.join(stateDir, 'chat', 'history.jsonl');
    expect(fs.statSync(history).mode & 0o777).toBe(0o600);
    expect(fs.readFileSync(history, 'utf8').trim()).toBe('"one\\ntwo ***"');
    const second = start();
    await second.shows(PROMPT);
    second.keys('Up');
    await second.shows(/> one\n(?:\| )?two \*\*\*$/);
  });

  it('keeps no history where prompts are to stay off the disk', async () => {
    const { start, stateDir } = openPlaceFor(script);
    const terminal = start('', { env: 'GW_LEDGER_PROMPTS=off' });
    await terminal.shows(PROMPT);
    terminal.line('secret plans');
    await terminal.shows('you said');
    expect(fs.existsSync(path.join(stateDir, 'chat', 'history.jsonl'))).toBe(false);
  });

  it('two terminals talk in one session, and each knows what the other said', async () => {
    const { start } = openPlaceFor(script);
    const [left, right] = [start('work'), start('work')];
    await left.shows(PROMPT);
    await right.shows(PROMPT);
    left.line('from the left');
    // The answer is shown while it arrives, and is in the session only when the prompt is back.
    await left.shows(/you said "from the left"\n\n>/);
    right.line('turns');
    await right.shows(/turns so far: 3\n\n>/);
    left.line('turns');
    await left.shows('turns so far: 5');
    left.line('/clear');
    await left.shows('the conversation starts over');
    left.line('turns');
    await left.shows('turns so far: 1');
    await left.shows('the old conversation is kept');
  });

  it('a signal ends it and gives the terminal back', async () => {
    const terminal = openPlaceFor(script).start('', { env: 'MARK=1' });
    await terminal.shows(PROMPT);
    terminal.line('pid');
    // The number arrives in pieces, and is complete when the prompt is back.
    const pid = Number(/pid (\d+)\n\n>/.exec(await terminal.shows(/pid \d+\n\n>/))?.[1]);
    terminal.keys('half a line');
    await terminal.shows('> half a line');
    process.kill(pid, 'SIGTERM');
    await terminal.shows(/> half a line\nerror: interrupted by SIGTERM\nENDED interrupted by SIGTERM/);
    expect(await terminal.shows('icanon')).not.toContain('-icanon');
  });

  it('without colour the marks stay, and a dumb terminal gets the text as it is', async () => {
    const { start } = openPlaceFor(script);
    const plain = start('', { env: 'NO_COLOR=1' });
    await plain.shows(PROMPT);
    plain.line('rich');
    await plain.shows('# A title\n\nSome **bold** words');
    const dumb = start('', { env: 'TERM=dumb' });
    await dumb.shows(/^>/m);
    dumb.line('rich');
    await dumb.shows('[link](https://example.com)');
  });
});

it('never starts without a terminal', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    input: 'hello\n',
    encoding: 'utf8',
  });
  expect(stdout).toBe('ENDED a conversation needs a terminal\n');
  expect(stderr).toContain('hint: give the prompt as words');
  expect(status).toBe(0);
});
