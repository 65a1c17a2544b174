import { group, leaf, leafBy, type Node } from './command.ts';

/** The topics that `gw help` explains beside the commands. */
export const helpTopics: readonly string[] = [
  'options',
  'environment',
  'exit-codes',
  'families',
  'files',
  'placeholders',
  'settings',
  'syntax',
  'storage',
  'prices',
  'trouble',
  'ci',
  'machines',
  'shots',
  'agents',
  'asset-files',
  'image-sizes',
  'faults',
  'sandbox-limits',
];

/** The commands for the tasks of every family. */
const ofTasks = (family: string): Node[] => [
  leafBy('get', 'show the record of tasks', async () =>
    (await import('./commands/video/get.ts')).videoGet(family),
  ),
  leafBy('wait', 'wait for tasks and save their outputs', async () =>
    (await import('./commands/jobs/wait.ts')).wait(family),
  ),
  leafBy('download', 'save the outputs of finished tasks', async () =>
    (await import('./commands/jobs/download.ts')).download(family),
  ),
];

// The files that hold several commands.
const sessions = () => import('./commands/sessions.ts');
const images = () => import('./commands/image.ts');
const assets = () => import('./commands/asset/asset.ts');
const groups = () => import('./commands/asset/group.ts');
const jobs = () => import('./commands/jobs/list.ts');
const batches = () => import('./commands/batch/status.ts');
const models = () => import('./commands/models.ts');
const logins = () => import('./commands/login.ts');
const config = () => import('./commands/config.ts');
const profiles = () => import('./commands/profile.ts');

