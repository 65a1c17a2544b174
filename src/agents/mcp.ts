import { existsSync, realpathSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { defineCommand } from '../command.ts';
import { ensureDirectory } from '../disk/durable-directory.ts';
import { fileFault } from '../disk/typed-input.ts';
import { usage } from '../errors.ts';
import { filled, on, whole } from '../flags/flag.ts';
import { budgetFlags } from '../flags/job-flags.ts';

const MAX_JOBS = 10;

const flags = {
  root: filled('DIR', 'the folder below which files are read (default: the working directory)'),
  out: filled('DIR', 'the folder below which outputs are saved (default: the working directory)', {
    short: 'o',
  }),
  maxJobs: whole('N', `make at most N jobs an hour, over every gw mcp of this user (default ${MAX_JOBS})`),
  maxCost: {
    ...budgetFlags.maxCost,
    summary: "spend at most this an hour, over every gw mcp: '5 CNY', by the setting prices",
  },
  confirm: on('have the client ask its user before each payment; refuse where it cannot'),
} as const;

/** `gw mcp` serves the tools of gw to an agent, by the Model Context Protocol on stdin and stdout. */
export const mcp = defineCommand<typeof flags, never>({
  about: 'Serve the tools of gw to an agent, by the Model Context Protocol on stdin and stdout.',
  flags,
  examples: [
    'gw mcp --sandbox < /dev/null',
    'gw mcp --sandbox --root . --out clips --max-jobs 5 < /dev/null',
  ],
  notes: [
    'Stdout is the protocol alone; what happens is told on stderr. It ends when stdin ends. gw help agents says how a client ' +
      'is told of it.',
  ],
  sends: 'nothing',
  async run({ flags: { root = '.', out = '.', maxJobs = MAX_JOBS, maxCost, confirm = false } }, ctx) {
    const { cwd } = ctx.host;
    const { serve } = await import('./serve.ts');
    const places = { root: folder('--root', root, cwd), out: folder('--out', out, cwd, true) };
    const agentLimits = { maxJobs, maxCost };
    const openDesk = async () => (await import('./desk.ts')).Desk.open(places, { ...ctx, agentLimits });
    await serve({ confirm, openDesk }, ctx);
    return {};
  },
  human: () => '',
});

/** The real path of a folder. Throws `usage` if it is no folder. */
function folder(flag: string, name: string, cwd: string, mayMake = false): string {
  const named = `${flag} ${name}`;
  const dir = path.resolve(cwd, name);
  try {
    if (mayMake && !existsSync(dir)) ensureDirectory(dir, 0o777, false);
    if (statSync(dir).isDirectory()) return realpathSync.native(dir);
  } catch (error) {
    throw fileFault(error, named, 'name a directory');
  }
  throw usage(`${named}: is no directory`, 'name a directory');
}
