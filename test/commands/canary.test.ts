import * as fs from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, expect, test } from 'vitest';
import { type Run, type RunOptions, World } from '../helpers/gw.ts';

// One series of runs of every kind: a long key appears in no byte that they leave, and a short key changes no result.

const CANARY = 'canary0k3y+5f1d8c7e~9ab2';
const NEUTRAL = 'zqx';

interface Step {
  readonly argv: readonly string[];
  readonly options?: RunOptions;
}

/** The commands to run in order in one place; `word` appears in prompts, names and mistakes. */
function matrix(key: string, word: string, url: string): Step[] {
  const poll = ['--interval', '1s'];
  const gamma = ['--duration', '5', '--resolution', '768P', '--ratio', '16:9'];
  const broken = new Readable({
    read() {
      this.destroy(new Error(`the pipe ${word} broke`));
    },
  });
  const name = /^[a-z-]+$/.test(word) ? word : 'profile';
  // gw refuses a prompt that contains the key, so the creates use another word.
  const said = word === key ? 'fox' : word;
  return [
    {
      argv: ['login', '--profile', name, '--base-url', url, '--with-key'],
      options: { stdin: `${key}\n`, bare: true },
    },
    { argv: ['models', '--profile', name, '-v'], options: { bare: true } },
    { argv: ['doctor'], options: { env: { PATH: '/nowhere' } } },
    { argv: ['doctor', '--json'], options: { env: { PATH: '/nowhere' } } },
    { argv: ['config', 'list'] },
    { argv: ['config', 'list', '--json'] },
    { argv: ['profile', 'list', '--json'] },
    { argv: ['config', 'get', word] },
    { argv: [word] },
    { argv: ['chat', 'x', `--api-key=${word}`] },
    { argv: ['chat', 'x', `--${word}`] },
    { argv: ['chat', `what is ${word}?`] },
    { argv: ['chat', `what is ${word}?`, '--json', '-v'] },
    { argv: ['chat', `what is ${said}?`, '--session', 'talk'] },
    { argv: ['video', 'alpha', 'create', `a ${word}`, '--wait'] },
    { argv: ['chat', 'and now?', '--session', 'talk', '--usage'] },
    { argv: ['chat', `what is ${word}?`, '--dry-run', '--json'] },
    { argv: ['chat', 'x', '--api', 'messages', '-m', 'sandbox-chat-1', '--curl', '-v'] },
    { argv: ['chat', 'x', '--api', 'geo', '--dry-run'] },
    { argv: ['chat', '--prompt', '-'], options: { stdin: broken } },
    { argv: ['video', 'alpha', 'create', `a ${said}`, '--wait', '-v', '-o', `${name}.mp4`, ...poll] },
    { argv: ['video', 'alpha', 'create', `a ${said}`, '--wait', '--json', ...poll] },
    { argv: ['video', 'alpha', 'create', `a ${said}`, '--dry-run', '--set', `note=${word}`] },
    { argv: ['video', 'beta', 'create', `a ${said}`, '--wait', '-q', ...poll] },
    { argv: ['video', 'gamma', 'create', `a ${said}`, '--curl'] },
    { argv: ['video', 'alpha', 'get', `vt-${name}`] },
    { argv: ['image', 'create', `a ${said}`, '-o', `${name}.png`] },
    { argv: ['image', 'create', `a ${said}`, '--json', '-v'] },
    { argv: ['asset', 'group', 'create', '--name', name, '--json'] },
    { argv: ['asset', 'list', '-v'] },
    { argv: ['asset', 'upload', `${name}.png`] },
    { argv: ['image', 'edit', `a ${said}`, '--image', `${name}.png`, '-o', `${name}-2.png`, '--sidecar'] },
    { argv: ['image', 'native', `a ${said}`, '-m', 'img-2', '--dry-run', '--json'] },
    { argv: ['video', 'gamma', 'create', `a ${said}`, ...gamma, '--wait', '--events', '--sidecar', ...poll] },
    { argv: ['chat', 'more', '--continue', '-v'] },
    { argv: ['sessions', 'list'] },
    { argv: ['sessions', 'show', 'talk'] },
    { argv: ['sessions', 'show', 'talk', '--json'] },
    { argv: ['batch', 'check', 'rows.jsonl'] },
    { argv: ['batch', 'run', 'rows.jsonl', '-v', ...poll] },
    { argv: ['batch', 'status', 'rows.jsonl', '--json'] },
    { argv: ['models', 'show', 'alpha-video-2-5-260628'] },
    { argv: ['jobs', 'list'] },
    { argv: ['jobs', 'list', '--json'] },
    { argv: ['jobs', 'stats', '--json'] },
    { argv: ['jobs', 'download', 'last'] },
    { argv: ['jobs', 'resolve', `gw-${name}`, '--as', 'none'] },
    { argv: ['schema', 'rows'] },
    { argv: ['completion', 'bash'] },
    { argv: ['sandbox', 'serve', `--${word}`] },
    { argv: ['jobs', 'show', name] },
    { argv: ['jobs', 'sync', '-v'] },
    { argv: ['api', 'GET', '/v1/models', '-v'] },
    { argv: ['api', 'GET', `/v1/${name}`, '--json'] },
    { argv: ['balance', '--json'] },
    { argv: ['models'], options: { env: { GW_API_KEY: `${key}\n` } } },
    { argv: ['models'], options: { env: { GW_API_KEY: key, GW_API_KEY_ORIGIN: 'https://h.example' } } },
    { argv: ['models', '--base-url', `https://${word}@h.example`] },
    { argv: ['models', '--api-key-file', `/nowhere/${name}`] },
    { argv: ['models', '--timeout', word] },
    { argv: ['logout', '--profile', name], options: { bare: true } },
  ];
}

