import type { Endpoint } from '../../gateway/endpoint.ts';
import type { RequestInput } from '../../http/client.ts';
import type { IntentEvent, SavedFile } from '../../ledger/event.ts';
import type { JobDeps } from '../watch/follow.ts';

/** One paid request for images, checked and spelled out; its target has been looked at with `checkTarget`. */
export interface ImageRequest {
  readonly endpoint: Endpoint;
  /** Path parameters, and the body as JSON (`body`) or as a form (`multipart`). */
  readonly input: RequestInput;
  /** Whether the body asks for an event stream; plain JSON in its place is read all the same. */
  readonly streams: boolean;
  /** How many images were asked for (`n`). */
  readonly outputsExpected: number;
  /** How many partial images were asked for; shown as `partial 1 of 3`. */
  readonly partialsExpected: number;
  /** Save the partial images too, beside the final one: `name.partial-1.png`. */
  readonly keepPartials: boolean;
  /**
   * What the ledger keeps before anything is sent; family `image`. `save` says where the images go; with `toStdout` its
   * `download` is false, and its target is where the image is kept should stdout not take it.
   */
  readonly intent: IntentEvent & { readonly family: 'image' };
  /** gw's own key for the job, where it is made under a key of --once. */
  readonly key?: string | undefined;
  /** Begins the job within the user's budget, where there is one. */
  readonly within?: (<T>(begin: () => T) => Promise<T>) | undefined;
  /** With `-o -`: takes the bytes of the one image (`io.outBytes`), in pieces. */
  readonly toStdout?: ((bytes: Uint8Array) => Promise<void>) | undefined;
}

/** What making and saving images needs; `silenceMs` bounds the wait for the reply too. */
export type ImageDeps = JobDeps;

/** What became of a request for images. */
export interface ImageOutcome {
  /** gw's own ID, `gw-…`: the gateway gives images none. */
  readonly id: string;
  /** `succeeded`, `failed` (answered without an image) or `unknown`. */
  readonly status: string;
  /** The gateway's reply with each Base64 text replaced by an empty one; null where no whole reply came. */
  readonly record: unknown;
  /** The saved images, in their order. */
  readonly files: readonly SavedFile[];
  /** Paths of the partial images that were kept, in the order in which they came. */
  readonly partials: readonly string[];
  /** What went wrong, where something came all the same. */
  readonly error?: unknown;
}
