// Metrics in the text format of Prometheus.

export class Durations {
  static readonly #boundsS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600];
  readonly #counts = new Map<string, { readonly buckets: number[]; sumS: number; count: number }>();

  add(step: string, seconds: number): void {
    const known = this.#counts.get(step) ?? { buckets: Durations.#boundsS.map(() => 0), sumS: 0, count: 0 };
    this.#counts.set(step, known);
    known.sumS += seconds;
    known.count += 1;
    for (const [at, bound] of Durations.#boundsS.entries())
      if (seconds <= bound) known.buckets[at] = (known.buckets[at] ?? 0) + 1;
  }

  lines(name: string, help: string): string[] {
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    for (const [step, { buckets, sumS, count }] of this.#counts) {
      for (const [at, bound] of Durations.#boundsS.entries())
        lines.push(`${name}_bucket{step="${step}",le="${bound}"} ${buckets[at]}`);
      lines.push(`${name}_bucket{step="${step}",le="+Inf"} ${count}`);
      lines.push(`${name}_sum{step="${step}"} ${sumS}`, `${name}_count{step="${step}"} ${count}`);
    }
    return lines;
  }
}

/** A metric with its values, each with its labels in printed form. */
export const figureLines = (
  type: 'gauge' | 'counter',
  name: `gw_${string}`,
  help: string,
  values: readonly (readonly [labels: string, value: number])[],
): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...values.map(([labels, value]) => `${name}${labels} ${value}`),
];