/** The command tree. Each command is loaded when it is called; nothing here imports one. */
export const program: Node = group(
  'gw',
  'Chat, images and video through one gateway. What you pay for is on disk before it is sent, and saved before its link expires.',
  [
    leaf('chat', 'ask a model, or talk with it', () => import('./commands/chat.ts')),
    group(
      'sessions',
      'stored conversations',
      [
        leaf('list', 'list them', sessions),
        leaf('show', 'print a conversation', sessions),
        leaf('delete', 'delete conversations', sessions, 'remove'),
      ],
      async () => (await sessions()).list,
    ),
    group('image', 'generate and edit images', [
      leaf('create', 'generate images, or edit them by the common variant', images),
      leaf('edit', 'edit images', images),
      leaf('native', 'generate or edit an image by the native endpoint', images),
    ]),
    group('video', 'generate video', [
      group('alpha', 'the longest videos, from words, frames and many references (family A)', [
        leaf('create', 'create a video', () => import('./commands/video/alpha.ts')),
        ...ofTasks('alpha'),
      ]),
      group('beta', 'several shots in one video, with sound; says what was billed (family B)', [
        leaf('create', 'create a video', () => import('./commands/video/beta/create.ts')),
        ...ofTasks('beta'),
        leaf('list', 'list the tasks of the account', () => import('./commands/video/beta/list.ts')),
      ]),
      group('gamma', 'short videos from words, frames and references, up to 2K (family C)', [
        leaf('create', 'create a video', () => import('./commands/video/gamma.ts')),
        ...ofTasks('gamma'),
      ]),
    ]),
    group('asset', 'the asset library of family A', [
      leafBy('create', 'put a file into the library by its URL', async () =>
        (await assets()).assetCreate('create'),
      ),
      leafBy('upload', 'as create, by the REST alias', async () => (await assets()).assetCreate('upload')),
      leaf('get', 'show assets', assets),
      leaf('list', 'list assets', () => import('./commands/asset/list.ts')),
      leaf('update', 'rename an asset', assets),
      leaf('delete', 'delete assets for good', assets, 'assetDelete'),
      leaf('wait', 'wait until assets can be used', () => import('./commands/asset/wait.ts')),
      group('group', 'groups of assets', [
        leaf('create', 'make a group', groups),
        leaf('get', 'show groups', groups),
        leaf('list', 'list groups', groups),
        leaf('update', 'change the name or description of a group', groups),
        leaf('delete', 'delete a group, and with it the use of its assets', groups, 'groupDelete'),
      ]),
    ]),
    group('jobs', 'every job this user created', [
      leaf('list', 'list jobs', jobs),
      leaf('show', 'show one job', () => import('./commands/jobs/show.ts')),
      leafBy('wait', 'wait for jobs and save their outputs', async () =>
        (await import('./commands/jobs/wait.ts')).wait(),
      ),
      leaf(
        'sync',
        'look at every unfinished job and save what is finished',
        () => import('./commands/jobs/sync.ts'),
      ),
      leaf('watch', 'the list of jobs, kept up to date until Ctrl-C', jobs),
      leafBy('download', 'save the outputs of finished jobs', async () =>
        (await import('./commands/jobs/download.ts')).download(),
      ),
      leaf('stats', 'count jobs, and what they made and cost', () => import('./commands/jobs/stats.ts')),
      leaf('prune', 'forget old jobs that need nothing any more', () => import('./commands/jobs/prune.ts')),
      leaf(
        'resolve',
        'close a job of unknown outcome by what you found out',
        () => import('./commands/jobs/resolve.ts'),
      ),
    ]),
    leaf('again', 'make the same request anew, with changes', () => import('./commands/again.ts')),
    leaf('open', 'open an output on the desktop', () => import('./commands/open.ts')),
    leaf(
      'gallery',
      'one page of the outputs, to look through and search',
      () => import('./commands/gallery.ts'),
    ),
    group('batch', 'many jobs from one file', [
      leaf(
        'run',
        'make, wait for and save every row of a manifest, each once',
        () => import('./commands/batch/run.ts'),
      ),
      leaf(
        'check',
        'check every row of a manifest and send nothing',
        () => import('./commands/batch/check.ts'),
      ),
      leaf('status', 'count the rows of a manifest by where they stand', batches),
      leaf('cancel', 'take rows out of the queue that were not sent yet', batches),
    ]),
    leaf(
      'worker',
      'work on rows of batches that several machines share',
      () => import('./commands/worker.ts'),
    ),
    group('queue', 'the queue that several machines share', [
      leaf(
        'serve',
        'start a local Redis for a first try, and print its URL',
        () => import('./commands/queue/serve.ts'),
      ),
    ]),
    group(
      'models',
      'the models that the key may call, and what they take',
      [leaf('list', 'list models', models), leaf('show', 'what a model takes', models)],
      async () => (await models()).list,
    ),
    leaf('balance', 'what is left of the balance, and the limits', () => import('./commands/balance.ts')),
    leaf('mcp', 'the tools of gw for an agent (Model Context Protocol)', () => import('./agents/mcp.ts')),
    leaf('skill', 'print a page for a coding agent', () => import('./agents/skill.ts')),
    leaf('schema', 'JSON Schema of what gw takes and prints', () => import('./commands/schema.ts')),
    leaf('listen', 'receive status callbacks and save what finished', () => import('./commands/listen.ts')),
    leaf('api', 'send any request with the right credential', () => import('./commands/api.ts')),
    leaf('login', 'store a gateway and its key', logins),
    leaf('logout', 'forget a stored key', logins),
    group('config', 'settings, and where each comes from', [
      leaf('get', 'print one setting', config),
      leaf('set', 'change one setting of the profile', config),
      leaf('unset', 'remove one setting of the profile', config),
      leaf('list', 'every setting, its value and where it comes from', config),
      leaf('path', 'where the configuration is', config),
    ]),
    group('profile', 'stored gateways', [
      leaf('list', 'list profiles', profiles),
      leaf('use', 'make a profile the current one', profiles),
      leaf('add', 'add a profile', profiles),
      leaf('remove', 'remove a profile and its key', profiles),
    ]),
    group('sandbox', 'the embedded gateway, to try things and to test', [
      leaf(
        'serve',
        'run the embedded gateway for other programs',
        () => import('./commands/sandbox/serve.ts'),
      ),
    ]),
    leaf(
      'doctor',
      'check configuration, key, gateway, clock, ledger and disk',
      () => import('./commands/doctor.ts'),
    ),
    leaf(
      'completion',
      'completion of commands, flags and values in the shell',
      () => import('./commands/completion.ts'),
    ),
    leaf(
      'help',
      'help on a command or a topic (gw help help lists them)',
      () => import('./commands/help.ts'),
    ),
  ],
  async () => (await import('./commands/front.ts')).front,
);
