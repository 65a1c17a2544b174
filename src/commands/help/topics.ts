import { type Setting, settingNames, settingsTable } from '../../config/table.ts';
import { formats } from '../../formats.ts';
import { drawTable, drawText, type Paper } from '../../help.ts';
import { placeholderMeanings } from '../../placeholders.ts';

// The explanatory topics of `gw help`; facts that a table in the code holds are read from it.

type Draw = (paper: Paper) => string;

const pages =
  (...drawn: Draw[]): Draw =>
  (paper) =>
    drawn.map((draw) => draw(paper)).join('\n');
const text =
  (...paragraphs: string[]): Draw =>
  (paper) =>
    drawText(paragraphs, paper);
const table =
  (rows: readonly (readonly string[])[]): Draw =>
  (paper) =>
    drawTable(rows, paper);

/** The purpose of each family, from the first words of its create command. */
export async function families(): Promise<Draw> {
  const creates = await Promise.all([
    import('../video/alpha.ts').then(({ create }) => ['video alpha', create.about] as const),
    import('../video/beta/create.ts').then(({ create }) => ['video beta', create.about] as const),
    import('../video/gamma.ts').then(({ create }) => ['video gamma', create.about] as const),
  ]);
  const model = (name: 'models.alpha' | 'models.gamma' | 'models.image' | 'models.chat') =>
    settingsTable[name].default;
  return pages(
    table([
      ...creates.map(([name, about = '']) => [name, about]),
      [
        'image create',
        'Create images, or follow reference images (delta models), at once: there is no task to wait for.',
      ],
      ['image edit', 'Change images you have, with a mask if you like.'],
      ['chat', 'Answers in words; it takes pictures, tools and a stored conversation.'],
    ]),
    text('Choose by what you have and what you need:'),
    table([
      ['a clip from words, quickly', 'video beta create --turbo, video alpha create -m 2.0-fast'],
      ['a clip that begins with a picture', '--first-frame of alpha, gamma and beta --mode o1'],
      ['a clip of many references', 'video alpha create (2.5), video gamma create (gamma-H3)'],
      ['a video changed or made longer', 'video alpha create --task-type edit or extend'],
      ['several shots in one clip', 'video beta create with --shot'],
      ['certainty after a lost reply', 'video beta create: a lost job is looked up by its external ID'],
    ]),
    text(
      `Models without -m: alpha ${model('models.alpha')}, gamma ${model('models.gamma')}, images ${model('models.image')}, ` +
        `chat ${model('models.chat')} (gw config set models.alpha MODEL changes one). Family B has no model IDs.`,
      'What a model takes: gw models show ID. What each family keeps, and how long: gw models show ID, gw jobs show ID.',
    ),
  );
}

export const files: Draw = text(
  'Where an output is saved is decided by the command that makes the job: -o, else the setting out, else the working ' +
    'directory. gw jobs sync, wait and download, gw listen and a run from cron save it there too, wherever they are run.',
  '  -o clip.mp4          that file\n' +
    '  -o clips/            that directory, as ID.EXTENSION\n' +
    '  -o "{prompt}.{ext}"  a name made by a pattern (gw help placeholders)\n' +
    '  -o -                 the one image, on stdout',
  'An existing file is never overwritten: the name gets -1, -2, … With --force what was there before the command is replaced, ' +
    'never another output of gw; a later wait or download needs its own --force, and gw jobs sync replaces nothing.',
  'A file has its final name only when it is whole. Until then it is a hidden part beside it. What cannot be saved where it ' +
    'was wanted is saved in rescued/ of the state directory; gw jobs sync moves it.',
  'A worker saves below its own -o; gw batch run --redis prints such a file as HOST:PATH.',
  'gw jobs show ID prints where the files of a job are, and gw open ID opens them.',
);

export const placeholderTopic: Draw = pages(
  table(Object.entries(placeholderMeanings).map(([name, meaning]) => [`{${name}}`, meaning])),
  text(
    'A value that is not there is written as none. {{ and }} are plain braces. Letters, digits, dots, dashes and underscores ' +
      'are kept in a value, and everything else becomes an underscore or a dash.',
    'Examples:\n  gw video alpha create --sandbox "a paper boat at dawn" --wait -o "clips/{prompt}-{seed}.{ext}"\n' +
      '  gw image create --sandbox "a fox" --n 2 -o "foxes/{date}-{index}.{ext}"',
  ),
);

export const settingsTopic: Draw = pages(
  table([
    ...settingNames.map((name) => {
      const { summary, default: chosen }: Setting = settingsTable[name];
      return [name, `${summary}${chosen ? ` (default ${chosen})` : ''}`];
    }),
    ['defaults.COMMAND.FLAG', 'the value of a flag where it is not typed: defaults.video.alpha.resolution'],
  ]),
  text(
    'A setting belongs to a profile: gw config set NAME VALUE, gw config list, gw config unset NAME. A typed flag wins over ' +
      'the environment, the environment over the profile, and the profile over the default.',
  ),
);

