import type { Fault, FaultPlace } from './faults.ts';
import { seededRandom } from './seeded.ts';

/** A fault that strikes now, for the nth time. */
export interface Struck {
  readonly fault: Fault;
  readonly nth: number;
}

/** Decides which requests a sandbox's faults strike; keeps their counts. */
export class FaultDraw {
  readonly #atStart: readonly Fault[];
  #faults: readonly Fault[];
  readonly #counts = new Map<Fault, number>();
  readonly #random: () => number;

  /** @param seed decides which requests a `P%` strikes */
  constructor(faults: readonly Fault[], seed: number) {
    this.#atStart = faults;
    this.#faults = faults;
    this.#random = seededRandom(seed);
  }

  /** As they stand in the SPEC, in the order in which they strike. */
  specs(): string[] {
    return this.#faults.map(({ spec }) => spec);
  }

  /** A fault that goes before the others. */
  strikeNext(fault: Fault): void {
    this.#faults = [fault, ...this.#faults];
  }

  replace(faults: readonly Fault[]): void {
    this.#faults = faults;
    this.#counts.clear();
  }

  /** Back to the faults of the start, none of them used up. */
  reset(): void {
    this.replace(this.#atStart);
  }

  /** The first fault that applies here and is not used up; `spares` exempts this one request from a fault. */
  draw(place: FaultPlace, spares: (fault: Fault) => boolean = () => false): Struck | undefined {
    for (const fault of this.#faults) {
      if (!fault.places.includes(place) || spares(fault)) continue;
      const count = this.#counts.get(fault) ?? 0;
      if (fault.times !== undefined && count >= fault.times) continue;
      if (fault.percent !== undefined && this.#random() * 100 >= fault.percent) continue;
      this.#counts.set(fault, count + 1);
      return { fault, nth: count + 1 };
    }
    return undefined;
  }
}
