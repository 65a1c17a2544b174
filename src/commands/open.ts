import * as path from 'node:path';
import { defineCommand } from '../command.ts';
import { readVariable } from '../config/environment.ts';
import { type Context, commandFor } from '../context.ts';
import { GwError } from '../errors.ts';
import { on } from '../flags/flag.ts';
import type { Host } from '../host.ts';
import { outputsBySize } from '../jobs/save/saved.ts';
import { taskOf } from '../ledger/settled.ts';
import type { KnownJob } from './jobs/find-jobs.ts';
import { jobIdSummary, knownJob } from './jobs/jobs-by-id.ts';

const flags = { folder: on('open the folder that the output is in') } as const;

/** The file that was opened, or would have been on a machine with a desktop. */
interface Opened {
  readonly id: string;
  readonly path: string;
  readonly opened: boolean;
}

/** `gw open ID|last` opens a job's first output in the desktop's program for it. */
export const open = defineCommand<typeof flags, Opened>({
  args: { name: 'ID', summary: jobIdSummary, required: true, completes: 'output' },
  flags,
  examples: ['gw image create --sandbox "a fox in the snow" && gw open last', 'gw open last --folder'],
  notes: [
    'Where there is no desktop (over SSH, in a container), the path is printed in place of being opened.',
  ],
  async run({ args, flags }, ctx) {
    const { id, job, family } = await knownJob(args, ctx);
    const { files, missing } = outputsBySize(job, family);
    const file = files[0] ?? missing.find(({ rescued }) => rescued)?.rescued;
    if (!file) throw await nothingToOpen({ job, family }, missing[0]?.path, ctx);
    const target = flags.folder ? path.dirname(file.path) : file.path;
    return { value: { id, path: target, opened: await openOnDesktop(target, ctx) } };
  },
  human: ({ path: target, opened }) => (opened ? '' : `${target}\n`),
});

async function nothingToOpen(known: KnownJob, gone: string | undefined, ctx: Context): Promise<GwError> {
  const { job, family } = known;
  const id = job.id ?? job.key;
  const { error } = (await (await import('./jobs/task-job.ts')).endedOutcome(known, ctx.signal)) ?? {};
  const ended = error instanceof GwError ? error : undefined;
  const none = [`job ${id} has no saved output`, ended?.message].filter(Boolean).join(': ');
  const what = gone ? `${gone} is gone, unreadable or not what was saved` : none;
  // The gateway keeps no copy of an image that came as Base64.
  const keepsNone = gone && job.family === 'image' && !taskOf(job, family)?.outputs.length;
  const anew = keepsNone && (await import('./jobs/image-jobs.ts')).goneFacts(id, gone, ctx);
  const save = anew || { hint: `save it with: ${commandFor(`gw jobs download ${id}`, ctx)}` };
  return new GwError('not_found', what, { taskId: id, ...(ended ? { hint: ended.hint } : save) });
}

/** The desktop's program that opens any file; undefined if there is no desktop. */
function openerOf({ platform, env }: Pick<Host, 'platform' | 'env'>): string | undefined {
  if (platform === 'darwin') return 'open';
  // `start` is built into the Windows shell; this is the program behind it.
  if (platform === 'win32') return 'explorer.exe';
  return (readVariable(env, 'DISPLAY') ?? readVariable(env, 'WAYLAND_DISPLAY')) && 'xdg-open';
}

/** A program that fails exits within this time; a viewer that runs longer is left alone. */
const SAYS_SO_MS = 2_000;

/** Opens an absolute path without a shell and says so; returns whether it succeeded, as far as can be told. */
export async function openOnDesktop(target: string, ctx: Context): Promise<boolean> {
  const opened = await isOpened(target, ctx);
  ctx.io.note(opened ? `opened ${target}` : 'no desktop opened it, so its path is printed');
  return opened;
}

async function isOpened(target: string, { host, settings }: Context): Promise<boolean> {
  const opener = openerOf(host);
  if (opener === undefined) return false;
  const { spawn } = await import('node:child_process');
  const env = (await settings()).childEnvironment();
  const child = spawn(opener, [target], { env, detached: true, stdio: 'ignore' });
  child.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), SAYS_SO_MS);
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    child.once('error', () => end(false));
    // Explorer always exits with 1.
    child.once('exit', (code) => end(code === 0 || host.platform === 'win32'));
  });
}
