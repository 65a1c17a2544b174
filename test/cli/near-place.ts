import * as path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { EndingSignal } from '../../src/errors.ts';
import { machineClock } from '../../src/host.ts';
import { main } from '../../src/main.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { builtGw } from './built.ts';
import { openSandbox, Place, type Running, type StartOptions } from './place.ts';

/**
 * A place that runs gw in the test's process with the real clock, because starting a process is most of the work of a short
 * run. A run under another command (`wrap`), a run that is killed (`isKilled`) and every run of the one-file gw still get a
 * process of their own. A run in the test's process receives signals but cannot be killed.
 */
export class NearPlace extends Place {
  readonly #near = new Set<Running>();

  override start(argv: readonly string[], options: StartOptions = {}): Running {
    const { wrap, isKilled } = options;
    if (wrap || isKilled || process.env.GW_TEST_BINARY !== undefined) return super.start(argv, options);
    const env = this.env(options.env);
    const distDir = path.join(path.dirname(builtGw().script), '../dist');
    const hearers = new Set<(signal: EndingSignal) => void>();
    const written = { out: '', err: '' };
    const stream = (name: 'out' | 'err') =>
      new PassThrough().on('data', (bytes: Buffer) => {
        written[name] += bytes.toString();
      });
    const [stdout, stderr] = [stream('out'), stream('err')];
    const isOpen = options.stdin === 'open';
    const stdin = isOpen ? new PassThrough() : Readable.from([Buffer.from(options.stdin ?? '')]);
    const ended = main(argv, {
      ...{ env, cwd: options.cwd ?? this.cwd, homeDir: env.HOME, platform: process.platform },
      ...{ version: '0.0.0-test', assetsDir: distDir, clock: machineClock, random: Math.random },
      ...{ stdin, stdout, stderr },
      mayTouchFlags: () => false,
      guardTerminal: async () => () => {},
      endNow: () => {
        throw new Error('the run was ended by force');
      },
      onSignal(hear) {
        hearers.add(hear);
        return () => hearers.delete(hear);
      },
    }).then((code) => {
      this.#near.delete(running);
      return { code, signal: null, ...written };
    });
    const kill = (signal: EndingSignal | 'SIGKILL'): true => {
      if (signal === 'SIGKILL') throw new Error('only a process can be killed');
      for (const hear of hearers) hear(signal);
      return true;
    };
    const running: Running = {
      child: { kill, stdin, stdout, stderr } as unknown as Running['child'],
      pid: process.pid,
      out: () => written.out,
      err: () => written.err,
      ended,
    };
    this.#near.add(running);
    return running;
  }

  override async close(): Promise<void> {
    for (const { child, ended } of this.#near) {
      child.kill('SIGTERM');
      await ended;
    }
    super.close();
  }
}

/** Like `openPlace`, for a `NearPlace`. */
export async function openNearPlace(
  ...options: Parameters<typeof openSandbox>
): Promise<NearPlace & { readonly sandbox: Sandbox }> {
  const sandbox = await openSandbox(...options);
  return Object.assign(new NearPlace(sandbox), { sandbox });
}
