import * as z from 'zod/mini';
import { formatOf } from '../formats.ts';
import { accountTypes } from '../gateway/limits.ts';
import { jsonOf } from '../json-text.ts';
import type { RowStore } from './store.ts';

// Each worker reports every few seconds that it is alive and what blocks it; a worker that ends with an error leaves its
// reason. Other workers and followers read this. The reports also detect whether Redis accepts changes.

/** How often a worker reports, and after which silence it counts as gone. */
export const BEAT_MS = 2_000;
const HEARD_MS = 20_000;
/** How long the reason of a worker's end is kept. */
const ENDED_MS = 3_600_000;

const said = z.object({
  t: z.number(),
  format: z.int(),
  account: z.enum(accountTypes),
  /** What blocks that worker, one sentence each. */
  stands: z.array(z.string().check(z.maxLength(1_000))).check(z.maxLength(20)),
  ended: z.optional(z.literal(true)),
});

export class Board {
  readonly #key: string;

  constructor(private readonly store: RowStore) {
    this.#key = `${store.prefix}:workers`;
  }

  async say(host: string, word: Omit<z.infer<typeof said>, 't' | 'format'>): Promise<void> {
    await this.store.door.tell(async (redis) => {
      const [seconds] = await redis.time();
      const said = { t: Number(seconds) * 1000, format: formatOf('rows'), ...word };
      await redis.hset(this.#key, host, JSON.stringify(said));
    });
  }

  /** The last reports of live workers, and of workers that ended recently with an error. */
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
    // As a report asks for the time first, one that is still under way is stored before this removes it.
    await this.store.door.tell((redis) => redis.time().then(() => redis.hdel(this.#key, host)));
  }
}
