import type { CreateFlags, Place, Row } from '../batch/rows.ts';
import { type Flag, flagName } from '../flags/flag.ts';
import type { Modality } from '../gateway/limits.ts';
import type { Job } from '../ledger/event.ts';
import { type OutputReference, parseReference, partText } from '../media/reference.ts';
import { refuseKind } from './parts.ts';

// Manifest rows that use outputs of other rows: which row waits for which, and which waits can never end.

/** A reference from one row to another. */
interface RowNeed {
  readonly key: string;
  readonly flag: string;
  readonly raw: string;
  readonly reference: OutputReference;
  readonly modality: Modality;
}

/** True for a flag that takes a medium; its name tells the kind. */
const takesMedium = (key: string, flag: Flag | undefined): boolean =>
  key !== 'callbackUrl' && /(REF|URL|VIDEO)$/.test(flag?.value ?? '');
const modalityOf = (key: string): Modality =>
  /video/i.test(key) ? 'video' : /audio/i.test(key) ? 'audio' : 'image';

/** The rows that a row refers to, in the order of its flags. */
export function needsOf(row: Row, creates: CreateFlags): RowNeed[] {
  const flags = Object.entries(row.flags).filter(([key]) => takesMedium(key, creates[row.command]?.[key]));
  const name = row.key.slice(0, row.key.indexOf('/'));
  return flags.flatMap(([key, words]) =>
    [words].flat().flatMap((word) => {
      const raw = String(word).replace(/^[\p{L}\p{N}_-]{1,64}=/u, '');
      if (!/^row:/i.test(raw)) return [];
      const flag = flagName(key);
      const reference = parseReference(raw, flag) as OutputReference;
      return [{ key: `${name}/${reference.which}`, flag, raw, reference, modality: modalityOf(key) }];
    }),
  );
}

interface Node extends Place {
  readonly command: string;
  readonly images: number;
  readonly needs: readonly RowNeed[];
  readonly like: Like;
}

/** The facts by which the duration of a row is estimated. */
export type Like = Pick<Job, 'family' | 'model' | 'settings'>;

/** The rows of a manifest and their dependencies, collected while it is read. */
export class Chains {
  readonly #rows = new Map<string, Node>();
  readonly #followers = new Map<string, string[]>();
  readonly #leftOut = new Set<string>();
  /** Rows with `count`, by the common beginning of their keys. */
  readonly #counted = new Set<string>();

  constructor(private readonly creates: CreateFlags) {}

  /** Adds a row of the run. */
  add(row: Row, like: Like = { family: '', model: undefined, settings: {} }): void {
    const { key, line, nth, command, flags } = row;
    const needs = needsOf(row, this.creates);
    this.#rows.set(key, { line, nth, command, images: Number(flags.n ?? 1), needs, like });
    for (const need of needs) {
      const known = this.#followers.get(need.key);
      if (known) known.push(key);
      else this.#followers.set(need.key, [key]);
    }
    const [, whole] = /^(.*\/.*)\/\d+$/.exec(key) ?? [];
    if (whole !== undefined) this.#counted.add(whole);
  }

  /** Records a row that is left out, so that rows which wait for it are reported. */
  leaveOut(key: string): void {
    this.#leftOut.add(key);
  }

  /** True if any row waits for another one. */
  get hasAny(): boolean {
    return this.#followers.size > 0;
  }

  has(key: string): boolean {
    return this.#rows.has(key);
  }

  needs(key: string): readonly RowNeed[] {
    return this.#rows.get(key)?.needs ?? [];
  }

  /** The waits that can never end, each with the key and the line of its row. */
  *faults(): Generator<Place & { readonly key: string; readonly message: string }> {
    for (const [key, { line, nth, needs }] of this.#rows) {
      for (const need of needs) {
        const message = this.#faultOf(key, need);
        if (message !== undefined) yield { key, line, nth, message };
      }
    }
    for (const circle of this.#circles()) {
      const [first = ''] = circle;
      const { line = 1, nth } = this.#rows.get(first) ?? {};
      const shown = circle.length > 6 ? [...circle.slice(0, 5), `… (${circle.length} rows)`] : circle;
      const way = [...shown, first].join(' -> ');
      yield {
        key: first,
        line,
        nth,
        message: `the row waits for itself: ${way}; let one of them begin anew`,
      };
    }
  }