export const syntax: Draw = text(
  'Durations: 500ms, 30s, 10m, 2h, 1d, 1w.',
  'Dates: 2026-11-23, 2026-11-23T08:00, today, yesterday, or a duration back from now (--since 30d). Days are those of the ' +
    'local calendar.',
  'Amounts: 5 or "5 CNY"; the currency is needed where the price file has several. Budgets: 100/day, "50 CNY/month" (hour, ' +
    'day, month).',
  '--set PATH=VALUE: a dot goes into a field, a number into a list, and \\. is a dot in a name.\n' +
    '  --set settings.duration=10          a number, because it is read as JSON\n' +
    '  --set content.0.text="a fox"        text, because it is no JSON\n' +
    '  --set seed=null, --set user=        null, and an empty text',
  'Presets: presets/NAME.json or .yaml in the configuration directory holds flags by their long names.\n' +
    '  {"resolution": "720p", "duration": 8}\n' +
    '  --preset NAME takes them; a flag that is typed wins.',
  'Events (--events): one JSON object a line, with event, t (RFC 3339), family, key (of the job, gw-…) and id; of a ' +
    'batch also row, line and row_key (day/boat). The events are intent, accepted, ' +
    'status, download, saved, failed, unknown, and result last. gw schema events describes each.',
  'Text is literal: --prompt, --system and the words after a command are sent as they stand. --prompt-file FILE and ' +
    '--system-file FILE read a file, and - reads stdin.',
);

/** The command that deletes each kind of stored data; kinds without one expire or go with their directory. */
const deletedBy: Readonly<Partial<Record<keyof typeof formats, string>>> = {
  ledger: 'gw jobs prune --before 90d (finished jobs; the files stay)',
  talks: 'gw sessions delete NAME --yes',
  history: 'delete chat/history.jsonl',
  settings: 'gw config unset NAME; gw profile remove NAME',
  keys: 'gw logout',
  presets: 'delete presets/NAME.json or .yaml',
  sandbox: 'gw sandbox serve --fresh',
};

/** The data that gw stores in its directories. */
export const kept = Object.entries(formats).flatMap(([name, { place, what, names }]) =>
  place === 'redis' || place === 'outputs'
    ? []
    : [
        {
          name,
          place,
          what,
          names,
          deletedBy:
            deletedBy[name as keyof typeof formats] ??
            (place === 'cache' ? 'delete the cache directory' : 'goes by itself'),
        },
      ],
);

export const storage: Draw = pages(
  table(kept.map(({ what, place, deletedBy }) => [`${what} (${place})`, deletedBy])),
  text(
    'The directories: configuration is GW_CONFIG_DIR, else ~/.config/gw. State is GW_STATE_DIR, else ~/.local/state/gw. The ' +
      'cache is GW_CACHE_DIR, else ~/.cache/gw. gw doctor -v prints the size of each thing that is there. What goes by itself goes ' +
      'with the process or the job that it is for.',
    'Prompts are kept in the ledger, because people look their work up by them, until gw jobs prune removes the job; those of ' +
      '--once and of the rows of batches stay, so that none is paid for again. GW_LEDGER_PROMPTS=off keeps no prompt and no talk; gw config set keep_talks off keeps no talk. A talk without a name goes 30 days after its last word. Of media, only digests are kept.',
    'gw contacts your gateway, the hosts of its outputs, what you name yourself (a proxy, a Redis, --forward), and nobody ' +
      'else. It has no telemetry and looks for no updates.',
    'To update, install the newer version as you did this one: what is kept is carried over. To uninstall: npm uninstall --global gw-cli, or delete the one file, and delete the three directories. What is not saved is then forgotten.',
  ),
);

export const prices: Draw = text(
  'A price file says what models cost, so that gw can estimate a job before it is made and keep budget.amount and --max-cost. ' +
    'It is JSON or YAML, a row a model:',
  '  alpha-video-2-5-260628: {per_second: {720p: 0.12, 1080p: 0.3}, currency: CNY}\n' +
    '  text-to-video/beta-3.0: {per_second: 0.1, currency: CNY}\n' +
    '  img-2: {per_image: 0.2, currency: CNY}\n' +
    '  gamma-H3: {per_million_tokens: 15, currency: CNY}',
  'gw config set prices FILE stores its path. What the gateway bills (family B) replaces the estimate. per_million_tokens is ' +
    "counted by the mean of this ledger's earlier jobs of the model.",
  'A job that no price is known for is refused while a limit of money is in force; --unpriced makes it until the limit is used up.',
);