async function runAll(key: string, word: string): Promise<{ world: World; runs: (Run & Step)[] }> {
  const world = await World.open({ key, keepRequests: true });
  const row = { command: 'video alpha', id: 'one', prompt: `a ${word === key ? 'fox' : word}` };
  fs.writeFileSync(path.join(world.cwd, 'rows.jsonl'), `${JSON.stringify(row)}\n`);
  const runs: (Run & Step)[] = [];
  for (const step of matrix(key, word, world.sandbox.baseUrl)) {
    const { env, ...options } = step.options ?? {};
    const keyed = options.bare ? env : { GW_API_KEY: key, ...env };
    runs.push({ ...(await world.gw(step.argv, { ...options, ...(keyed && { env: keyed }) })), ...step });
  }
  return { world, runs };
}

let long: Awaited<ReturnType<typeof runAll>>;
beforeAll(async () => {
  long = await runAll(CANARY, CANARY);
});

test('a key of 24 characters is in no output, no file, and no request to another origin', () => {
  const { world, runs } = long;
  expect(runs.filter(({ code }) => code === 0).length).toBeGreaterThan(25);
  const forms = [
    CANARY,
    encodeURIComponent(CANARY),
    Buffer.from(CANARY).toString('base64').replace(/=+$/, ''),
    CANARY.slice(0, 12),
  ];
  const holdsKey = (text: string | Buffer): boolean => forms.some((form) => text.includes(form));
  for (const { argv, out, err } of runs)
    expect(holdsKey(out + err), `${argv.join(' ')}\n${out}${err}`).toBe(false);
  let files = 0;
  for (const name of fs.readdirSync(world.dir, { recursive: true }) as string[]) {
    const file = path.join(world.dir, name);
    expect(holdsKey(name), name).toBe(false);
    // The manifest is the user's own file and may contain the word.
    if (!fs.statSync(file).isFile() || name.endsWith('rows.jsonl')) continue;
    files += 1;
    expect(holdsKey(fs.readFileSync(file)), name).toBe(false);
  }
  expect(files).toBeGreaterThan(5);
  const elsewhere = world.sandbox.requests.filter(({ server }) => server !== 'api');
  expect(elsewhere.length).toBeGreaterThan(2);
  for (const request of elsewhere) expect(holdsKey(JSON.stringify(request))).toBe(false);
});

