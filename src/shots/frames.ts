import { type ChildProcess, execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureDirectory } from '../disk/durable-directory.ts';
import { GwError, usage } from '../errors.ts';
import type { Clock } from '../host.ts';
import { oneLine } from '../io/escape.ts';

// Cuts pictures out of videos with the user's ffmpeg, which reads one file, has twenty seconds, and writes one picture.
// Pictures are cached by the video's digest.

interface FrameInput {
  readonly video: string;
  /** The digest of the video's content. */
  readonly sha256: string;
  readonly part: 'first_frame' | 'last_frame';
  /** The name in messages. */
  readonly named: string;
}

export interface FrameDeps {
  /** The cache directory for the pictures. */
  readonly cacheDir: string;
  /** The complete environment of ffmpeg. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'steady'>;
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 20_000;
const MOST_PIXELS = 64 << 20;
const LARGEST_PICTURE = 100 << 20;
/** The limit of the error text that is kept from ffmpeg. */
const MOST_SAID = 1 << 20;
/** Where to look for the last frame, in seconds from the end; undefined decodes the whole video. */
const TAILS = ['-0.5', '-4', undefined];

/** The path of a frame as PNG. Throws `usage` if ffmpeg is missing, fails, hangs, or finds no picture. */
export async function cutFrame(input: FrameInput, deps: FrameDeps): Promise<string> {
  const { video, sha256, part, named } = input;
  const dir = path.join(deps.cacheDir, 'frames');
  const kept = path.join(dir, `${sha256}-${part}.png`);
  if (isPicture(kept)) return kept;
  ensureDirectory(dir);
  const own = fs.mkdtempSync(path.join(dir, 'cut-'));
  try {
    const cut = path.join(own, 'frame.bmp');
    const png = path.join(own, 'frame.png');
    const bound = { ...deps, untilMs: deps.clock.steady() + (deps.deadlineMs ?? DEADLINE_MS), dir: own };
    const ffmpeg = (words: readonly string[]) => runFfmpeg(words, bound, named);
    if (part === 'first_frame') await ffmpeg([...reading(video), ...writing(png, 'png', ['-frames:v', '1'])]);
    else {
      // Each decoded frame overwrites the previous one as an uncompressed picture, so the last frame remains.
      for (const tail of TAILS) {
        const seek = tail === undefined ? [] : ['-sseof', tail];
        const run = ffmpeg([
          ...seek,
          ...reading(video),
          ...writing(cut, 'bmp', ['-fps_mode', 'passthrough']),
        ]);
        // If seeking from the end fails, decoding from the start may still work.
        await (tail === undefined ? run : run.catch((error: unknown) => refuseGone(error)));
        if (isPicture(cut)) break;
      }
      if (isPicture(cut)) await ffmpeg([...reading(cut), ...writing(png, 'png', ['-frames:v', '1'])]);
    }
    if (!isPicture(png)) throw noFrame(named, 'it found no picture in it');
    fs.chmodSync(png, 0o600);
    fs.renameSync(png, kept);
    return kept;
  } finally {
    fs.rmSync(own, { recursive: true, force: true });
  }
}

function isPicture(file: string): boolean {
  const stats = fs.lstatSync(file, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size > 0 && stats.size <= 4 * MOST_PIXELS + LARGEST_PICTURE;
}

const reading = (file: string): string[] => [
  ...['-protocol_whitelist', 'file', '-max_pixels', String(MOST_PIXELS)],
  ...['-i', file, '-map', '0:v:0', '-an', '-sn', '-dn'],
];

const writing = (file: string, codec: string, how: readonly string[]): string[] => [
  ...how,
  ...['-c:v', codec, '-f', 'image2', '-update', '1', '-y', file],
];

interface Bound extends FrameDeps {
  readonly untilMs: number;
  readonly dir: string;
}

/** ffmpeg is missing or has used up its time, so no further attempt can succeed. */
class NoFfmpeg extends GwError {}

function refuseGone(error: unknown): void {
  if (error instanceof NoFfmpeg || !(error instanceof GwError)) throw error;
}

async function runFfmpeg(words: readonly string[], bound: Bound, named: string): Promise<void> {
  if (await runOnce(words, bound, named)) return;
  // Older versions of ffmpeg call this option -vsync.
  const older = words.map((word) => (word === '-fps_mode' ? '-vsync' : word));
  await runOnce(older, bound, named);
}

/** True if ffmpeg succeeded; false if it does not know an option. Throws `usage` if it fails. */
function runOnce(
  words: readonly string[],
  { env, signal, clock, untilMs, dir }: Bound,
  named: string,
): Promise<boolean> {
  signal.throwIfAborted();
  const child = spawn('ffmpeg', ['-nostdin', '-hide_banner', '-loglevel', 'error', ...words], {
    cwd: dir,
    env,
    // In its own process group, so that all its processes can be killed.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let said = '';
    let bytes = 0;
    let over: unknown;
    const end = (reason: unknown) => {
      over ??= reason;
      endGroup(child);
      // A process that ffmpeg left running may hold the pipe.
      child.stderr.destroy();
    };
    const tooLong = () => end(gone(named, `ffmpeg gave no picture within ${DEADLINE_MS / 1000} s`));
    const timer = setTimeout(tooLong, Math.max(0, untilMs - clock.steady()));
    const stop = () => end(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      bytes += text.length;
      said = (said + text).slice(-2000);
      if (bytes > MOST_SAID) end(noFrame(named, lastLine(said.slice(0, said.lastIndexOf('\n')))));
    });
    const settle = (settled: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      settled();
    };
    child.once('error', ({ code }: NodeJS.ErrnoException) => {
      const why =
        code === 'ENOENT' ? 'there is no ffmpeg here to cut it out' : `ffmpeg cannot be run (${code})`;
      settle(() => reject(gone(named, why)));
    });
    child.once('close', (code) =>
      settle(() => {
        if (over !== undefined) reject(over);
        else if (code === 0) resolve(true);
        else if (said.includes("'fps_mode'")) resolve(false);
        else reject(noFrame(named, lastLine(said)));
      }),
    );
  });
}

function endGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  } catch {
    // The process has ended already.
  }
}

const lastLine = (said: string): string => oneLine(/[^\r\n]*$/.exec(said.trim())?.[0] ?? '', 300);

const HINT =
  'a task made with --return-last-frame (alpha) has its last frame by itself; gw doctor names the ffmpeg it finds';
const noFrame = (named: string, why: string) =>
  usage(`${named}: ffmpeg cannot read the video: ${why || 'it ended without a word'}`, HINT);
const gone = (named: string, why: string) =>
  new NoFfmpeg('usage', `${named}: ${why}`, { hint: `install ffmpeg; ${HINT}` });

const VERSION_MS = 5_000;

/** The version that the user's ffmpeg reports; undefined if there is none. */
export function ffmpegVersion(
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options = { env, signal, timeout: VERSION_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 16 } as const;
  return new Promise((resolve) => {
    execFile('ffmpeg', ['-version'], options, (error, said) => {
      const [, version] = /^ffmpeg version (\S+)/.exec(said) ?? [];
      resolve(error || version === undefined ? undefined : oneLine(version, 80));
    });
  });
}
