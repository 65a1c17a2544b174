import { group, leaf, type Node } from './command.ts';

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
  leaf('get', 'show the record of tasks', async () =>
    (await import('./commands/video/get.ts')).videoGet(family),
  ),
  leaf('wait', 'wait for tasks and save their outputs', async () =>
    (await import('./commands/jobs/wait.ts')).wait(family),
  ),
  leaf('download', 'save the outputs of finished tasks', async () =>
    (await import('./commands/jobs/download.ts')).download(family),
  ),
];

// The files that hold several commands.
const assets = () => import('./commands/asset/asset.ts');
const groups = () => import('./commands/asset/group.ts');
const config = () => import('./commands/config.ts');
const profiles = () => import('./commands/profile.ts');

/** The command tree. Each command is loaded when it is called; nothing here imports one. */
export const program: Node = group(
  'gw',
  'Chat, images and video through one gateway. What you pay for is on disk before it is sent, and saved before its link expires.',
  [
    leaf('chat', 'ask a model, or talk with it', async () => (await import('./commands/chat.ts')).chat),
    group(
      'sessions',
      'stored conversations',
      [
        leaf('list', 'list them', async () => (await import('./commands/sessions.ts')).list),
        leaf('show', 'print a conversation', async () => (await import('./commands/sessions.ts')).show),
        leaf('delete', 'delete conversations', async () => (await import('./commands/sessions.ts')).remove),
      ],
      async () => (await import('./commands/sessions.ts')).list,
    ),
    group('image', 'generate and edit images', [
      leaf(
        'create',
        'generate images, or edit them by the common variant',
        async () => (await import('./commands/image.ts')).create,
      ),
      leaf('edit', 'edit images', async () => (await import('./commands/image.ts')).edit),
      leaf(
        'native',
        'generate or edit an image by the native endpoint',
        async () => (await import('./commands/image.ts')).native,
      ),
    ]),
    group('video', 'generate video', [
      group('alpha', 'the longest videos, from words, frames and many references (family A)', [
        leaf('create', 'create a video', async () => (await import('./commands/video/alpha.ts')).create),
        ...ofTasks('alpha'),
      ]),
      group('beta', 'several shots in one video, with sound; says what was billed (family B)', [
        leaf(
          'create',
          'create a video',
          async () => (await import('./commands/video/beta/create.ts')).create,
        ),
        ...ofTasks('beta'),
        leaf(
          'list',
          'list the tasks of the account',
          async () => (await import('./commands/video/beta/list.ts')).list,
        ),
      ]),
      group('gamma', 'short videos from words, frames and references, up to 2K (family C)', [
        leaf('create', 'create a video', async () => (await import('./commands/video/gamma.ts')).create),
        ...ofTasks('gamma'),
      ]),
    ]),
    group('asset', 'the asset library of family A', [
      leaf('create', 'put a file into the library by its URL', async () =>
        (await assets()).assetCreate('create'),
      ),
      leaf('upload', 'as create, by the REST alias', async () => (await assets()).assetCreate('upload')),
      leaf('get', 'show assets', async () => (await assets()).get),
      leaf('list', 'list assets', async () => (await import('./commands/asset/list.ts')).list),
      leaf('update', 'rename an asset', async () => (await assets()).update),
      leaf('delete', 'delete assets for good', async () => (await assets()).assetDelete),
      leaf(
        'wait',
        'wait until assets can be used',
        async () => (await import('./commands/asset/wait.ts')).wait,
      ),
      group('group', 'groups of assets', [
        leaf('create', 'make a group', async () => (await groups()).create),
        leaf('get', 'show groups', async () => (await groups()).get),
        leaf('list', 'list groups', async () => (await groups()).list),
        leaf('update', 'change the name or description of a group', async () => (await groups()).update),
        leaf(
          'delete',
          'delete a group, and with it the use of its assets',
          async () => (await groups()).groupDelete,
        ),
      ]),
    ]),
    group('jobs', 'every job this user created', [
      leaf('list', 'list jobs', async () => (await import('./commands/jobs/list.ts')).list),
      leaf('show', 'show one job', async () => (await import('./commands/jobs/show.ts')).show),
      leaf('wait', 'wait for jobs and save their outputs', async () =>
        (await import('./commands/jobs/wait.ts')).wait(),
      ),
      leaf(
        'sync',
        'look at every unfinished job and save what is finished',
        async () => (await import('./commands/jobs/sync.ts')).sync,
      ),
      leaf(
        'watch',
        'the list of jobs, kept up to date until Ctrl-C',
        async () => (await import('./commands/jobs/list.ts')).watch,
      ),
      leaf('download', 'save the outputs of finished jobs', async () =>
        (await import('./commands/jobs/download.ts')).download(),
      ),
      leaf(
        'stats',
        'count jobs, and what they made and cost',
        async () => (await import('./commands/jobs/stats.ts')).stats,
      ),
      leaf(
        'prune',
        'forget old jobs that need nothing any more',
        async () => (await import('./commands/jobs/prune.ts')).prune,
      ),
      leaf(
        'resolve',
        'close a job of unknown outcome by what you found out',
        async () => (await import('./commands/jobs/resolve.ts')).resolve,
      ),
    ]),
    leaf(
      'again',
      'make the same request anew, with changes',
      async () => (await import('./commands/again.ts')).again,
    ),
    leaf('open', 'open an output on the desktop', async () => (await import('./commands/open.ts')).open),
    leaf(
      'gallery',
      'one page of the outputs, to look through and search',
      async () => (await import('./commands/gallery.ts')).gallery,
    ),
    group('batch', 'many jobs from one file', [
      leaf(
        'run',
        'make, wait for and save every row of a manifest, each once',
        async () => (await import('./commands/batch/run.ts')).run,
      ),
      leaf(
        'check',
        'check every row of a manifest and send nothing',
        async () => (await import('./commands/batch/check.ts')).check,
      ),
      leaf(
        'status',
        'count the rows of a manifest by where they stand',
        async () => (await import('./commands/batch/status.ts')).status,
      ),
      leaf(
        'cancel',
        'take rows out of the queue that were not sent yet',
        async () => (await import('./commands/batch/status.ts')).cancel,
      ),
    ]),
    leaf(
      'worker',
      'work on rows of batches that several machines share',
      async () => (await import('./commands/worker.ts')).worker,
    ),
    group('queue', 'the queue that several machines share', [
      leaf(
        'serve',
        'start a local Redis for a first try, and print its URL',
        async () => (await import('./commands/queue/serve.ts')).serve,
      ),
    ]),
    group(
      'models',
      'the models that the key may call, and what they take',
      [
        leaf('list', 'list models', async () => (await import('./commands/models.ts')).list),
        leaf('show', 'what a model takes', async () => (await import('./commands/models.ts')).show),
      ],
      async () => (await import('./commands/models.ts')).list,
    ),
    leaf(
      'balance',
      'what is left of the balance, and the limits',
      async () => (await import('./commands/balance.ts')).balance,
    ),
    leaf(
      'mcp',
      'the tools of gw for an agent (Model Context Protocol)',
      async () => (await import('./agents/mcp.ts')).mcp,
    ),
    leaf('skill', 'print a page for a coding agent', async () => (await import('./agents/skill.ts')).skill),
    leaf(
      'schema',
      'JSON Schema of what gw takes and prints',
      async () => (await import('./commands/schema.ts')).schema,
    ),
    leaf(
      'listen',
      'receive status callbacks and save what finished',
      async () => (await import('./commands/listen.ts')).listen,
    ),
    leaf(
      'api',
      'send any request with the right credential',
      async () => (await import('./commands/api.ts')).api,
    ),
    leaf('login', 'store a gateway and its key', async () => (await import('./commands/login.ts')).login),
    leaf('logout', 'forget a stored key', async () => (await import('./commands/login.ts')).logout),
    group('config', 'settings, and where each comes from', [
      leaf('get', 'print one setting', async () => (await config()).get),
      leaf('set', 'change one setting of the profile', async () => (await config()).set),
      leaf('unset', 'remove one setting of the profile', async () => (await config()).unset),
      leaf('list', 'every setting, its value and where it comes from', async () => (await config()).list),
      leaf('path', 'where the configuration is', async () => (await config()).path),
    ]),
    group('profile', 'stored gateways', [
      leaf('list', 'list profiles', async () => (await profiles()).list),
      leaf('use', 'make a profile the current one', async () => (await profiles()).use),
      leaf('add', 'add a profile', async () => (await profiles()).add),
      leaf('remove', 'remove a profile and its key', async () => (await profiles()).remove),
    ]),
    group('sandbox', 'the embedded gateway, to try things and to test', [
      leaf(
        'serve',
        'run the embedded gateway for other programs',
        async () => (await import('./commands/sandbox/serve.ts')).serve,
      ),
    ]),
    leaf(
      'doctor',
      'check configuration, key, gateway, clock, ledger and disk',
      async () => (await import('./commands/doctor.ts')).doctor,
    ),
    leaf(
      'completion',
      'completion of commands, flags and values in the shell',
      async () => (await import('./commands/completion.ts')).completion,
    ),
    leaf(
      'help',
      'help on a command or a topic (gw help help lists them)',
      async () => (await import('./commands/help.ts')).help,
    ),
  ],
  async () => (await import('./commands/front.ts')).front,
);