test('the link of an output is a credential: JSON and jobs show alone tell it, and of the files the ledger', async () => {
  const { world } = long;
  const runs: (Run & Pick<Step, 'argv'>)[] = [...long.runs];
  for (const argv of [['jobs', 'show', 'last'], ['gallery'], ['jobs', 'wait', '--all']]) {
    runs.push({ ...(await world.gw(argv)), argv });
  }
  const files = (fs.readdirSync(world.dir, { recursive: true }) as string[])
    .filter((name) => fs.statSync(path.join(world.dir, name)).isFile())
    .map((name) => ({ name, text: fs.readFileSync(path.join(world.dir, name), 'latin1') }));
  const isLedger = (name: string) => name.includes('state/gw/ledger/');
  const kept = files.filter(({ name }) => isLedger(name)).map(({ text }) => text);
  const signatures = [...kept.join('').matchAll(/[?&]signature=([^"&\\]+)/g)].map(([, found = '']) => found);
  expect(new Set(signatures).size).toBeGreaterThan(3);
  const holdsLink = (text: string) => signatures.some((signature) => text.includes(signature));
  const telling = runs.filter(({ out, err }) => holdsLink(out + err));
  for (const { argv, err } of telling) {
    expect(`${argv.join(' ')} `).toMatch(/--json |--events |^jobs show /);
    expect(holdsLink(err), argv.join(' ')).toBe(false);
  }
  expect(telling.map(({ argv }) => argv.slice(0, 2).join(' '))).toContain('jobs show');
  expect(files.map(({ name }) => name)).toContain('work/gallery.html');
  expect(files.filter(({ name, text }) => !isLedger(name) && holdsLink(text))).toEqual([]);
});

/** The text with everything that changes from run to run replaced by placeholders. */
const settled = (text: string, world: World): string =>
  text
    .replaceAll(world.dir, 'DIR')
    .replace(/\bgw-[0-9a-z]{26}\b/g, 'ID')
    .replace(/[0-9a-f]*\d[0-9a-f]{5,}/g, 'HEX')
    .replace(/\d+/g, 'N')
    // The sandbox's charge for a task differs from run to run.
    .replace(/"(charges|spend|test_spend)":\[[^\]]*\]/g, '"$1":[]');

const SHORT = ['dev', 'e'];

test('a short key changes no result, and is hidden where it is a credential', async () => {
  const word = SHORT.slice(0, 2).join('-');
  const plain = await runAll(NEUTRAL, word);
  for (const key of SHORT) {
    const short = await runAll(key, word);
    for (const [at, { argv, code, out, err }] of short.runs.entries()) {
      const other = plain.runs[at];
      const what = `${argv.join(' ')} with the key ${key}\n${err}`;
      expect(code, what).toBe(other?.code);
      expect(settled(out, short.world), what).toBe(settled(other?.out ?? '', plain.world));
      expect(err, what).not.toMatch(/\*\*\*\.(png|mp4)/);
    }
    expect(Object.keys(short.world.files())).toEqual(expect.arrayContaining([`${word}.png`, `${word}.mp4`]));
    const all = short.runs.map(({ out, err }) => out + err).join('');
    expect(all).toContain(`${word}.png\n`);
    expect(all).not.toContain(`Bearer ${key}`);
    expect(all).toMatch(/x-geo-api-key: \*\*\*/);
    const state = path.join(short.world.dir, '.local/state/gw');
    const kept = (fs.readdirSync(state, { recursive: true }) as string[]).filter((name) =>
      name.endsWith('.jsonl'),
    );
    expect(kept.length).toBeGreaterThan(1);
    for (const name of kept) {
      const text = fs.readFileSync(path.join(state, name), 'utf8');
      expect(text, name).not.toContain('***');
      for (const line of text.split('\n').filter((each) => each !== ''))
        expect(() => JSON.parse(line)).not.toThrow();
    }
  }
});
