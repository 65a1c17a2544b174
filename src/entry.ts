import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { usage } from './errors.ts';
import { type Host, machineClock } from './host.ts';
import { main } from './main.ts';
import { restoreTerminal, Watchdog } from './watchdog.ts';

/** What ends sooner needs no watchdog, and does not pay for one. */
const WATCHED_AFTER_MS = 1_000;

/** What the launcher knows and the bundle does not. */
interface Launch {
  readonly version: string;
  readonly build?: string;
  readonly distDir: string;
  /** Whether V8's flags may be touched in this run; left out, they may not. */
  readonly mayTouchFlags?: () => boolean;
  readonly codeCache?: Host['codeCache'];
}

/** Runs gw in the real process; the exit code is set, never forced, so that pipes take all that was written. */
export async function run(launch: Launch): Promise<void> {
  const { version, build, distDir, mayTouchFlags = () => false, codeCache } = launch;
  // SIGHUP is the closing of its window on Windows, and SIGBREAK Ctrl-Break.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK'] as const;
  const env = { ...process.env };
  // Certificates are always checked. Node would warn that they are not.
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  const watchdog = new Watchdog(distDir);
  setTimeout(() => watchdog.start(), WATCHED_AFTER_MS).unref();
  const host: Host = {
    env,
    get cwd() {
      try {
        return process.cwd();
      } catch {
        throw usage('the working directory is gone', 'change to one that is there, such as your home');
      }
    },
    platform: process.platform,
    homeDir: process.env.HOME ?? process.env.USERPROFILE,
    version,
    build,
    assetsDir: distDir,
    // Opened at first use: a stream that nobody asks for costs time and may hold the process.
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    clock: machineClock,
    random: Math.random,
    mayTouchFlags,
    codeCache,
    onSignal: (heard) => {
      const listeners = signals.map((name) => {
        const listener = () => {
          if (process.listeners(name)[0] === listener) watchdog.interrupted();
          heard(name === 'SIGBREAK' ? 'SIGTERM' : name);
        };
        process.on(name, listener);
        return () => process.off(name, listener);
      });
      return () => {
        for (const stop of listeners) stop();
      };
    },
    guardTerminal: () => watchdog.guardTerminal(),
    holdTerminal: (show) => watchdog.holdTerminal(show),
    // The second Ctrl-C: nothing may hold the process any longer.
    endNow: (code) => process.exit(code),
  };
  // However it ends: by a second interrupt, or by a fault that nothing caught.
  const restore = () => {
    const fd = [2, 1].find(isatty);
    if (fd !== undefined) writeSync(fd, restoreTerminal(watchdog.isGuarding));
  };
  process.on('exit', restore);
  process.exitCode = await main(process.argv.slice(2), host);
  process.off('exit', restore);
  // Once all is written and nothing is awaited: Node would take its heap apart first, for more than a millisecond.
  process.once('beforeExit', (code) => process.exit(code));
}
