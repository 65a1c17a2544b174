import type { AccountType } from '../gateway/limits.ts';
import type { Callbacks } from './callbacks.ts';
import type { Control } from './control.ts';
import type { FaultDraw } from './faults.ts';
import type { SandboxStore } from './store.ts';

/** What every part of a running sandbox shares. */
export interface World {
  readonly store: SandboxStore;
  readonly key: string;
  readonly account: AccountType;
  /** How many times faster than the service tasks run. */
  readonly speed: number;
  /** How many tokens of an answer a chat model writes in a second, the speed counted in. */
  readonly tokensPerS: number;
  /** Shortest life of a task from `queued` to its end, in milliseconds. */
  readonly minTaskMs: number;
  /** Refuses what the document does not list, in place of passing it over. */
  readonly strict: boolean;
  /** Tells whoever runs the sandbox what no reply can say; each sentence once. */
  readonly tell: (what: string) => void;
  readonly faults: FaultDraw;
  /** Answers `/_sandbox/…`, where that is open. */
  readonly control?: Control | undefined;
  /** Posts status callbacks of families B and C. */
  readonly callbacks: Callbacks;
  /** How long the gaps of a `slow` reply are, in milliseconds. */
  readonly slowGapMs: number;
  /** The host that it listens at, and the other origins whose pages may call. */
  readonly host: string;
  readonly cors: readonly string[];
  readonly clipsDir: string;
  /** Folder of the WebAssembly files of the image codecs, by their names. */
  readonly wasmDir: string;
  /** Unix milliseconds. */
  now(): number;
  /** Origin of the output listener, `http://HOST:PORT`. */
  outputUrl(): string;
}
