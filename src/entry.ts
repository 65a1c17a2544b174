import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from './host.ts';
import { main } from './main.ts';

/** What the launcher knows and the bundle does not. */
interface Launch {
  readonly version: string;
  readonly distDir: string;
  readonly mayTouchFlags: () => boolean;
  readonly codeCache: NonNullable<Host['codeCache']>;
}

/** Runs gw in the real process; the exit code is set, never forced, so that pipes take all that was written. */
export async function run({ version, distDir, mayTouchFlags, codeCache }: Launch): Promise<void> {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const env = { ...process.env };
  // Certificates are always checked. Node would warn that they are not.
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  const host: Host = {
    env,
    get cwd() {
      return process.cwd();
    },
    platform: process.platform,
    homeDir: process.env.HOME ?? process.env.USERPROFILE,
    version,
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
    clock: {
      now: Date.now,
      steady: () => performance.now(),
      sleep: (ms, signal) =>
        delay(ms, undefined, signal ? { signal } : {}).catch((error) => {
          throw signal?.aborted ? signal.reason : error;
        }),
    },
    random: Math.random,
    mayTouchFlags,
    codeCache,
    onSignal: (heard) => {
      const listeners = signals.map((name) => {
        const listener = () => heard(name);
        process.on(name, listener);
        return () => process.off(name, listener);
      });
      return () => {
        for (const stop of listeners) stop();
      };
    },
    // The second Ctrl-C: nothing may hold the process any longer.
    endNow: (code) => process.exit(code),
  };
  process.exitCode = await main(process.argv.slice(2), host);
}
