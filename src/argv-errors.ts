import type { AnyCommand, Node } from './command.ts';
import { usage } from './errors.ts';
import { nearest } from './flags/nearest.ts';
import { cutCodePoints } from './io/escape.ts';

const otherCommands: Readonly<Record<string, string>> = {
  version: '--version',
  cost: 'jobs stats',
  costs: 'jobs stats',
  spend: 'jobs stats',
};

export function unknownCommand(word: string, { children = [] }: Node, path: readonly string[]) {
  const where = ['gw', ...path].join(' ');
  const known = children.map(({ name }) => name);
  const ofJobs = children.find(({ name }) => name === 'jobs')?.children ?? [];
  const isOfJobs = ofJobs.some(({ name }) => name === word);
  const meant = path.length > 0 ? undefined : isOfJobs ? `jobs ${word}` : otherCommands[word];
  const [near = meant] = meant === undefined ? nearest(word, known) : [];
  const hint = near ? `did you mean ${where} ${near}?` : `${where} takes ${known.join(', ')};`;
  return usage(`unknown command: ${where} ${word}`, `${hint} see ${where} --help`);
}

/** Turns Commander's error into a sentence. A wrongly placed word may be an API key and is not shown. */
export function fromCommander(
  error: { readonly code: string; readonly message: string },
  path: readonly string[],
  spec: AnyCommand | undefined,
  /** The options that the command accepts. */
  long: readonly string[],
) {
  const words = ['gw', ...path].join(' ');
  const message = error.message.replace(/^error: /, '');
  if (error.code === 'commander.excessArguments') {
    const most = spec?.args ? `only one ${spec.args.name}` : 'no words after it';
    return usage(`${words} takes ${most}`, spec?.strayWord ?? `see ${words} --help`);
  }
  if (error.code === 'commander.missingArgument')
    return usage(
      `${words} needs ${spec?.args?.name ?? 'a word'}`,
      `${spec?.args?.summary}; see ${words} --help`,
    );
  const [, valued, value] = /^option '(?:-., )?(--\S+) <(.*)>' argument missing/.exec(message) ?? [];
  if (valued !== undefined) return usage(`${valued} needs a value`, `write ${valued} ${value}`);
  const unknown = /^unknown option '(--[^='\n]*|-.)/s.exec(message)?.[1];
  if (unknown === undefined) return usage(message.split('\n')[0] ?? '', `see ${words} --help`);
  const opposite = `--no-${unknown.slice(2)}`;
  const or = long.includes(opposite) ? `, or ${opposite}` : '';
  if (long.includes(unknown)) return usage(`${unknown} takes no value`, `write ${unknown} alone${or}`);
  return usage(`unknown option '${cutCodePoints(unknown, 41)}'`, hintFor(unknown.replaceAll('_', '-'), long));
}

function hintFor(unknown: string, long: readonly string[]): string {
  if (keyFlags.has(unknown))
    return 'no flag takes the key, as it would show in the process list: set GW_API_KEY, or name a file with --api-key-file';
  const [, meant] = otherNames.find(([names]) => names.split(' ').includes(unknown)) ?? [];
  const ours = meant?.flags.find((name) => long.includes(name));
  if (ours !== undefined) return `here it is ${ours}`;
  if (meant?.without !== undefined) return meant.without;
  const [near] = nearest(unknown, [...long, '--help']);
  return near ? `did you mean ${near}?` : 'see --help';
}

const keyFlags: ReadonlySet<string> = new Set(['--api-key', '--key', '--token']);

interface OtherName {
  /** The names of the flag in gw; the first that the command accepts is suggested. */
  readonly flags: readonly string[];
  /** The hint if the command accepts none of them. */
  readonly without?: string;
}
/** Maps flag names of other tools to gw's flags. */
const otherNames: readonly (readonly [names: string, meant: OtherName])[] = [
  [
    '-n --n --count --num --number --num-images --num-outputs',
    { flags: ['--count', '--n'], without: 'one run makes one: run it again for another' },
  ],
  ['--aspect --aspect-ratio --ar', { flags: ['--ratio', '--size'] }],
  ['--res --size', { flags: ['--resolution', '--size'] }],
  ['--quality', { flags: ['--resolution'] }],
  ['--length --seconds --time', { flags: ['--duration'] }],
  ['--output --output-file --save', { flags: ['--out'] }],
  ['--input --input-image --image-url --reference', { flags: ['--image', '--first-frame'] }],
  ['--start-image --start-frame', { flags: ['--first-frame'] }],
  ['--end-image --end-frame', { flags: ['--last-frame'] }],
  ['--max-completion-tokens --max-output-tokens', { flags: ['--max-tokens', '--limit'] }],
  ['--temp', { flags: ['--temperature'] }],
  ['--system-prompt', { flags: ['--system'] }],
  ['--host --endpoint --api-base', { flags: ['--base-url'] }],
  ['--yes', { flags: [], without: 'nothing is asked here: leave it out' }],
  ['--seed', { flags: [], without: 'no documented field takes a seed; --set seed=N sends one all the same' }],
  [
    '--negative-prompt',
    { flags: [], without: 'no documented field takes one; say in the prompt what to leave out' },
  ],
];
