import * as path from 'node:path';
import { defineCommand } from '../../command.ts';
import { stateDir } from '../../config/dirs.ts';
import { clipsDir, wasmDir } from '../../embedded-sandbox.ts';
import { errorCode, GwError, usage } from '../../errors.ts';
import { on, parsed, text } from '../../flags/flag.ts';
import { type AccountType, accountTypes } from '../../gateway/limits.ts';
import { FaultSpecError, faultHelp, parseFaults } from '../../sandbox/faults.ts';
import { notImitated } from '../../sandbox/not-imitated.ts';
import { startSandbox } from '../../sandbox/server.ts';

const DEFAULT_KEY = 'sandbox-key';

const flags = {
  port: parsed('PORT', 'port of the API (default: any free one)', portOf),
  key: text('KEY', `the key that is let in (default ${DEFAULT_KEY}; not a secret: it opens nothing else)`),
  speed: parsed(
    'N',
    'how many times faster than the service tasks run and chat models write (default 1)',
    speedOf,
  ),
  account: parsed('TYPE', 'whose limits hold (default enterprise)', accountOf, { choices: accountTypes }),
  fault: parsed('SPEC', 'misbehave: see below', faultsOf),
  fresh: on('remember nothing between runs'),
} as const;

function portOf(raw: string, flag: string): number {
  const port = /^\d{1,5}$/.test(raw) ? Number(raw) : Number.NaN;
  if (!(port <= 65_535)) throw usage(`${flag} ${raw}: not a port`, 'give 0 to 65535');
  return port;
}

function speedOf(raw: string, flag: string): number {
  const speed = /^\d+(\.\d+)?$/.test(raw) ? Number(raw) : Number.NaN;
  if (!(speed > 0)) throw usage(`${flag} ${raw}: not a number above 0`);
  return speed;
}

function accountOf(raw: string, flag: string): AccountType {
  const type = accountTypes.find((known) => known === raw);
  if (!type) throw usage(`${flag} ${raw}: one of ${accountTypes.join(', ')}`);
  return type;
}

function faultsOf(raw: string, flag: string) {
  try {
    return parseFaults(raw);
  } catch (error) {
    if (error instanceof FaultSpecError) throw usage(`${flag} ${raw}: ${error.message}`);
    throw error;
  }
}

interface Served {
  readonly base_url: string;
  readonly output_url: string;
  readonly key: string;
}

/** `gw sandbox serve`: the embedded gateway for other programs, until it is interrupted. */
export const serve = defineCommand<typeof flags, Served>({
  flags,
  examples: [
    'gw sandbox serve --port 4010 --speed 10 & sleep 1; kill $!',
    'gw sandbox serve --port 4010 --speed 100 --fault "create:503:x1,output:cut:20%" & sleep 1; kill $!',
  ],
  notes: [
    `Faults:\n${faultHelp.map((line) => `  ${line}`).join('\n')}`,
    `What it does not imitate:\n${notImitated.map((line) => `  ${line}`).join('\n')}`,
  ],
  sends: 'nothing',
  async *run({ flags }, ctx) {
    const key = flags.key ?? DEFAULT_KEY;
    const sandbox = await startSandbox({
      key,
      account: flags.account ?? 'enterprise',
      speed: flags.speed ?? 1,
      faults: flags.fault ?? [],
      clipsDir: clipsDir(ctx.host),
      wasmDir: wasmDir(ctx.host),
      ...(!flags.fresh && { stateDir: path.join(stateDir(ctx.host), 'sandbox-serve') }),
      keepRequests: false,
      port: flags.port ?? 0,
      now: ctx.clock.now,
      log: (request) => ctx.io.note(`${request.method} ${request.path} ${request.status ?? 'no reply'}`),
    }).catch((error: unknown) => {
      if (errorCode(error) === undefined) throw error;
      throw new GwError(
        'usage',
        `the sandbox cannot listen on port ${flags.port ?? 0}: ${errorCode(error)}`,
        { hint: 'choose another --port' },
      );
    });
    try {
      yield { value: { base_url: sandbox.baseUrl, output_url: sandbox.outputUrl, key } };
      ctx.io.note('serving until Ctrl-C');
      await new Promise<void>((resolve) =>
        ctx.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
    } finally {
      await sandbox.close();
    }
    throw ctx.signal.reason;
  },
  human: ({ base_url, key }) => `GW_BASE_URL=${base_url}\nGW_API_KEY=${key}\n`,
});
