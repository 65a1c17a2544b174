import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { clipsDir, test, World } from '../helpers/gw.ts';

// Common mistakes in typing and the complete error for each; nothing is sent.

const alpha = ['video', 'alpha', 'create'];
const noFlag = (name: string, hint: string) => `error: unknown option '${name}'\nhint: ${hint}\n`;

test.for<[argv: readonly string[], err: string]>([
  [
    cmd`${alpha} a collage --first-frame https://example.com/1.png p.txt`,
    'error: p.txt is a file, and stands among the words of the prompt\n' +
      'hint: --first-frame takes one; a word of the prompt goes with --prompt TEXT\n',
  ],
  ...[alpha, ['image', 'edit'], ['image', 'create'], ['image', 'native'], ['chat']].map(
    (command): [string[], string] => [
      [...command, 'a collage', '--image', 'a.png', 'p.txt', 'https://example.com/c d.png'],
      'error: p.txt is a file, and stands among the words of the prompt\n' +
        "hint: repeat the flag: --image a.png --image p.txt --image 'https://example.com/c d.png'; " +
        'a word of the prompt goes with --prompt TEXT\n',
    ],
  ),
  [
    cmd`chat hi -p ho`,
    'error: the prompt was given twice: by --prompt and as words after the command\nhint: give it once\n',
  ],
  [
    cmd`chat hi --prompt-file p.txt`,
    'error: the prompt was given twice: by --prompt-file and as words after the command\nhint: give it once\n',
  ],
  [
    cmd`chat hi --system x --system-file p.txt`,
    'error: --system and --system-file both give the text\nhint: give one of them\n',
  ],
  [
    cmd`chat --system-file - --prompt-file -`,
    'error: --system-file and --prompt-file both read stdin\nhint: give all but one of them a file\n',
  ],
  ...[['chat'], ['image', 'create'], alpha].map((command): [string[], string] => [
    [...command, '-', '--api-key-file', '-'],
    'error: --api-key-file and the prompt both read stdin\nhint: give all but one of them a file\n',
  ]),
  [
    cmd`chat hi --api geo --set max_tokens=4`,
    'error: max_tokens 4: the output limit is called generationConfig.maxOutputTokens here (--max-tokens)\n',
  ],
  [
    cmd`${alpha} fox --ratio 5:4`,
    'error: --ratio 5:4: one of 21:9, 16:9, 4:3, 1:1, 3:4, 9:16, adaptive; did you mean 4:3?\n',
  ],
  // The closest value, 4k, is valid only for another model, so gw does not suggest it.
  [cmd`${alpha} fox --resolution 8k`, 'error: --resolution 8k: one of 480p, 720p, 1080p, 4k\n'],
  [
    cmd`${alpha} fox -m 2.0 --resolution 8k`,
    'error: --resolution 8k: one of 480p, 720p, 1080p, 4k; did you mean 4k?\n',
  ],
  [cmd`show last`, 'error: unknown command: gw show\nhint: did you mean gw jobs show? see gw --help\n'],
  [['cost'], 'error: unknown command: gw cost\nhint: did you mean gw jobs stats? see gw --help\n'],
  [['version'], 'error: unknown command: gw version\nhint: did you mean gw --version? see gw --help\n'],
  [['set'], 'error: unknown command: gw set\nhint: gw takes chat, '],
  [['nope'], 'error: unknown command: gw nope\nhint: gw takes chat, '],
  [cmd`image create fox --no-wait`, noFlag('--no-wait', 'see --help')],
  [
    cmd`chat fox --thinking x`,
    'error: --thinking x: neither adaptive nor off nor a number of tokens\n' +
      'hint: write --thinking off, or with --api messages --thinking adaptive\n',
  ],
  [cmd`${alpha} fox --aspect 16:9`, noFlag('--aspect', 'here it is --ratio')],
  [cmd`image create fox --aspect-ratio 16:9`, noFlag('--aspect-ratio', 'here it is --size')],
  [cmd`${alpha} fox --wait-timout 3s`, noFlag('--wait-timout', 'did you mean --wait-timeout?')],
  [cmd`models --hlep`, noFlag('--hlep', 'did you mean --help?')],
  [['--hepl'], noFlag('--hepl', 'did you mean --help?')],
  [cmd`${alpha} fox --wait-tmout 3s`, noFlag('--wait-tmout', 'did you mean --wait-timeout?')],
  [cmd`${alpha} fox --res=720p`, noFlag('--res', 'here it is --resolution')],
  [cmd`${alpha} fox --seconds 5`, noFlag('--seconds', 'here it is --duration')],
  [
    cmd`${alpha} fox --seed=7`,
    noFlag('--seed', 'no documented field takes a seed; --set seed=N sends one all the same'),
  ],
  [cmd`image create fox -n 3`, noFlag('-n', 'here it is --n')],
  [cmd`chat fox -n 3`, noFlag('-n', 'one run makes one: run it again for another')],
  [
    cmd`chat fox --api-key sk-1`,
    noFlag(
      '--api-key',
      'no flag takes the key, as it would show in the process list: set GW_API_KEY, or name a file with --api-key-file',
    ),
  ],
  [cmd`chat fox --count 3`, noFlag('--count', 'one run makes one: run it again for another')],
  [cmd`image create fox --count 3`, noFlag('--count', 'here it is --n')],
  [cmd`${alpha} fox --n 3`, noFlag('--n', 'here it is --count')],
  [cmd`image create fox --res 1024x1024`, noFlag('--res', 'here it is --size')],
  [
    cmd`${alpha} fox --video clip.mp4`,
    'error: --video clip.mp4: is a file, and a video is sent here by address only (an https:// URL or asset://ID)\n' +
      'hint: put the file where the gateway can fetch it and give its https:// URL, or add that URL to the asset library ' +
      '(gw asset create --group ID --name NAME --type Video --url …) and give asset://ID; or let a command of yours do it: gw config set upload_command COMMAND\n',
  ],
  [cmd`chat fox --max-output-tokens=9`, noFlag('--max-output-tokens', 'here it is --max-tokens')],
  [cmd`image create fox --output a.png`, noFlag('--output', 'here it is --out')],
  [
    cmd`asset upload fox.png`,
    'error: gw asset upload takes no words after it\n' +
      'hint: no file is sent: put it where the service can read it, and give its https:// address with --url\n',
  ],
  [cmd`models list fox`, 'error: gw models list takes no words after it\nhint: see gw models list --help\n'],
  [
    cmd`sessions show a b`,
    'error: gw sessions show takes only one NAME\nhint: see gw sessions show --help\n',
  ],
  [cmd`jobs show a b`, 'error: gw jobs show takes only one ID\nhint: see gw jobs show --help\n'],
  [cmd`${alpha} fox --ratio`, 'error: --ratio needs a value\nhint: write --ratio RATIO\n'],
  [
    cmd`video beta create fox --duration 16 --no-wait`,
    'error: --duration 16: beta text takes 3-15 seconds\n',
  ],
  [
    cmd`models --base-url https://gateway.example.com/v1`,
    'error: --base-url "https://gateway.example.com/v1" ends in /v1, which gw adds itself\n' +
      'hint: write it as https://gateway.example.com\n',
  ],
  [
    cmd`config set defaults.video.alpha.create.resolution 480p`,
    'error: defaults.video.alpha.create.resolution: no command that has defaults\n' +
      'hint: write defaults.COMMAND.FLAG, such as defaults.video.alpha.resolution',
  ],
  [
    cmd`batch run m.csv --dry-run`,
    'error: --dry-run: gw batch run sends no request that could be shown\nhint: gw batch check sends nothing\n',
  ],
  [
    'video beta create --shot 1:a --shot 1:b --shot 1:c --shot 1:d --shot 1:e --shot 1:f --shot 1:g'.split(
      ' ',
    ),
    'error: --shot: at most 6 shots, and 7 are given\n',
  ],
  [cmd`asset create`, 'error: --group, --url, --type and --name are required\n'],
  [
    cmd`chat hi --set reasoning_effort=max`,
    'error: reasoning_effort max: geo-3.6-flash takes none, minimal, low, medium, high\n' +
      'hint: the document says: accepts none, minimal, low, medium, high',
  ],
  [
    cmd`chat hi --reasoning-effort max`,
    'error: --reasoning-effort max: geo-3.6-flash takes none, minimal, low, medium, high\n' +
      'hint: the document says: accepts none, minimal, low, medium, high',
  ],
  [
    cmd`image create fox -m legacy-image-3 --partial-images 2`,
    'error: --partial-images 2: only img models stream partial images\n',
  ],
  [cmd`image create fox --n 2 --set n=11`, 'error: n 11: a whole number from 1 to 10\n'],
  [
    cmd`image create fox -m legacy-image-3 --quality low`,
    'error: --quality low: legacy-image-3 takes standard, hd, auto; low is for img-2, img-2.5-sunburst, img-2.5-flare\n',
  ],
  [
    cmd`video beta create fox --duration 2`,
    'error: --duration 2: beta text takes 3-15 seconds\n' +
      'hint: the document says: /text-to-video/beta-3.0 … 3-15 … /omni-video/beta-o1 … 3-10\n',
  ],
  [
    cmd`video beta create fox --ratio 4:3`,
    'error: --ratio 4:3: one of 16:9, 9:16, 1:1; did you mean 1:1?\nhint: the document says: 16:9, 9:16, 1:1\n',
  ],
  [
    'video beta create fox --mode o1 --ratio 1:1 --multi-shot'.split(' '),
    'error: --multi-shot: not a setting of beta o1; it is for text\nhint: the document says: settings.multi_shot ',
  ],
  [
    `video beta create fox --mode o1 --ratio 1:1${[1, 2, 3, 4, 5, 6, 7, 8].map((at) => ` --image https://e.com/${at}.png`).join('')}`.split(
      ' ',
    ),
    'error: --image: at most 7 images and elements without a reference video, 8 given\n',
  ],
  [
    [
      ...'video gamma create --resolution 768P --duration 5'.split(' '),
      '--first-frame',
      'https://e.com/a.png',
    ],
    'error: --prompt: a prompt is required in every scenario: at least one text item that is not empty\n',
  ],
  [
    cmd`video alpha create fox --task-type edit`,
    'error: --task-type edit: editing needs a reference video\n' +
      'hint: the document says: reference_video plus editing prompt ratio adaptive, duration -1 … ',
  ],
  [
    cmd`video beta list --limit -1`,
    'error: --limit -1: not a whole number from 0 to 999999999\nhint: give a number from 1 to 500\n',
  ],
  [
    cmd`video beta create fox --duration 5 --body odd.json --no-validate`,
    'error: --duration: settings is no object or list, so nothing can be set in it\n',
  ],
])('%j', async ([argv, err], { world }) => {
  writeFileSync(path.join(world.cwd, 'p.txt'), 'a fox');
  writeFileSync(
    path.join(world.cwd, 'odd.json'),
    '{"settings":"odd","content":[{"type":"text","text":"fox"}]}',
  );
  writeFileSync(path.join(world.cwd, 'clip.mp4'), readFileSync(path.join(clipsDir, '768p-9x16.mp4')));
  const run = await world.gw(argv);
  expect(run).toMatchObject({ code: 2, out: '' });
  expect(run.err).toContain(err);
  expect(run.err.startsWith(err.split('\n')[0] ?? '')).toBe(true);
  expect(world.requests()).toEqual([]);
});

