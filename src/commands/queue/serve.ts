import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { defineCommand } from '../../command.ts';
import { trustedStateDir } from '../../config/dirs.ts';
import type { Context } from '../../context.ts';
import { ensureDirectory } from '../../disk/durable-directory.ts';
import { holderName, tryLock } from '../../disk/lock-file.ts';
import { ended, GwError, usage } from '../../errors.ts';
import { port } from '../../flags/flag.ts';
import { aborted } from '../../host.ts';

const flags = { port: port('port to listen at (default: any free one)') } as const;

interface Served {
  readonly url: string;
}

const STARTED = /Ready to accept connections/;
const programs = ['redis-server', 'valkey-server'];

/** Time limits, because a stopped server, or another program of that name, may never answer or end. */
const START_MS = 20_000;
const END_MS = 8_000;

/** `gw queue serve` runs a Redis server for this user on this machine until it is interrupted. */
export const serve = defineCommand<typeof flags, Served>({
  flags,
  examples: ['gw queue serve & sleep 2; kill $!'],
  notes: [
    'Needs redis-server (or valkey-server) on the PATH. It listens on this machine alone, asks for a password that stands in the ' +
      'printed URL, and keeps its rows in the state directory, also over a restart. For several machines set up a Redis that all ' +
      'of them reach.',
  ],
  human: ({ url }) => `${url}\n`,
  async *run({ flags: { port = 0 } }, ctx) {
    const dir = path.join(trustedStateDir(ctx.host), 'queue');
    ensureDirectory(dir);
    const chosen = port === 0 ? await freePort() : port;
    const password = passwordIn(dir);
    const server = start({ dir, port: chosen, password }, ctx);
    const gone = new Promise<string>((resolve) => {
      server.child.on('error', (error) => resolve(error.message));
      server.child.on('close', (code) =>
        resolve(server.said().split('\n').at(-2) ?? `it ended with ${code}`),
      );
    });
    const late = pause(START_MS, `it did not say within ${START_MS / 1000} s that it is ready`, {
      ref: false,
    });
    try {
      const failed = await Promise.race([server.ready, gone, late, aborted(ctx.signal)]);
      ctx.signal.throwIfAborted();
      if (/in use/i.test(server.said()))
        throw usage(`--port ${chosen}: another program has it`, 'choose another --port');
      if (failed !== undefined) throw new GwError('unavailable', `redis-server did not start: ${failed}`);
      yield { value: { url: `redis://:${password}@127.0.0.1:${chosen}` } };
      ctx.io.note(`Redis listens on 127.0.0.1:${chosen} and keeps its rows in ${dir}, until Ctrl-C`);
      const why = await Promise.race([aborted(ctx.signal), gone]);
      if (why !== undefined) throw new GwError('unavailable', `redis-server ended by itself: ${why}`);
    } finally {
      server.child.kill('SIGTERM');
      const timer = setTimeout(() => server.child.kill('SIGKILL'), END_MS);
      await gone;
      clearTimeout(timer);
      server.lock.release();
    }
    throw ended(ctx.signal);
  },
});

/** Starts the server with its configuration on stdin, so that no process list shows the password. */
function start(
  { dir, port, password }: { readonly dir: string; readonly port: number; readonly password: string },
  { host, signal }: Context,
) {
  const program = programs.find((name) => onPath(name, host.env.PATH));
  if (!program)
    throw usage(
      'neither redis-server nor valkey-server is installed here',
      'install one (apt-get install redis-server), or name a Redis that runs elsewhere with --redis',
    );
  signal.throwIfAborted();
  const lockFile = path.join(dir, 'lock');
  const lock = tryLock(lockFile);
  // Two servers on one journal would lose each other's rows.
  if (!lock)
    throw usage(
      `${holderName(lockFile)} serves this queue already`,
      'use its URL, or end that process first',
    );
  // Its own process group keeps Ctrl-C from the server, which gw then ends itself.
  // The server needs no other variable, and the environment may contain an API key.
  const env = { PATH: host.env.PATH };
  const child = spawn(program, ['-'], { cwd: dir, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  // A server that outlives a killed gw keeps its lock on the journal.
  if (child.pid !== undefined) lock.handTo(child.pid);
  let said = '';
  const ready = new Promise<undefined>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-4096);
        if (STARTED.test(said)) resolve(undefined);
      });
    }
  });
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    'appendonly yes',
    // Losing an acknowledged step could create and pay for a row twice.
    'appendfsync always',
    'maxmemory-policy noeviction',
    'save ""',
    'daemonize no',
  ];
  child.stdin.on('error', () => {});
  child.stdin.end(`${lines.join('\n')}\n`);
  return { child, ready, lock, said: () => said };
}

const onPath = (name: string, dirs = ''): boolean =>
  dirs.split(path.delimiter).some((dir) => dir !== '' && fs.existsSync(path.join(dir, name)));

/** The password is stored, so that the URL of the workers stays valid between runs. */
function passwordIn(dir: string): string {
  const file = path.join(dir, 'password');
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch {
    const made = randomBytes(24).toString('hex');
    fs.writeFileSync(file, `${made}\n`, { mode: 0o600, flag: 'wx' });
    return made;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
