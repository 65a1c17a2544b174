import * as z from 'zod/mini';
import { rowFields } from '../batch/rows.ts';
import { creates } from '../commands/batch/row-command.ts';
import { valueSchema } from '../commands/schema.ts';
import { type Flag, type FlagSet, flagName } from '../flags/flag.ts';

// The tools of `gw mcp`, each with the schema that parses its arguments. Their descriptions for clients are made from the
// same schemas and the flags when gw is built (`toolFile`), because that takes longer than a client's reply may.

const videoFamilies = ['alpha', 'beta', 'gamma'] as const;
const imageCommands = ['create', 'edit', 'native'] as const;

const described = (words: string) => z.string().check(z.minLength(1), z.describe(words));
const prompt = z.optional(described('Sent literally, whatever it begins with; no file is read.'));
const key = z.optional(
  described(
    'Names the job. The same key again never pays again: it goes on with that job. A new key is a new job, and a new ' +
      'payment. Left out, it is made from the request, so that the same request again does not pay twice.',
  ).check(z.maxLength(200)),
);
const settings = z.optional(z.record(z.string(), z.unknown()));
const id = described('The id or key of a job, as a tool has told it.');

const again = 'If the answer is "running", call wait_for_job; do not make it again.';
const jobs = 'Answers with id, key, status and files.';

export interface Tool {
  readonly about: string;
  readonly takes: z.ZodMiniObject;
  readonly hints: { readonly readOnlyHint: boolean; readonly idempotentHint: boolean };
}

const paid = { readOnlyHint: false, idempotentHint: true };
const free = { readOnlyHint: true, idempotentHint: true };

/** The arguments of each tool, and its description for a model. */
export const tools = {
  make_video: {
    about:
      `COSTS MONEY. Makes one video and saves it. ${jobs} ${again} ` +
      'Settings differ by family: list_models with that family tells which there are and what each takes.',
    takes: z.strictObject({ family: z.enum(videoFamilies), prompt, key, settings }),
    hints: paid,
  },
  make_image: {
    about:
      `COSTS MONEY. Makes or edits images and saves them. ${jobs} ${again} ` +
      'Settings differ by command: list_models with that command tells which there are.',
    takes: z.strictObject({ command: z.optional(z.enum(imageCommands)), prompt, key, settings }),
    hints: paid,
  },
  make_again: {
    about: `COSTS MONEY. Makes the request of an earlier job anew, with the given prompt and settings laid over it. ${jobs} ${again}`,
    takes: z.strictObject({ id, prompt, key, settings }),
    hints: paid,
  },
  wait_for_job: {
    about:
      'Free. Waits up to 40 s for a job and saves its files. Call it again while the answer is "running"; the job goes on meanwhile.',
    takes: z.strictObject({ id }),
    hints: { readOnlyHint: false, idempotentHint: true },
  },
  get_job: {
    about: 'Free. Tells what is known of a job, without waiting.',
    takes: z.strictObject({ id }),
    hints: free,
  },
  list_jobs: {
    about: 'Free. Lists jobs of this gateway, newest first.',
    takes: z.strictObject({
      status: z.optional(described('running, succeeded, failed, unknown or another status')),
      family: z.optional(z.enum([...videoFamilies, 'image'])),
      limit: z.optional(z.int().check(z.minimum(1), z.maximum(100), z.describe('20 where left out'))),
    }),
    hints: free,
  },
  list_models: {
    about:
      'Free. With family (video) or command (images): the settings of make_video or make_image and the models with what each ' +
      'takes. With neither: the models that the gateway lists.',
    takes: z.strictObject({
      family: z.optional(z.enum(videoFamilies)),
      command: z.optional(z.enum(imageCommands)),
    }),
    hints: free,
  },
  get_balance: {
    about: 'Free. What is left of the balance, as the gateway tells it.',
    takes: z.strictObject({}),
    hints: free,
  },
} as const satisfies Readonly<Record<string, Tool>>;

export type ToolName = keyof typeof tools;

/** Row fields that have a tool argument of their own, or that a tool may not set. */
const notSettings = new Set(['prompt', 'promptFile', 'waitTimeout', 'interval', 'externalId']);

/** The flags of a command that a tool's settings may name. */
export const settingsOf = (flags: FlagSet): [key: string, flag: Flag][] =>
  rowFields(flags).filter(([name]) => !notSettings.has(name));

const nameOf = (name: string, { negativeOnly }: Flag): string =>
  `${negativeOnly ? 'no-' : ''}${flagName(name).slice(2)}`;

function shortSchema({ value, choices, list: isList }: Flag): object {
  if (value === undefined) return { type: 'boolean' };
  if (isList) return { type: 'array', items: { type: 'string' } };
  return choices ? {} : { type: ['string', 'number'] };
}

/** The settings of several commands as one schema; list_models explains each setting. */
const settingsSchema = (commands: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(
    commands.flatMap((words) =>
      settingsOf(creates[words] ?? {}).map(([name, flag]) => [nameOf(name, flag), shortSchema(flag)]),
    ),
  ),
  additionalProperties: false,
});

const commandsOf: Readonly<Partial<Record<ToolName, readonly string[]>>> = {
  make_video: Object.keys(creates).filter((words) => words.startsWith('video ')),
  make_image: Object.keys(creates).filter((words) => words.startsWith('image ')),
  make_again: Object.keys(creates),
};

/** The content of `dist/mcp.json`: the answer to tools/list, and each command's settings in words. */
export interface ToolFile {
  readonly tools: readonly { readonly name: string; readonly inputSchema: { readonly type: 'object' } }[];
  readonly settings: Readonly<Record<string, object>>;
}

export function toolFile(): ToolFile {
  const listed = Object.entries(tools).map(([name, { about, takes, hints }]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(takes) as { $schema?: string; properties: object };
    const commands = commandsOf[name as ToolName];
    return {
      name,
      description: about,
      inputSchema: {
        ...schema,
        type: 'object' as const,
        properties: { ...schema.properties, ...(commands && { settings: settingsSchema(commands) }) },
      },
      annotations: { ...hints, destructiveHint: false, openWorldHint: true },
    };
  });
  const told = Object.entries(creates).map(([words, flags]) => [
    words,
    Object.fromEntries(
      settingsOf(flags).map(([name, flag]) => [nameOf(name, flag), valueSchema(name, flag)]),
    ),
  ]);
  return { tools: listed, settings: Object.fromEntries(told) };
}
