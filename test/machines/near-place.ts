import { PassThrough, Readable } from 'node:stream';
import type { EndingSignal } from '../../src/errors.ts';
import { machineClock } from '../../src/host.ts';
import { main } from '../../src/main.ts';
import { Place, type Running, type StartOptions } from '../cli/place.ts';
import { assetsDir } from '../helpers/assets-dir.ts';

/**
 * A machine whose runs of gw are in the test's process, with the clock of the machine: what a process of its own adds is a
 * second of work a run, and nothing that the test is about. Such a run hears signals, and cannot be killed.
 */
export class NearPlace extends Place {
  readonly #near = new Set<Running>();

  override start(argv: readonly string[], { env }: StartOptions = {}): Running {
    const hearers = new Set<(signal: EndingSignal) => void>();
    const written = { out: '', err: '' };
    const stream = (name: 'out' | 'err') =>
      new PassThrough({ encoding: 'utf8' }).on('data', (text: string) => {
        written[name] += text;
      });
    const [stdout, stderr] = [stream('out'), stream('err')];
    const ended = main(argv, {
      ...{ env: this.env(env), cwd: this.cwd, homeDir: this.home, platform: process.platform },
      ...{ version: '0.0.0-test', assetsDir, clock: machineClock, random: Math.random },
      ...{ stdin: Readable.from([]), stdout, stderr },
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
      child: { kill } as unknown as Running['child'],
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
