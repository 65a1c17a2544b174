import { group, leaf, type Node } from './command.ts';

/** The command tree. Each command is loaded when it is called; nothing here imports one. */
export const program: Node = group(
  'gw',
  'Chat, images and asynchronous video through one gateway. A paid job is on disk before it is sent, and its output before its link expires.',
  [
    leaf('chat', 'ask a model, or talk with it', async () => (await import('./commands/chat.ts')).chat),
    group('video', 'generate video', [
      group('alpha', 'family A video', [
        leaf(
          'create',
          'create a video',
          async () => (await import('./commands/video/alpha/create.ts')).create,
        ),
        leaf('get', 'show the record of tasks', async () =>
          (await import('./commands/video/get.ts')).videoGet('alpha'),
        ),
        leaf('wait', 'wait for tasks and save their outputs', async () =>
          (await import('./commands/video/wait.ts')).videoWait('alpha'),
        ),
        leaf('download', 'save the outputs of finished tasks', async () =>
          (await import('./commands/video/download.ts')).videoDownload('alpha'),
        ),
      ]),
    ]),
    group('jobs', 'every job this user created', [
      leaf('list', 'list jobs', async () => (await import('./commands/jobs/list.ts')).list),
      leaf('show', 'show one job', async () => (await import('./commands/jobs/show.ts')).show),
      leaf(
        'sync',
        'look at every unfinished job and save what is finished',
        async () => (await import('./commands/jobs/sync.ts')).sync,
      ),
    ]),
    leaf('login', 'store a gateway and its key', async () => (await import('./commands/login.ts')).login),
    leaf('logout', 'forget a stored key', async () => (await import('./commands/logout.ts')).logout),
    group('config', 'settings', [
      leaf('get', 'print one setting', async () => (await import('./commands/config/get.ts')).get),
      leaf(
        'set',
        'change one setting of the profile',
        async () => (await import('./commands/config/set.ts')).set,
      ),
      leaf(
        'unset',
        'remove one setting of the profile',
        async () => (await import('./commands/config/unset.ts')).unset,
      ),
      leaf(
        'list',
        'every setting, its value and where it comes from',
        async () => (await import('./commands/config/list.ts')).list,
      ),
      leaf(
        'path',
        'where the configuration is',
        async () => (await import('./commands/config/path.ts')).path,
      ),
    ]),
    group('profile', 'stored gateways', [
      leaf('list', 'list profiles', async () => (await import('./commands/profile/list.ts')).list),
      leaf(
        'use',
        'make a profile the current one',
        async () => (await import('./commands/profile/use.ts')).use,
      ),
      leaf('add', 'add a profile', async () => (await import('./commands/profile/add.ts')).add),
      leaf(
        'remove',
        'remove a profile and its key',
        async () => (await import('./commands/profile/remove.ts')).remove,
      ),
    ]),
    group('sandbox', 'the embedded gateway', [
      leaf(
        'serve',
        'run the embedded gateway for other programs',
        async () => (await import('./commands/sandbox/serve.ts')).serve,
      ),
    ]),
    leaf(
      'help',
      'help on a command, or on: environment, exit-codes',
      async () => (await import('./commands/help.ts')).help,
    ),
  ],
);
