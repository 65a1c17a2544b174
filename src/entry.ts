import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { usage } from './errors.ts';
import { type Host, machineClock, steadyMs } from './host.ts';
import { main } from './main.ts';
import { restoreTerminal, Watchdog } from './watchdog.ts';

/** A shorter run needs no watchdog, and does not pay for starting one. */
const WATCHED_AFTER_MS = 1_000;

/** Facts that the launcher passes to the bundle. */
interface Launch {
  readonly version: string;
  readonly build?: string;
  readonly distDir: string;
  /** True if V8's flags may be changed in this run; false if absent. */
  readonly mayTouchFlags?: () => boolean;
  readonly codeCache?: Host['codeCache'];
}

/** Runs gw in the real process. It sets the exit code without forcing an exit, so that pipes receive all output. */
export async function run(launch: Launch): Promise<void> {
  const { version, build, distDir, mayTouchFlags = () => false, codeCache } = launch;
  // On Windows, SIGHUP means that the console window closes, and SIGBREAK is Ctrl-Break.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK'] as const;
  const env = { ...process.env };
  // gw always checks certificates; Node would warn that it does not.
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
    // Opened at first use, because opening a stream takes time and may keep the process alive.
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
      let heardAtMs = Number.NEGATIVE_INFINITY;
      const listener = (name: NodeJS.Signals) => {
        // A terminal's Ctrl-C reaches npx and gw, and npx passes it on to gw: within 100 ms that is one signal.
        if (steadyMs() - heardAtMs < 100) return;
        heardAtMs = steadyMs();
        if (process.listeners(name)[0] === listener) watchdog.interrupted();
        heard(name === 'SIGINT' || name === 'SIGHUP' ? name : 'SIGTERM');
      };
      for (const name of signals) process.on(name, listener);
      return () => signals.forEach((name) => void process.off(name, listener));
    },
    guardTerminal: () => watchdog.guardTerminal(),
    holdTerminal: (show) => watchdog.holdTerminal(show),
    // After the second Ctrl-C nothing may delay the exit.
    endNow: (code) => process.exit(code),
  };
  // This restores the terminal after a second interrupt or an uncaught error too.
  const restore = () => {
    const fd = [2, 1].find(isatty);
    if (fd !== undefined) writeSync(fd, restoreTerminal(watchdog.isGuarding));
  };
  process.on('exit', restore);
  process.exitCode = await main(process.argv.slice(2), host);
  process.off('exit', restore);
  // All output is written; an explicit exit saves the millisecond that Node needs to tear down its heap.
  process.once('beforeExit', (code) => process.exit(code));
}
