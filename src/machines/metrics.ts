// Figures in the text form that Prometheus reads, one registry: gw's own, and those that BullMQ exports of each queue.

/** One value of a figure with its labels. */
export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** How long something took, counted in buckets. */
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

const labelsText = (labels: Readonly<Record<string, string>> = {}): string => {
  const said = Object.entries(labels).map(
    ([name, value]) => `${name}="${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`,
  );
  return said.length === 0 ? '' : `{${said.join(',')}}`;
};

/** A figure with its values. */
export const figureLines = (
  type: 'gauge' | 'counter',
  name: `gw_${string}`,
  help: string,
  samples: readonly Sample[],
): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...samples.map(({ value, labels }) => `${name}${labelsText(labels)} ${value}`),
];

/** The exports of several queues as one: what a figure is stands there once, before all its values. */
export function mergedExports(exports: readonly string[]): string[] {
  const found = new Map<string, { readonly heads: Set<string>; readonly values: string[] }>();
  for (const line of exports.flatMap((text) => text.split('\n'))) {
    const [, head] = /^# (?:HELP|TYPE) (\w+)/.exec(line) ?? [];
    const name = head ?? /^\w+/.exec(line)?.[0];
    if (name === undefined) continue;
    const known = found.get(name) ?? { heads: new Set(), values: [] };
    found.set(name, known);
    if (head === undefined) known.values.push(line);
    else known.heads.add(line);
  }
  return [...found.values()].flatMap(({ heads, values }) => [...heads, ...values]);
}
