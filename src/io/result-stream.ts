import * as fs from 'node:fs';
import { ClosedPipe, errorCode, GwError } from '../errors.ts';
import { type Host, quietly } from '../host.ts';
import { SafeStream, type SecretFilter } from './secret-filter.ts';

// stdout: results in order. Each write waits for the one before it, and after the first failure nothing is written.

const PIECE_CHARACTERS = 32 * 1024;

interface ResultStreamOptions {
  readonly stream: Host['stdout'];
  readonly secrets: SecretFilter;
  /** Called before each write to a terminal that stderr shares, so that earlier messages are written first. */
  readonly before: () => Promise<void> | void;
  /** Called with each text that was written. */
  readonly after: (text: string) => void;
}

export class ResultStream {
  readonly #isTerminal: boolean;
  readonly #safe: SafeStream;
  #descriptor: { readonly fd: number | undefined } | undefined;
  #last: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  constructor(private readonly options: ResultStreamOptions) {
    this.#isTerminal = options.stream.isTTY === true;
    this.#safe = new SafeStream(options.secrets, this.#isTerminal);
    // Each write reports its own failure; without a listener, the same failure would end the process.
    options.stream.on('error', () => {});
  }

  /** Writes text or bytes, escaped on a terminal and unchanged elsewhere. Throws ClosedPipe, or `internal`. */
  text(text: string | Uint8Array): Promise<void> {
    return this.#inOrder(async () => {
      for (const piece of pieces(text)) await this.#write(this.#safe.push(piece));
    });
  }

  /** Writes gw's own text, which may hold colour; any part from outside must already be safe. */
  ownText(text: string): Promise<void> {
    return this.#inOrder(() => this.#write(this.#safe.end() + this.options.secrets.hide(text)));
  }

  bytes(bytes: Uint8Array): Promise<void> {
    return this.#inOrder(async () => {
      await this.#write(this.#safe.end());
      await this.#send(bytes);
    });
  }

  /** Writes bytes with only the secrets replaced. Their forms are ASCII, so each byte can count as a character. */
  filteredBytes(bytes: Uint8Array): Promise<void> {
    return this.#inOrder(async () => {
      const shown = this.#safe.pushBytes(bytes);
      if (shown !== '') await this.#send(Buffer.from(shown, 'latin1'));
    });
  }

  /** Writes held-back text; throws only if no call has thrown the failure yet. */
  drain(): Promise<void> {
    return this.#inOrder(async () => {
      if (this.#failure === undefined) await this.#write(this.#safe.end());
    }, true);
  }

  #inOrder(work: () => Promise<void>, evenAfterFailure = false): Promise<void> {
    const run = this.#last.then(() => {
      if (this.#failure !== undefined && !evenAfterFailure) throw this.#failure;
      return work();
    });
    this.#last = run.catch(() => {});
    return run;
  }

  async #write(text: string): Promise<void> {
    if (text === '') return;
    if (this.#isTerminal) await this.options.before();
    await this.#send(text);
    this.options.after(text);
  }

  async #send(data: string | Uint8Array): Promise<void> {
    const { stream } = this.options;
    this.#descriptor ??= { fd: plainFileDescriptor(stream) };
    const { fd } = this.#descriptor;
    try {
      if (fd !== undefined) writeWhole(fd, typeof data === 'string' ? Buffer.from(data) : data);
      else await writeAndWait(stream, data);
    } catch (error) {
      this.#failure = stdoutError(error, this.#isTerminal);
      throw this.#failure;
    }
  }
}

/** Yields a long text in pieces, so that no full copies of it are made on its way out. */
function* pieces(text: string | Uint8Array): Generator<string> {
  const decoder = typeof text === 'string' ? undefined : new TextDecoder();
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
    const end = at + PIECE_CHARACTERS;
    yield typeof text === 'string'
      ? text.slice(at, end)
      : (decoder?.decode(text.subarray(at, end), { stream: true }) ?? '');
  }
  const rest = decoder?.decode();
  if (rest) yield rest;
}

function writeAndWait(stream: Host['stdout'], data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

/** Codes that mean: the reader is gone, the terminal hung up, or stdout was never open for writing. */
const closedCodes = /^(EPIPE|ECONNRESET|EBADF|ERR_STREAM_(DESTROYED|WRITE_AFTER_END|PREMATURE_CLOSE))$/;

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than is allowed here',
  EIO: 'input/output error',
};

/**
 * The error of a failed write to stdout: ClosedPipe if nobody reads any more, else GwError `internal` (exit 1) with the
 * system's reason in words.
 */
function stdoutError(error: unknown, isTerminal: boolean): ClosedPipe | GwError {
  const code = errorCode(error) ?? 'unknown error';
  // A terminal that has gone away reports EIO.
  if (closedCodes.test(code) || (isTerminal && code === 'EIO')) return new ClosedPipe('stdout was closed');
  const reason = reasons[code];
  const words = reason === undefined ? code : `${reason} (${code})`;
  return new GwError('internal', `could not write to stdout: ${words}`, {
    hint: 'only a part was written: make room or send it elsewhere; gw jobs list shows the jobs that were created, and gw sessions the talks that were kept',
  });
}

/**
 * True if stdout was closed when gw started (`>&-`): then Node opens the null device in its place for reading and
 * writing, which no shell does. If the system does not tell (Linux does), stdout counts as open.
 */
export function wasClosed(stdout: unknown): boolean {
  try {
    if (
      (stdout as { readonly fd?: unknown }).fd !== 1 ||
      fs.fstatSync(1).rdev !== fs.statSync('/dev/null').rdev
    )
      return false;
    const flags = /^flags:\s*([0-7]+)/m.exec(fs.readFileSync('/proc/self/fdinfo/1', 'latin1'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & fs.constants.O_RDWR) !== 0;
  } catch {
    return false;
  }
}

/**
 * The descriptor of a stream to a file or a device that is not a terminal: Node writes once and ignores how much was
 * taken, so a nearly full disk would cut the output silently. Undefined for pipes and all others.
 */
function plainFileDescriptor(stream: object): number | undefined {
  const fd = 'fd' in stream ? stream.fd : undefined;
  if (typeof fd !== 'number' || fd < 0 || ('isTTY' in stream && stream.isTTY === true)) return undefined;
  // The stream's own write will report an error.
  const stat = quietly(() => fs.fstatSync(fd));
  return stat?.isFile() || stat?.isCharacterDevice() ? fd : undefined;
}

/** Writes all bytes to a descriptor in as many calls as needed; throws the system's error. */
function writeWhole(fd: number, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) {
    const count = fs.writeSync(fd, bytes, written, bytes.length - written);
    if (count === 0) throw Object.assign(new Error('nothing was written'), { code: 'EIO' });
    written += count;
  }
}
