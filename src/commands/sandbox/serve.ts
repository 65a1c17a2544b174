import * as fs from 'node:fs';
import * as path from 'node:path';
import { defineCommand } from '../../command.ts';
import { sandboxKey } from '../../config/settings.ts';
import { readSmallFile } from '../../disk/typed-input.ts';
import { clipsDir, sandboxStateDir, wasmDir } from '../../embedded-sandbox.ts';
import { ended, usage } from '../../errors.ts';
import { type Flag, on, oneOf, parsed, port, text, withValue } from '../../flags/flag.ts';
import { KEY_RULE, keyFault } from '../../gateway/endpoint.ts';
import { accountTypes } from '../../gateway/limits.ts';
import { aborted } from '../../host.ts';
import { makeCertificate } from '../../sandbox/certificate.ts';
import { controlHelp } from '../../sandbox/control.ts';
import { diskStore } from '../../sandbox/disk-store.ts';
import { type Fault, FaultSpecError, parseFaults } from '../../sandbox/faults.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { cannotListen, isEveryAddress, ownAddress } from '../own-address.ts';

const flags = {
  port: port('port of the API (default: any free one)'),
  outputPort: port('port of the outputs, so that links outlive a restart (default: any free one)'),
  host: parsed('ADDR', 'address of this machine to listen at, or a name of it (default 127.0.0.1)', hostOf),
  key: parsed('KEY', 'the key that is let in (default: a new one, which is printed)', keyOf),
  speed: parsed(
    'N',
    'how many times faster than the service tasks run and chat models write (default 1)',
    speedOf,
  ),
  account: oneOf(accountTypes, 'whose limits hold (default enterprise)', { value: 'TYPE' }),
  strict: on('refuse what the document does not list, in place of passing it over'),
  control: on('open /_sandbox/ for tests: next outcome, time forward, faults, requests, reset'),
  cors: listOf(parsed('ORIGIN', 'let pages of this origin call', originOf)),
  callbacks: listOf(port('send status callbacks to this port of this machine')),
  fault: text('SPEC|FILE', 'misbehave (gw help faults); a file has a SPEC a line, # begins a comment'),
  tls: on('serve over TLS with a certificate of its own, whose file is printed as GW_CACERT'),
  fresh: on('forget the tasks of earlier runs, and keep none of this one'),
} as const;

function listOf<T>(each: Flag<T>): Flag<readonly T[]> {
  return { ...each, list: true, parse: (raw, flag) => [each.parse(raw, flag)] };
}

function hostOf(raw: string, flag: string): string {
  if (!isEveryAddress(ownAddress(raw, flag))) return raw;
  throw usage(`${flag} ${raw} is every address of this machine`, 'name the one that its callers use');
}

function keyOf(raw: string, flag: string): string {
  const fault = keyFault(raw);
  if (fault === undefined) return raw;
  throw usage(`${flag} ${fault}`, KEY_RULE);
}

function originOf(raw: string, flag: string): string {
  if (/^https?:/.test(raw) && URL.canParse(raw) && new URL(raw).origin === raw) return raw;
  const hint = 'give scheme, host and port alone, such as http://localhost:3000';
  throw usage(`${withValue(flag, raw)}: not an origin`, hint);
}

function speedOf(raw: string, flag: string): number {
  const speed = /^\d+(\.\d+)?$/.test(raw) ? Number(raw) : Number.NaN;
  if (!(speed > 0))
    throw usage(`${withValue(flag, raw)}: not a number above 0`, 'give 10 for ten times as fast');
  return speed;
}

const MAX_FAULTS_BYTES = 1 << 20;

