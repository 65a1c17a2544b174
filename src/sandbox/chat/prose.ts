import { seededInt, seededRandom } from '../seeded.ts';

// The made-up text of answers. Some words are not ASCII, so that a client that cuts characters is found out.

const words = (
  'amber anchor basin birch café candle cedar cloud coast copper delta dune ember fern field flint forest ' +
  'garden glass harbor hazel heron island ivory jade kelp lake lantern linen marble meadow mist moss naïve ' +
  'north oak orchard otter pebble pine quartz quill rain reed ridge river saddle sand shore silver slate ' +
  'snow sparrow spruce stone summit thistle tide timber valley velvet violet water willow winter 日本 🦊'
).split(' ');

/** So many words in sentences of seven, the same for the same seed. */
export function prose(seed: string, count: number): string {
  const random = seededRandom(seededInt(seed));
  const said = Array.from({ length: count }, (_, nth) => {
    const word = words[Math.floor(random() * words.length)] ?? 'and';
    const begun = nth % 7 === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    return nth % 7 === 6 || nth === count - 1 ? `${begun}.` : begun;
  });
  return said.join(' ');
}

/** An answer that uses what Markdown has, for clients that show it. */
export const markdownSample = `# A heading

Some *emphasis*, some **strength**, \`code\` and a [link](https://example.com/).

- first
- second
  1. nested

> A quote.

| name | value |
|---|---:|
| one | 1 |

\`\`\`ts
const answer = 42;
\`\`\``;