test.each([
  ['video beta create fox --duration 5 --set settings={"duration":7}', '--duration 5', 'settings'],
  ['video alpha create fox --set content=[]', '--prompt', 'content'],
  [
    'video gamma create --body odd.json --image https://example.com/a.png --set content.1=null',
    '--image',
    'content.1',
  ],
  ['image edit hat --image https://example.com/a.png --set images=[{"file_id":"f"}]', '--image', 'images'],
  ['image native fox --set contents=[]', 'contents.0.role', 'contents'],
  ['chat hi --api geo --top-k 5 --set generationConfig={"topP":1}', '--top-k 5', 'generationConfig'],
  ['chat hi --set messages=[{"role":"user","content":"ho"}]', 'messages.0.content', 'messages'],
  ['asset list --type AIGC --set Filter={}', '--type AIGC', 'Filter'],
  ['video beta list --status failed --set filters=[]', '--status', 'filters'],
])('%s is told of, and sent as --set says', async (line, what, at) => {
  const world = await World.open();
  writeFileSync(path.join(world.cwd, 'odd.json'), '{"content":[{"type":"text","text":"fox"}]}');
  const run = await world.gw([...line.split(' '), '--no-validate', '--dry-run']);
  const told = `warning: ${what}: --set ${at} overwrites it; --set ${at}.NAME=VALUE keeps it\n`;
  expect([run.code, run.err.split(told).length]).toEqual([0, 2]);
});