export const trouble: Draw = table([
  [
    'exit 14, unknown outcome',
    'A paid create was sent and its answer was lost: the job may exist. It is not sent again. gw jobs sync looks for it (family ' +
      'B). Else look at your gateway, then: gw jobs resolve ID --as TASK_ID, or --as none if it is not there: after none the ' +
      'same key or row pays again.',
  ],
  [
    'exit 12, download',
    'The job succeeded and is paid for. gw jobs sync saves it; gw jobs download ID -o ELSEWHERE saves it elsewhere.',
  ],
  ['exit 10, wait timeout', 'The job goes on. gw jobs wait ID goes on waiting.'],
  ['exit 7, rate limited', 'The account runs as many tasks as it may. --queue waits for a free slot.'],
  ['exit 3, auth', 'gw doctor says which key is used and whether it is taken; gw login stores another.'],
  ['exit 15, budget', 'gw config list shows the limit that you set; gw jobs stats shows what was used.'],
  ['exit 9, task failed', 'The message says why. gw again ID -p "a new prompt" --wait makes a changed one.'],
  ['where is my file?', 'gw jobs list finds the job, gw jobs show ID its path; gw jobs sync saves the rest.'],
  [
    'the link has died',
    'gw jobs sync asks the task for a new one. Tasks of alpha and gamma are kept for 7 days.',
  ],
  [
    'Ctrl-C',
    'gw ends; the task goes on at the gateway and is billed, and gw jobs sync saves it. A second Ctrl-C ends gw at once.',
  ],
  [
    'Ctrl-Z',
    'gw stops and goes on with fg. Nothing is lost; another gw waits for the stopped one no longer than its --timeout.',
  ],
  [
    'a proxy or a certificate',
    'HTTPS_PROXY and NO_PROXY are used; --cacert FILE adds a root certificate. -v shows each request.',
  ],
  [
    'to report a fault',
    'Send the maintainers of your copy the command, its output with -v, and gw --version. Keys are hidden; prompts and addresses are not.',
  ],
]);

// biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the workflow file
const RUN_KEY = 'gw-${{ github.run_id }}-${{ github.run_attempt }}';

export const ci: Draw = text(
  'A job in CI pays once, however often it runs, if its state is kept and it has a key of its own:',
  '  gw video alpha create --prompt-file prompt.txt --once "$BRANCH/intro" --wait',
  'GitHub Actions:\n' +
    '  env:\n' +
    '    GW_BASE_URL: https://gateway.example.com\n' +
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax of the workflow file
    '    GW_API_KEY: ${{ secrets.GW_API_KEY }}\n' +
    '    GW_STATE_DIR: .gw-state\n' +
    '  steps:\n' +
    '    - uses: actions/checkout@v4\n' +
    '    - uses: actions/cache/restore@v4\n' +
    `      with:\n        path: .gw-state\n        key: ${RUN_KEY}\n        restore-keys: gw-\n` +
    '    - run: gw batch run shots.csv -o "out/{key}.{ext}"\n' +
    '    - uses: actions/cache/save@v4\n' +
    '      if: always()\n' +
    `      with:\n        path: .gw-state\n        key: ${RUN_KEY}\n` +
    '    - uses: actions/upload-artifact@v4\n' +
    '      if: always()\n' +
    '      with: { path: out }\n' +
    'Install gw in a step before. A file that a run has saved and the next one lacks is fetched again while its link lives; without the ' +
    'state it would be paid for again. A run that failed has paid too, so its state is saved always: actions/cache by itself saves none after a failure.',
  'GitLab: keep GW_API_KEY as a masked variable, .gw-state under cache: with when: always, and out under artifacts: with the same.',
  'cron, every five minutes (the key must be stored by gw login, because cron has no environment of yours):\n' +
    '  */5 * * * * gw jobs sync -q',
  'Against the sandbox, without a key or a cost: gw sandbox serve --port 4010 --key test --speed 100, and then\n' +
    '  GW_BASE_URL=http://127.0.0.1:4010 GW_API_KEY=test in the jobs.',
  'Exit codes say what to do next: gw help exit-codes. --json prints one object, --events a line as each thing happens.',
);