/** The faults of a SPEC, or of the file with that name. */
function faultsOf(raw: string, cwd: string): Fault[] {
  const file = path.resolve(cwd, raw);
  try {
    // Each fault of a SPEC has a colon, so a word without one is the name of a file.
    if (raw.includes(':') && !fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return parseFaults(raw);
    const hint = 'a SPEC is written WHERE:WHAT, such as create:503: gw help faults';
    const limits = { named: `--fault ${raw}`, maxBytes: MAX_FAULTS_BYTES, hint };
    const lines = readSmallFile(file, limits).toString().split('\n');
    const specs = lines.map((line) => line.replace(/#.*/, '').trim()).filter((line) => line !== '');
    return specs.flatMap((spec) => parseFaults(spec));
  } catch (error) {
    if (error instanceof FaultSpecError) throw usage(`--fault ${raw}: ${error.message}`);
    throw error;
  }
}

interface Served {
  readonly base_url: string;
  readonly output_url: string;
  readonly key: string;
  /** The certificate file, with --tls. */
  readonly cacert?: string;
  readonly speed: number;
  readonly cors: readonly string[];
  readonly callbacks: readonly number[];
}

/** `gw sandbox serve` runs the embedded gateway for other programs until it is interrupted. */
export const serve = defineCommand<typeof flags, Served>({
  flags,
  examples: [
    'gw sandbox serve --port 4010 --speed 10 & sleep 1; kill $!',
    'gw sandbox serve --key demo --callbacks 9000 --cors http://localhost:3000 & sleep 1; kill $!',
    'gw sandbox serve --port 4010 --speed 100 --fault "create:503:x1,output:cut:20%" & sleep 1; kill $!',
  ],
  notes: [
    'What it does not imitate: gw help sandbox-limits.',
    `With --control, to programs that have the key:\n${controlHelp.map((line) => `  ${line}`).join('\n')}`,
  ],
  async *run({ flags }, ctx) {
    const { port = 0, outputPort = 0, host, speed = 1, cors = [], callbacks = [] } = flags;
    if (port !== 0 && port === outputPort)
      throw usage(
        `--output-port ${port} is --port too`,
        'outputs have an origin of their own: give another port',
      );
    const key = flags.key ?? sandboxKey();
    const tls = flags.tls ? makeCertificate(host ?? 'localhost', ctx.clock.now()) : undefined;
    const stateDir = sandboxStateDir(ctx.host, 'sandbox-serve');
    if (flags.fresh) diskStore(stateDir).clear();
    const sandbox = await startSandbox({
      key,
      account: flags.account ?? 'enterprise',
      speed,
      faults: flags.fault === undefined ? [] : faultsOf(flags.fault, ctx.host.cwd),
      clipsDir: clipsDir(ctx.host),
      wasmDir: wasmDir(ctx.host),
      ...(!flags.fresh && { stateDir }),
      keepRequests: false,
      port,
      outputPort,
      host,
      tls,
      cors,
      callbackPorts: callbacks,
      strict: flags.strict,
      control: flags.control,
      tell: (what) => ctx.io.note(what),
      now: ctx.clock.now,
      log: (request) => ctx.io.note(`${request.method} ${request.path} ${request.status ?? 'no reply'}`),
    }).catch((error: unknown) => {
      throw cannotListen(error, { outputPort, host });
    });
    const { baseUrl: base_url, outputUrl: output_url } = sandbox;
    const cacert = tls && path.join(stateDir, `certificate-${new URL(base_url).port}.pem`);
    try {
      if (tls && cacert) fs.writeFileSync(cacert, tls.cert);
      const served = { base_url, output_url, key, ...(cacert && { cacert }), speed, cors, callbacks };
      yield { value: served };
      for (const line of rulesOf(served, flags.key === undefined)) ctx.io.note(line);
      await aborted(ctx.signal);
    } finally {
      await sandbox.close();
      if (cacert) fs.rmSync(cacert, { force: true });
    }
    throw ended(ctx.signal);
  },
  human: ({ base_url, key, cacert }) =>
    `GW_BASE_URL=${base_url}\nGW_API_KEY=${key}\n${cacert ? `GW_CACERT=${cacert}\n` : ''}`,
});

/** The rules of the server that a user must know before giving it to other programs. */
function rulesOf({ base_url, key, speed, cors, callbacks }: Served, isNewKey: boolean): string[] {
  const pace = speed === 1 ? 'at the pace of the service' : `${speed} times as fast as the service`;
  const those = (list: readonly unknown[], flag: string) =>
    list.length > 0 ? list.join(', ') : `none (${flag} allows one)`;
  return [
    `serving at ${base_url}, ${pace}, until Ctrl-C`,
    `key: ${key}${isNewKey ? ' (new for this run; --key sets one)' : ''}; programs send Authorization: Bearer KEY`,
    `requests must name it by its own address (Host ${new URL(base_url).host})`,
    `pages of other origins: ${those(cors, '--cors')}; callbacks to ports: ${those(callbacks, '--callbacks')}`,
  ];
}