test('--set and the set of a row reach the items that flags have made', async ({ world }) => {
  const more = '{"type":"text","text":"more"}';
  const shown = async (...argv: string[]) =>
    JSON.parse((await world.ok([...argv, '--dry-run', '--json'])).out).body;
  const chat = await shown('chat', 'hi', '--set', 'messages.1={"role":"assistant","content":"more"}');
  expect(chat.messages).toHaveLength(2);
  const geo = await shown('chat', 'hi', '--api', 'geo', '--set', 'contents.0.parts.1.text=more');
  expect(geo.contents[0].parts).toEqual([{ text: 'hi' }, { text: 'more' }]);
  expect((await shown(...alpha, 'fox', '--set', `content.1=${more}`)).content).toHaveLength(2);
  writeFileSync(path.join(world.cwd, 'm.jsonl'), `{"prompt":"fox","set":{"content.1":${more}}}\n`);
  await world.ok(['batch', 'check', 'm.jsonl', '--command', 'video alpha']);
});

test('a second rule that the same value of a row breaks is not told', async ({ world }) => {
  writeFileSync(path.join(world.cwd, 'm.jsonl'), '{"prompt": "fox", "n": 11}\n');
  const run = await world.gw(['batch', 'check', 'm.jsonl', '--command', 'image create']);
  expect(run).toMatchObject({
    code: 2,
    out: 'm.jsonl:1: n: 11: a whole number from 1 to 10; the document says: number 1-10 … legacy-image-3 supports only 1\n',
  });
});