  #faultOf(key: string, { flag, raw, key: wanted, reference, modality }: RowNeed): string | undefined {
    const named = `${flag.slice(2)}: ${raw}`;
    const row = this.#rows.get(wanted);
    if (wanted === key) return `${named}: the row waits for itself; name another row`;
    if (row === undefined) {
      const isLeftOut = this.#leftOut.has(wanted) || this.#leftOut.has(wanted.replace(/\/\d+$/, ''));
      if (isLeftOut) return undefined;
      if (this.#counted.has(wanted))
        return `${named}: that row has a count, and is several; name one of them, as in row:${reference.which}/1`;
      return `${named}: there is no row of this id; name a row by its id`;
    }
    const { part } = reference;
    const isImage = row.command.startsWith('image');
    const has = isImage ? ['image'] : ['video', 'first_frame', 'last_frame'];
    const there = `its parts are ${has.join(', ')}`;
    const most = isImage ? row.images : row.command === 'video beta' ? Number.POSITIVE_INFINITY : 1;
    const isMore = row.command === 'video beta' || row.command === 'image native';
    if (part && (!(has.includes(part.name) || isMore) || part.at > most))
      return `${named}: a row of ${row.command} has no ${partText(part)}; ${there}`;
    const given = part ?? {
      name: isImage ? ('image' as const) : modality === 'image' ? 'last_frame' : 'video',
      at: 1,
    };
    try {
      refuseKind(given as never, modality, named, there);
    } catch (error) {
      return `${(error as Error).message}; ${there}`;
    }
    return undefined;
  }

  /** Yields each cycle of rows that wait for each other, once. */
  *#circles(): Generator<readonly string[]> {
    const over = new Set<string>();
    for (const start of this.#rows.keys()) {
      // An iterative walk, because a chain may be ten thousand rows long.
      const path: string[] = [];
      const on = new Map<string, number>();
      const left: (readonly [string, boolean])[] = [[start, true]];
      for (let step = left.pop(); step !== undefined; step = left.pop()) {
        const [key, isIn] = step;
        if (!isIn) {
          over.add(key);
          on.delete(key);
          path.pop();
          continue;
        }
        const at = on.get(key);
        if (at !== undefined) {
          if (path.length - at > 1) yield path.slice(at);
          continue;
        }
        if (over.has(key)) continue;
        on.set(key, path.length);
        path.push(key);
        left.push([key, false]);
        for (const { key: next } of this.needs(key)) left.push([next, true]);
      }
    }
  }

  /** The rows that refer to a row. */
  followers(key: string): readonly string[] {
    return this.#followers.get(key) ?? [];
  }

  /** All rows made, directly or through other rows, from the outputs of the given ones. */
  following(isFirst: (key: string) => boolean): Set<string> {
    const found = new Set<string>();
    const left = [...this.#rows.keys()].filter(isFirst);
    for (let key = left.pop(); key !== undefined; key = left.pop())
      for (const next of this.followers(key)) {
        if (found.has(next)) continue;
        found.add(next);
        left.push(next);
      }
    return found;
  }

  /** The longest chain: its rows, and their total duration if it is known. */
  longest(msOf: (like: Like) => number | undefined): {
    readonly rows: number;
    readonly ms: number | undefined;
  } {
    const known = new Map<string, { rows: number; ms: number | undefined }>();
    const left = [...this.#rows.keys()];
    for (let key = left.at(-1); key !== undefined; key = left.at(-1)) {
      const node = this.#rows.get(key);
      const open = node?.needs.find((need) => this.#rows.has(need.key) && !known.has(need.key));
      if (open && node && !known.has(key)) {
        left.push(open.key);
        continue;
      }
      left.pop();
      if (!node || known.has(key)) continue;
      const before = node.needs.map((need) => known.get(need.key) ?? { rows: 0, ms: 0 });
      const rows = 1 + Math.max(0, ...before.map((each) => each.rows));
      const spent = before.map((each) => each.ms);
      const own = msOf(node.like);
      const isKnown = own !== undefined && spent.every((each) => each !== undefined);
      known.set(key, { rows, ms: isKnown ? own + Math.max(0, ...spent.map(Number)) : undefined });
    }
    return [...known.values()].reduce((most, each) => (each.rows > most.rows ? each : most), {
      rows: 0,
      ms: 0,
    });
  }
}
