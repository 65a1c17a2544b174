import * as fs from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cmd } from '../helpers/cmd.ts';
import { CompletionPlace, taskId } from './place.ts';

// Runs the scripts in their shells through a terminal, from the place where `gw completion --install` put them.

const readyRows: Record<
  string,
  { readonly argv: string[]; readonly start: (place: CompletionPlace) => void }
> = {
  bash: {
    argv: ['bash', '--noprofile', '-i'],
    start: (place) =>
      place.write(
        place.inHome('.bashrc'),
        `PS1='READY> '\nbind 'set bell-style none'\nsource ~/.local/share/bash-completion/completions/gw\n`,
      ),
  },
  zsh: {
    argv: ['zsh', '-i'],
    start: (place) =>
      place.write(
        place.inHome('.zshrc'),
        `PROMPT='READY> '\nunsetopt PROMPT_SP BEEP\nfpath=(~/.zfunc $fpath)\nautoload -Uz compinit && compinit -u\n`,
      ),
  },
  fish: {
    argv: ['fish', '-i'],
    start: (place) =>
      place.write(
        place.inHome('.config/fish/config.fish'),
        `function fish_prompt; echo -n 'READY> '; end\nset -g fish_greeting\nset -g fish_autosuggestion_enabled 0\n`,
      ),
  },
};

/** The typed keys, and the words with which gw is then called. */
const lines: readonly (readonly [what: string, typed: string, called: readonly string[]])[] = [
  [
    'commands, a flag and a value with a colon',
    'gw vid\tal\tcr\t--rati\t16\t',
    cmd`video alpha create --ratio 16:9`,
  ],
  [
    'the rest of a value after its colon',
    'gw video alpha create --ratio 16:\t',
    cmd`video alpha create --ratio 16:9`,
  ],
  ['a value after =', 'gw video alpha create --ratio=16\t', cmd`video alpha create --ratio=16:9`],
  ['a value in quotes', `gw video alpha create --ratio '16\t`, cmd`video alpha create --ratio 16:9`],
  ['a task of the ledger', 'gw video alpha wait vt\t', cmd`video alpha wait ${taskId}`],
  ['a profile', 'gw --profile stu\tchat', cmd`--profile studio chat`],
  ['a model that a gateway listed', 'gw chat -m zet\thi', cmd`chat -m zeta-chat-9 hi`],
  [
    'a file with a blank and a quote in its name',
    'gw chat hi --image it\t',
    cmd`chat hi --image "it's a fox.png"`,
  ],
  ['a file after =', 'gw chat hi --messages=tal\t', cmd`chat hi --messages=talk.json`],
  ['a file that holds a text', 'gw chat --prompt-file vid\t', cmd`chat --prompt-file video.txt`],
  ['no file where a text is meant', 'gw chat -p vid\t', cmd`chat -p vid`],
  ['after a variable and in a pipe', 'true | X=1 gw vid\tal\t', cmd`video alpha`],
  ['what stands before, quoted', `gw chat 'a "fox" & $(id)' --js\t`, ['chat', 'a "fox" & $(id)', '--json']],
  [
    'a flag after a flag with its value',
    'gw jobs list --limit 3 --fam\tgam\t',
    cmd`jobs list --limit 3 --family gamma`,
  ],
];

// Every machine that runs the tests has bash.
const tagsOf = (shell: string) => ['python3', ...(shell === 'bash' ? [] : [shell])];

describe.each(Object.entries(readyRows))('%s', (shell, { argv, start }) => {
  const tags = tagsOf(shell);
  let place: CompletionPlace;

  beforeAll(() => {
    place = new CompletionPlace();
    place.job('gw-01', taskId);
    place.run('profile', 'add', 'studio', '--base-url', 'https://gateway.example.com');
    place.models(['zeta-chat-9']);
    for (const name of ["it's a fox.png", 'talk.json', 'video.txt'])
      place.write(path.join(place.cwd, name), '');
    place.run('completion', '--install', shell);
    start(place);
  });
  afterAll(() => place.close());

  test.each(lines)('%s', { tags }, (_, typed, called) => {
    const shown = place.type(argv, [
      ['READY> ', `${typed}\r`],
      ['END', 'exit\r'],
    ]);
    expect(shown).toContain(`RAN${called.map((word) => `<${word}>`).join('')}END`);
  });

  test('several candidates are listed', { tags }, () => {
    const shown = place.type(argv, [
      ['READY> ', 'gw video \t\t'],
      ['gamma', '\u0015exit\r'],
    ]);
    expect(shown).toMatch(/alpha[\s\S]*beta[\s\S]*gamma/);
    if (shell !== 'bash') expect(shown).toContain('(family B)');
  });

  test('what stands on the line is not run by completing it', { tags }, () => {
    place.type(argv, [
      ['READY> ', 'gw chat -p "$(touch RUN1)" `touch RUN2` $(touch RUN3) --ses\tX'],
      ['X', '\u0015exit\r'],
    ]);
    expect(fs.readdirSync(place.cwd).filter((name) => name.startsWith('RUN'))).toEqual([]);
  });
});