test('a model misspelt in chat: the list is asked for before anything is sent, and what is listed is known then', async () => {
  const world = await World.open();
  const run = await world.gw(['chat', 'hi', '-m', 'geo-3.6-falsh']);
  expect([run.code, run.out]).toEqual([2, '']);
  expect(run.err).toBe(
    'error: model "geo-3.6-falsh": the gateway lists no such model\n' +
      'hint: did you mean geo-3.6-flash or geo-3.5-flash or geo-3.7-flash? --no-validate sends it anyway\n',
  );
  expect(world.requests()).toEqual(['GET /v1/models']);
  await world.ok(['chat', 'hi', '-m', 'sandbox-chat-1']);
  expect(world.requests()).toEqual(['GET /v1/models', 'POST /v1/chat/completions']);
  expect((await world.gw(['chat', 'hi', '-m', 'geo-3.6-falsh', '--no-validate'])).code).toBe(5);
});

test('a picture on the stdin of chat', async ({ world }) => {
  const stdin = Readable.from([Buffer.from('\x89PNG\r\n\x1a\nxx', 'latin1')]);
  const run = await world.gw(['chat', 'what is this?'], { stdin });
  expect([run.code, run.err]).toEqual([
    2,
    'error: stdin holds PNG (an image), not text\nhint: add --image - to send it as a picture\n',
  ]);
  expect(world.requests()).toEqual([]);
});