export const machines: Draw = text(
  'A queue on Redis or Valkey (6.2 or newer) shares the rows of a batch between machines, and the limits of the account with ' +
    'them. gw queue serve starts one for a first try, and prints its URL.\n' +
    '  gw batch run day.csv --redis      hand the rows over and follow them; run it again to go on\n' +
    '  gw worker --redis -o clips/       on each machine: take rows, wait, save below clips/\n' +
    '  gw batch status day.csv --redis   rows by state, workers, slots, and what stands still and why\n' +
    '  gw batch cancel day.csv --redis   take out what was not sent, and what is of unknown outcome\n' +
    '  gw jobs resolve day/fox --as none --redis   close a row of unknown outcome, or --as ID',
  'The server: GW_REDIS_URL, or --redis URL. GW_REDIS_URL=file:PATH reads the URL from a file. Give the server a password, ' +
    'appendonly yes, appendfsync always and maxmemory-policy noeviction. redis:// to another machine needs --insecure-redis; ' +
    'use rediss://.',
  'Every machine needs the same gateway and key, and a look at the same files below --root. A worker writes below its own -o ' +
    'and overwrites nothing. What stands on Redis is prompts, flags, task IDs, file names and sums: no key, no link, no file.',
  'A machine dies: another goes on from the task ID within 30 s. A row that was being sent is looked up (family B), or is of ' +
    'unknown outcome, names the machine, and is never sent again by itself.',
  'Redis is away, silent or refuses: nothing is made, what runs is waited for and saved, and a worker with nothing left to do ' +
    'ends with exit 8 after --timeout. A row that the queue has lost is of unknown outcome; --refill sends such rows again.',
  'A key, a balance or a budget that ends: that worker makes nothing more, brings home what runs, and ends. After HTTP ' +
    '429 creates wait, and looks go on. The limits are those of the account that handed rows over last.',
  'SIGTERM: no new row, and what runs is handed back within 10 s; exit 143.',
  'gw worker --listen 9464 answers /healthz (200, or 503 while Redis or the gateway is away) and /metrics for Prometheus, on ' +
    'this machine alone unless an address is given.',
  'A unit for systemd; the URL with its password stands in a file that only root can read:\n' +
    '  [Service]\n' +
    '  User=render\n' +
    '  LoadCredential=redis-url:/etc/gw/redis-url\n' +
    '  LoadCredential=key:/etc/gw/key\n' +
    '  Environment=GW_REDIS_URL=file:%d/redis-url\n' +
    '  WorkingDirectory=/srv/outputs\n' +
    '  ExecStart=gw worker --api-key-file %d/key --listen 9464 --root /srv/projects --redis\n' +
    '  TimeoutStopSec=15\n' +
    '  Restart=always\n' +
    '  RestartSec=5\n' +
    '  SuccessExitStatus=143',
  'A container, from the tarball of a release:\n' +
    '  FROM node:24\n' +
    '  COPY gw-cli-*.tgz /tmp/\n' +
    '  RUN npm install --global /tmp/gw-cli-*.tgz\n' +
    '  ENTRYPOINT ["gw", "worker", "--listen", "9464", "--root", "/srv/projects", "--redis"]\n' +
    '  HEALTHCHECK CMD curl --fail http://127.0.0.1:9464/healthz\n' +
    'Keep GW_STATE_DIR on a volume: the ledger knows what was sent. Run it with docker run --init.',
  'Not promised: a Redis that comes back with an older state may have forgotten what was sent since. --max-cost and budgets are ' +
    'per machine. One Redis database is for one account of a gateway.',
);

/** How to give an agent the tools of gw, and a program the function. */
export const agentsText = [
  'gw mcp is a server of the Model Context Protocol: an agent makes and finds jobs by its tools, pays for no key twice, and ' +
    'reads and writes in no folder but those that you name. The limits count over every gw mcp of this user in the last hour.\n' +
    '  gw mcp --root film --out clips --max-jobs 5 --max-cost "20 CNY" --confirm',
  'Start with the sandbox ("args": ["mcp", "--sandbox"]), which needs no key and costs nothing. The gateway and its key are those of ' +
    'gw login; --profile NAME takes another. Set a budget of your own too: gw config set budget.amount "50 CNY/day".',
] as const;

export const agents: Draw = text(
  ...agentsText,
  'Claude Code, .mcp.json in the project:\n' +
    '  {"mcpServers": {"gw": {\n' +
    '    "command": "gw", "args": ["mcp", "--out", "clips", "--max-jobs", "5"]\n' +
    '  }}}',
  'Cursor, .cursor/mcp.json (Claude Desktop: claude_desktop_config.json, the same):\n' +
    '  {"mcpServers": {"gw": {\n' +
    '    "command": "gw",\n' +
    '    "args": ["mcp", "--root", "/home/me/film", "--out", "/home/me/clips",\n' +
    '      "--max-jobs", "5", "--max-cost", "20 CNY"]\n' +
    '  }}}',
  'VS Code, .vscode/mcp.json in the project:\n' +
    '  {"servers": {"gw": {\n' +
    '    "type": "stdio", "command": "gw",\n' +
    '    "args": ["mcp", "--out", "clips", "--max-jobs", "5", "--confirm"]\n' +
    '  }}}',
  'A call answers within 45 s; a job that takes longer goes on, and wait_for_job goes on with it. gw jobs list shows what was made, ' +
    'and gw jobs sync saves what a server that was ended has left.',
  'gw skill > SKILL.md writes a page for an agent that types commands itself.',
);
