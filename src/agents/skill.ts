import { defineCommand } from '../command.ts';
import { agentsText } from '../commands/help/topics.ts';
import { environmentVariables } from '../config/environment.ts';
import { errorKinds } from '../errors.ts';
import { budgetFlags, onceFlags, waitFlags } from '../flags/job-flags.ts';
import { program } from '../program.ts';

/** The commands that an agent on a command line needs; `gw help` has the others. */
const told = ['video', 'image', 'chat', 'batch', 'jobs', 'again', 'models', 'balance', 'schema', 'help'];

const named = (name: 'GW_API_KEY' | 'GW_BASE_URL' | 'GW_STATE_DIR'): string =>
  `- \`${name}\`: ${environmentVariables[name]}`;

/** The page that `gw skill` prints, made from the help texts. */
export function skillPage(): string {
  const commands = (program.children ?? []).filter(({ name }) => told.includes(name));
  const kinds = Object.entries(errorKinds).map(
    ([kind, { exitCode, meaning }]) => `- ${exitCode} \`${kind}\`: ${meaning}`,
  );
  return `---
name: gw
description: Make videos and images through a paid model gateway with the gw command line, without paying twice. Use it when the user wants generated video, images or an answer of a model through gw.
---

# gw

${program.summary}

## Rules

1. Every create of a video or an image costs money. Give each \`--once KEY\` (${onceFlags.once.summary}), with a key that names what the user wants, and run the very same command again after a timeout, a kill or a lost answer: it goes on and never pays again.
2. Rehearse with \`--sandbox\` (no key, no network, no cost), and look at a request with \`--dry-run\`.
3. Exit code 14: it may exist. Do not make it under another key; tell the user. Exit code 15: a limit of the user's; stop and ask.
4. Never change budgets, keys or profiles, and never use \`--force\`, \`--yes\`, \`--unpriced\` or \`--again\` unless the user says so.
5. Prompts are literal: quote them for the shell. \`--prompt-file FILE\` reads a file.

## A job

\`\`\`sh
gw video alpha create "a paper boat at dawn" --once boat --wait -o clips/ --json
gw image create "a fox in the snow" --once fox -o fox.png --json
gw jobs wait boat --json     # goes on with it later, by its key or ID
gw jobs list --json          # every job of this user; gw jobs show ID
gw jobs sync                 # saves whatever is finished
\`\`\`

- \`--wait\`: ${waitFlags.wait.summary}. A video takes minutes: run it in the background, or leave \`--wait\` out (it prints the ID) and use \`gw jobs wait\`.
- \`--json\`: stdout is \`{"family","id","status","record","files":[{"path","bytes","sha256","type"}]}\`, and an error is one line on stderr, \`{"error":{"kind","message","hint","exit_code"}}\`. Do what the hint says.
- \`--events\`: one JSON object a line as it happens (\`intent\`, \`accepted\`, \`status\`, \`saved\`, \`result\`).
- \`--max-cost AMOUNT\`: ${budgetFlags.maxCost.summary}. The user's own: \`gw config set budget.jobs 100/day\`.
- Many at once: a file of rows and \`gw batch check FILE\`, then \`gw batch run FILE\`; run it again to go on.
- Options of a command: \`gw COMMAND --help\`, \`gw schema COMMAND\`. Models and their limits: \`gw models\`, \`gw models show ID\`.

## Commands

${commands.map(({ name, summary }) => `- \`gw ${name}\`: ${summary}`).join('\n')}

## Environment

${[named('GW_BASE_URL'), named('GW_API_KEY'), named('GW_STATE_DIR')].join('\n')}

## Exit codes

- 0: done
${kinds.join('\n')}

## As a server of tools

${agentsText[0]}
`;
}

/** `gw skill` prints a page for a coding agent. */
export const skill = defineCommand<Record<string, never>, string>({
  about: 'Print a page for a coding agent: what gw does, its exit codes, keys, budgets and the sandbox.',
  examples: ['gw skill > SKILL.md'],
  run: async () => ({ value: skillPage() }),
  human: (page) => page,
});