test('a login without an address, where nobody can be asked', async ({ world }) => {
  const run = await world.gw(['login', '--with-key'], { stdin: 'sk-0123456789abcdef0', bare: true });
  expect([run.code, run.err]).toEqual([
    3,
    'error: no gateway is configured\n' + 'hint: name it: gw login --base-url URL --with-key < key.txt\n',
  ]);
});

test('a loop over the limit of slots: the way out, with what the gateway said', async () => {
  const world = await World.open({ fault: 'create:429' });
  const run = await world.gw([...alpha, 'fox', '--retries', '0']);
  expect(run.code).toBe(7);
  expect(run.err.replace(/request ID \w+/, 'request ID R')).toBe(
    'error: the gateway is asked too often (HTTP 429, POST /api/v3/contents/generations/tasks): Too many requests. (code RateLimitExceeded, request ID R)\n' +
      'hint: with --queue gw waits for a free slot before it sends\n',
  );
});

test('a proxy that is not there is told with the variables that name it', async ({ world }) => {
  const env = { GW_BASE_URL: 'https://gateway.invalid', HTTPS_PROXY: 'http://127.0.0.1:9' };
  const run = await world.gw(['balance', '--retries', '0'], { env });
  expect([run.code, run.err]).toEqual([
    8,
    expect.stringMatching(
      /cannot connect to the proxy 127\.0\.0\.1:9: connection refused\nhint: check HTTPS_PROXY and HTTP_PROXY/,
    ),
  ]);
});

test('a gateway that is not there: nothing was sent, and no list calls it refused', async ({ world }) => {
  const env = { GW_BASE_URL: 'http://127.0.0.1:9' };
  const run = await world.gw([...alpha, 'fox', '--retries', '0'], { env });
  expect([run.code, run.err]).toEqual([
    8,
    'error: POST /api/v3/contents/generations/tasks failed: cannot connect to 127.0.0.1:9: connection refused\n' +
      'hint: check the network and the base URL: gw config list shows it and where it comes from\n',
  ]);
  const listed = await world.gw(['jobs', 'list']);
  expect(listed.out).toContain('\tnot_sent\t');
  expect(listed.out).not.toContain('refused');
});

test.for([
  [
    cmd`video alpha create --set seed=1`,
    cmd`video alpha create --set content=[]`,
    'a prompt or at least one',
  ],
  [cmd`video beta create --prompt ${' '}`, cmd`video beta create --set prompt=`, 'is empty'],
  [cmd`image create --prompt ${' '}`, cmd`image create --set prompt=`, 'is empty'],
  [cmd`image edit a`, cmd`image edit a --set images=[]`, 'is required|at least one image to edit is needed'],
  [cmd`chat a --max-tokens 0`, cmd`chat a --set max_completion_tokens=0`, 'a whole number of tokens'],
  [cmd`asset get a,b`, cmd`asset get a --set Id=a,b`, 'not an ID, which has letters'],
  [cmd`asset group create --name ${''}`, cmd`asset group create --set Name=`, 'is empty'],
  [cmd`asset list --project ${''}`, cmd`asset list --set ProjectName=`, 'is empty'],
  [cmd`video beta list --cursor ${''}`, cmd`video beta list --set cursor=`, 'is empty'],
] as const)(
  'what the document does not forbid is refused of %j, and sent of %j',
  async ([flags, given, why], { world }) => {
    const refused = await world.gw(flags);
    expect([refused.code, refused.out, refused.err]).toEqual([2, '', expect.stringMatching(why)]);
    expect(world.requests()).toEqual([]);
    const sent = await world.gw([...given, '--dry-run']);
    const says = new RegExp(
      `^warning: [^\n]*(${why})[^\n]* \\(sent as given: the document does not forbid it\\)\n$`,
    );
    expect([sent.code, sent.err]).toEqual([0, expect.stringMatching(says)]);
    expect((await world.gw([...given, '--dry-run', '--no-validate'])).err).toBe('');
  },
);

