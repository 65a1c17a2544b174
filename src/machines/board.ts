import * as z from 'zod/mini';
import { formatOf } from '../formats.ts';
import { accountTypes } from '../gateway/limits.ts';
import { jsonOf } from '../json-text.ts';
import type { RowStore } from './store.ts';

// What each worker says of itself every few seconds: that it lives, and what stands still there and why; one that ends for an
// error leaves its reason. By that the others know of it, and a follower can tell. Whether Redis takes changes is found out by it too.

/** How often a worker says it, and after how long it is not heard any more. */
export const BEAT_MS = 2_000;
const HEARD_MS = 20_000;
/** How long it is told why a worker has ended. */
const ENDED_MS = 3_600_000;

const said = z.object({
  t: z.number(),
  format: z.int(),
  account: z.enum(accountTypes),
  /** What stands still on that machine, a sentence each. */
  stands: z.array(z.string().check(z.maxLength(1_000))).check(z.maxLength(20)),
  ended: z.optional(z.literal(true)),
});
type Said = Omit<z.infer<typeof said>, 't'>;

export class Board {
  readonly #key: string;

  constructor(private readonly store: RowStore) {
    this.#key = `${store.prefix}:workers`;
  }

  async say(host: string, word: Omit<Said, 'format'>): Promise<void> {
    await this.store.door.tell(async (redis) => {
      const [seconds] = await redis.time();
      const said = { t: Number(seconds) * 1000, format: formatOf('rows'), ...word };
      await redis.hset(this.#key, host, JSON.stringify(said));
    });
  }

  /** The last words of the workers that live, and of those that ended lately for an error. */
  async heard() {
    const [[seconds], words] = await this.store.door.ask((redis) =>
      Promise.all([redis.time(), redis.hgetall(this.#key)]),
    );
    return Object.entries(words)
      .flatMap(([host, text]) => {
        const read = said.safeParse(jsonOf(text));
        const forMs = read.data?.ended ? ENDED_MS : HEARD_MS;
        const isHeard = read.success && Number(seconds) * 1000 - read.data.t < forMs;
        return isHeard && host.length <= 255 ? [{ ...read.data, host }] : [];
      })
      .sort((a, b) => (a.host < b.host ? -1 : 1));
  }

  async leave(host: string): Promise<void> {
    await this.store.door.tell((redis) => redis.hdel(this.#key, host));
  }
}
