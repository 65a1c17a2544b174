// stdout: results in order, each write taken before the next, and the first failure the last word.
import type { Host } from '../host.ts';
import { PairJoiner, VisibleStream } from './escape.ts';
import { plainFileDescriptor, writeWhole } from './file-descriptor.ts';
import { type SecretFilter, SecretStream } from './secret-filter.ts';
import { stdoutError } from './stdout-errors.ts';

const PIECE_CHARACTERS = 32 * 1024;

export interface ResultStreamOptions {
  readonly stream: Host['stdout'];
  readonly secrets: SecretFilter;
  /** Called before each write that reaches the same terminal as side talk; side talk written earlier must be out. */
  readonly before: () => Promise<void> | void;
  /** Called with each text that went out. */
  readonly after: (text: string) => void;
}

export class ResultStream {
  readonly #options: ResultStreamOptions;
  readonly #isTerminal: boolean;
  readonly #guard: PairJoiner | VisibleStream;
  readonly #secrets: SecretStream;
  #descriptor: { readonly fd: number | undefined } | undefined;
  #last: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  constructor(options: ResultStreamOptions) {
    this.#options = options;
    this.#isTerminal = options.stream.isTTY === true;
    this.#guard = this.#isTerminal ? new VisibleStream() : new PairJoiner();
    this.#secrets = new SecretStream(options.secrets);
    // Each write hears of its own failure; without a listener the same failure would end the process.
    options.stream.on('error', () => {});
  }

  /** Text, made visible on a terminal and exact elsewhere. Throws ClosedPipe, or GwError `internal`. */
  text(text: string): Promise<void> {
    return this.#inOrder(async () => {
      // In pieces: a long text is not held several times over on its way out.
      for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
        const piece = text.slice(at, at + PIECE_CHARACTERS);
        await this.#write(this.#secrets.push(this.#guard.push(piece)));
      }
    });
  }

  /** Text of gw's own making that may hold colour; every part from outside must have been made safe. */
  ownText(text: string): Promise<void> {
    return this.#inOrder(() => this.#write(this.#release() + this.#options.secrets.hide(text)));
  }

  /** Bytes as they are. */
  bytes(bytes: Uint8Array): Promise<void> {
    return this.#inOrder(async () => {
      await this.#write(this.#release());
      await this.#send(bytes);
    });
  }

  /** Bytes as they are, but for the secrets, whose forms are ASCII: each byte stands for one character meanwhile. */
  filteredBytes(bytes: Uint8Array): Promise<void> {
    return this.#inOrder(async () => {
      const waited = this.#guard.end();
      const shown = this.#secrets.push(Buffer.from(waited).toString('latin1') + latin1(bytes));
      if (shown !== '') await this.#send(Buffer.from(shown, 'latin1'));
    });
  }

  /** Lets go of what waited; throws only what no call has thrown. */
  drain(): Promise<void> {
    return this.#inOrder(async () => {
      if (this.#failure === undefined) await this.#write(this.#release());
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

  #release(): string {
    return this.#secrets.push(this.#guard.end()) + this.#secrets.end();
  }

  async #write(text: string): Promise<void> {
    if (text === '') return;
    if (this.#isTerminal) await this.#options.before();
    await this.#send(text);
    this.#options.after(text);
  }

  async #send(data: string | Uint8Array): Promise<void> {
    const { stream } = this.#options;
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

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1');

function writeAndWait(stream: Host['stdout'], data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