test('what is refused is not said to be sent', async ({ world }) => {
  const given = 'the body of this endpoint is not documented: it is sent as given';
  const refused = await world.gw(cmd`video beta create fox --mode omni --external-id a,b`);
  expect([refused.code, refused.err]).toEqual([
    2,
    'error: --external-id a,b: an external ID is not empty and has no comma, or it could not be asked for\n' +
      'hint: the document says: strings, comma-separated for batches\n',
  ]);
  for (const words of [
    ['video', 'beta', 'create', '--mode', 'omni'],
    ['image', 'native'],
  ]) {
    const sent = await world.gw([...words, 'fox', '--dry-run']);
    expect(sent.err).toMatch(
      new RegExp(`^warning: ${given} \\(the document says: Request bodies of the [^\n]*: not shown\\)\n$`),
    );
  }
});

const address = 'ftp://user:pw-canary@host/a.png';
test.for<[argv: readonly string[], named: string]>([
  [cmd`${alpha} x --image ${address}`, '--image ftp://user:***@host/a.png'],
  [[...alpha, 'x', '--image', `ftp://user:${'pw-canary'.repeat(9)}@host/`], '--image ftp://user:***@host/'],
  [cmd`${alpha} x --image ftp://user:pw/nary@host/a.png`, '--image ftp://user:***@host/a.png'],
  [cmd`${alpha} x --image ftp://pw-canary@host/a.png`, '--image ftp://***@host/a.png'],
  [cmd`${alpha} x --image ftp://host:80/@a.png`, '--image ftp://host:80/@a.png'],
  [cmd`chat x --image "https://user:pw-canary@ho st/"`, '--image https://user:***@ho st/'],
  [cmd`${alpha} x --preset foreign`, '--image ftp://user:***@host/a.png'],
  [
    [...alpha, 'x', '--set', 'content.1.type=image_url', '--set', `content.1.image_url.url=${address}`],
    'content.1.image_url.url ftp://user:***@host/a.png',
  ],
  [cmd`video beta create x --callback-url ${address}`, '--callback-url ftp://user:***@host/a.png'],
  [cmd`video beta create x --callback-url ${address} --no-validate --dry-run`, '***@host/a.png'],
  [
    ['image', 'edit', 'x', '--image', 'a.png', address.replace('ftp', 'https')],
    'https://user:***@host/a.png',
  ],
  [cmd`asset create --group g --url ${address}`, '--url ftp://user:***@host/a.png'],
  [cmd`jobs show ${address}`, 'ftp://user:***@host/a.png'],
  [cmd`api GET ${address}`, 'ftp://user:***@host/a.png'],
  [cmd`batch run ${address}`, 'ftp://user:***@host/a.png'],
  [cmd`batch check rows.jsonl --command "video alpha"`, 'rows.jsonl:1: image: ftp://user:***@host/a.png'],
])('no message holds a password of the address in %j', async ([argv, named], { world }) => {
  const preset = path.join(world.dir, '.config/gw/presets/foreign.json');
  mkdirSync(path.dirname(preset), { recursive: true });
  writeFileSync(preset, JSON.stringify({ image: address }));
  writeFileSync(path.join(world.cwd, 'rows.jsonl'), JSON.stringify({ image: address, prompt: 'x' }));
  const { out, err } = await world.gw(argv);
  const told = argv[1] === 'check' ? out : err;
  expect(told).toContain(named);
  expect(err + (argv.includes('--dry-run') ? '' : out)).not.toMatch(/pw|nary/);
});
